"""State that C code reads before the program writes it: a counter, whichever way the program looks at it."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import collections
import copy
import functools
import inspect
import operator
import pickle
import string
import sys
import types

from ..probe import equal, refused, t

COUNT = 0


class Box:
    def __init__(self):
        self.n = 1


class Slots:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 1


class Stored:
    """Keeps its attributes in a dict of its own."""

    def __init__(self):
        object.__setattr__(self, "store", {"n": 1})

    def __getattr__(self, name):
        try:
            return self.store[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self.store[name] = value


def counts(box, look):
    """`box.n` is written once in each call, after `look` has told what it was."""

    def forward(x):
        box.n = look(box) + 1
        return x * box.n

    return forward, (t(3),)


LOOKS = {
    "vars_get": lambda b: vars(b).get("n"),
    "dict_get": lambda b: dict.get(vars(b), "n"),
    "copied": lambda b: copy.copy(b).n,
    "deep_copied": lambda b: copy.deepcopy(b).n,
    "reduced": lambda b: b.__reduce_ex__(2)[2]["n"],
    "dict_of_vars": lambda b: dict(vars(b))["n"],
    "unpacked": lambda b: {**vars(b)}["n"],
    "values": lambda b: list(vars(b).values())[-1],
    "attrgetter": operator.attrgetter("n"),
    "itemgetter": lambda b: operator.itemgetter("n")(vars(b)),
    "static": lambda b: inspect.getattr_static(b, "n"),
    "pickled": lambda b: pickle.loads(pickle.dumps(b)).n,
    "formatted": lambda b: int("{0.n}".format(b)),  # noqa: UP030, UP032
    "formatted_by_name": lambda b: int("{b.n}".format(b=b)),  # noqa: UP032
    "formatter": lambda b: string.Formatter().get_field("0.n", (b,), {})[0],
    "per_cent": lambda b: int("%(n)s" % vars(b)),  # noqa: UP031
    "least": lambda b: min([b], key=lambda b: b.n).n,
    "mapped": lambda b: next(map(getattr, [b], ["n"])),
    "reduce": lambda b: functools.reduce(getattr, ["n"], b),
    "slot_of_object": lambda b: object.__getattribute__(b, "__dict__").get("n"),
}


def _probe(name, look):
    def build():
        return counts(Box(), look)

    build.__name__ = build.__qualname__ = f"looked_at_by_{name}"
    return refused("python-state")(build)


for _name, _look in LOOKS.items():
    globals()[f"looked_at_by_{_name}"] = _probe(_name, _look)


@refused("python-state")
def slot_by_its_descriptor():
    return counts(Slots(), lambda b: Slots.n.__get__(b))


@refused("python-state")
def slot_by_a_copy():
    return counts(Slots(), lambda b: copy.copy(b).n)


@refused("python-state")
def namespace_by_its_text():
    return counts(types.SimpleNamespace(n=1), lambda b: int(str(b)[12:-1]))


@refused("python-state")
def namespace_by_a_comparison():
    return counts(types.SimpleNamespace(n=1), lambda b: 5 + (b == types.SimpleNamespace(n=1)))


@refused("python-state")
def store_behind_getattr():
    return counts(Stored(), lambda b: b.n)


@refused("python-state")
def global_by_globals_get():
    def forward(x):
        global COUNT
        COUNT = globals().get("COUNT") + 1
        return x * COUNT

    return forward, (t(3),)


@refused("python-state")
def global_by_its_module():
    def forward(x):
        global COUNT
        COUNT = sys.modules[__name__].COUNT + 1
        return x * COUNT

    return forward, (t(3),)


@refused("python-state")
def global_by_a_copy_of_globals():
    def forward(x):
        global COUNT
        COUNT = dict(globals())["COUNT"] + 1
        return x * COUNT

    return forward, (t(3),)


@refused("python-state")
def first_key_moved_to_the_end():
    table = collections.OrderedDict(a=1, b=2)

    def forward(x):
        table.move_to_end(next(iter(table)))
        return x * table[next(iter(table))]

    return forward, (t(3),)


@refused("python-state")
def entry_taken_out_and_put_back_at_the_end():
    table = {"a": 1, "b": 2}

    def forward(x):
        key = next(iter(table))
        table[key] = table.pop(key)
        return x * next(iter(table.values()))

    return forward, (t(3),)


@equal
def key_moved_to_where_it_is():
    table = collections.OrderedDict(a=1, b=2)

    def forward(x):
        table.move_to_end("b")
        return x * next(iter(table.values()))

    return forward, (t(3),)


@equal
def scratch_that_is_copied_after_it_was_written():
    box = Box()

    def forward(x):
        box.n = x.shape[0] * 2
        return x * copy.copy(box).n

    return forward, (t(3),)


@equal
def views_and_their_bases():
    def forward(x):
        y, z = x[0:1], x * 2
        views = (y, z, z.view(-1), x.contiguous(), x.detach(), z.unsqueeze(0))
        return z, [bool(v._is_view()) for v in views], [v._base is x for v in views], [v._base is None for v in views]

    return forward, (t(3),)
