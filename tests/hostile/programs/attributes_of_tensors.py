"""The order of sets of numbers; attributes of tensors, `Tensor.__dict__`."""

# ruff: noqa: RUF015

from __future__ import annotations

import copy

from tests.export.probe import equal, refused, t


@equal
def set_order_of_small_ints_and_mixed():
    def f(x):
        return (
            x * list({9, 3, 17, 8})[0],
            [*{1.5, 2, 'a'} - {'a'}],
            sorted({(2, 1), (1, 2)}),
            {frozenset([1, 2])} == {frozenset([2, 1])},
        )

    return (f, (t(3),))


@refused('tensor-attribute')
def stand_in_attributes_set():
    def f(x):
        y = x * 2
        y.constant = 3
        y.fake_mode = 'mine'
        return (y + y.constant, y.fake_mode, hasattr(y, 'item_memo'))

    return (f, (t(3),))


@refused('tensor-attribute')
def tensor_dict_items_of_own():
    def f(x):
        y = x * 2
        y.__dict__['k'] = 4
        vars(y).update(j=5)
        return (y + y.k + y.j, y.__dict__.get('k'), 'q' in y.__dict__)

    return (f, (t(3),))


@refused('tensor-attribute')
def tensor_dict_listed():
    def f(x):
        y = x * 2
        y.k = 4
        return (y, list(vars(y)), {**vars(y)})

    return (f, (t(3),))


@refused('tensor-attribute')
def tensor_dict_listed_c():
    def f(x):
        y = x * 2
        y.k = 4
        return (y, sorted(y.__dict__), str(y.__dict__), y.__dict__ == {'k': 4}, dict(y.__dict__))

    return (f, (t(3),))


@refused('tensor-attribute')
def tensor_dict_view():
    def f(x):
        y = x * 2
        y.k = 4
        return (y, [k for k, _ in y.__dict__.items()], y.__dict__.copy(), bool(y.__dict__), copy.copy(y.__dict__))

    return (f, (t(3),))

