"""Containers of an earlier call that a call fills, and then replaces by empty ones."""

from __future__ import annotations

import collections
import functools
import weakref
from typing import Any

import numpy as np
import torch
from torch import nn

from tests.export.probe import equal, refused, sound, t

KEPT: list[Any] = []


class Outputs:
    """What hooks have seen, by device and by layer; asking for it starts anew."""

    def __init__(self, model: nn.Module) -> None:
        self.seen: Any = collections.defaultdict(collections.OrderedDict)
        for name, layer in model.named_children():
            layer.register_forward_hook(functools.partial(self.see, name))

    def see(self, name, *call):
        self.seen[call[1][0].device][name] = call[-1]

    def take(self, device):
        seen = self.seen[device]
        self.seen[device] = collections.OrderedDict()
        return seen


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
        self.outputs = Outputs(self.layers)

    def forward(self, x):
        self.layers(x)
        return list(self.outputs.take(x.device).values())


@equal
def outputs_of_hooks():
    return Layers(), (t(2, 3),)


@equal
def outputs_of_hooks_after_a_call():
    model = Layers()
    model(t(2, 3))
    return model, (t(2, 3),)


class Holds(nn.Module):
    """`body(self, x)` with what is in `first`."""

    def __init__(self, body: Any, **first: Any) -> None:
        super().__init__()
        self.body = body
        self.__dict__.update(first)

    def forward(self, x):
        return self.body(self, x)


def _dict(m: Any, x: Any) -> Any:
    if m.d is None:
        m.d = {}
    m.d["k"] = x * 2
    found, m.d = m.d["k"], {}
    return found


@equal
def dict_made_by_the_first_call():
    return Holds(_dict, d=None), (t(3),)


@equal
def dict_from_before():
    return Holds(_dict, d={}), (t(3),)


def _restarted(m: Any, x: Any) -> Any:
    m.d["n"] += 1
    m.d["y"] = x
    found, m.d = m.d["n"] * m.d["y"], {"n": 0}
    return found


@equal
def numbers_that_start_again():
    return Holds(_restarted, d={"n": 0}), (t(3),)


@refused("python-state")
def numbers_that_go_on():
    def body(m, x):
        m.d["n"] += 1
        found, m.d = x * m.d["n"], {"n": m.d["n"] % 2}
        return found

    return Holds(body, d={"n": 0}), (t(3),)


@sound()
def nested():
    def body(m, x):
        m.d["rows"].append(x)
        found, m.d = sum(m.d["rows"]), {"rows": []}
        return found

    return Holds(body, d={"rows": []}), (t(3),)


@equal
def deque_and_defaultdict():
    def body(m, x):
        m.q.append(x)
        m.c["a"].append(x * 2)
        found = m.q[-1] + m.c["a"][0]
        m.q, m.c = collections.deque(), collections.defaultdict(list)
        return found

    return Holds(body, q=collections.deque(), c=collections.defaultdict(list)), (t(3),)


@sound()
def deque_of_another_length():
    """In the first call three items stay, in the second one."""

    def body(m, x):
        m.q.extend([x, x * 2, x * 3])
        found, m.q = sum(m.q), collections.deque(maxlen=1)
        return found

    return Holds(body, q=collections.deque()), (t(3),)


@sound()
def defaultdict_of_other_values():
    def body(m, x):
        found = m.c["a"] * x
        m.c["b"] = x
        m.c = collections.defaultdict(float)
        return found + 1

    return Holds(body, c=collections.defaultdict(lambda: 2.0)), (t(3),)


def _filled(m: Any, x: Any) -> Any:
    m.d["k"] = x * 2
    found, m.d = m.d["k"], {}
    return found * (2 if m.other() else 3)


def _with_other(other: Any) -> Any:
    first: dict[str, Any] = {}
    return Holds(_filled, d=first, other=other(first)), (t(3),)


@sound()
def another_attribute_holds_it():
    return _with_other(lambda first: functools.partial(bool, first))


@sound()
def a_closure_holds_it():
    return _with_other(lambda first: lambda: len(first) > 0)


@sound()
def an_array_holds_it():
    def other(first):
        array = np.empty(1, dtype=object)
        array[0] = first
        return lambda: bool(array[0])

    return _with_other(other)


@sound()
def a_global_holds_it():
    def other(first):
        KEPT[:] = [first]
        return lambda: bool(KEPT[0])

    return _with_other(other)


@sound()
def a_generator_holds_it():
    def numbers(first):
        while True:
            yield bool(first)

    return _with_other(lambda first: functools.partial(next, numbers(first)))


def _ordered(m: Any, x: Any) -> Any:
    was_alive = m.ref() is not None
    m.d["k"] = x * (2 if was_alive else 3)
    found, m.d = m.d["k"], collections.OrderedDict()
    return found


@sound()
def a_weak_reference_to_it():
    first: Any = collections.OrderedDict()
    return Holds(_ordered, d=first, ref=weakref.ref(first)), (t(3),)


@sound()
def it_is_compared():
    def body(m, x):
        m.d["k"] = x
        same = m.d is m.first
        found, m.d = m.d["k"] * (2 if same else 3), {}
        return found

    first: dict[str, Any] = {}
    return Holds(body, d=first, first=first), (t(3),)


@sound()
def it_is_returned():
    def body(m, x):
        m.d["k"] = x * 2
        found, m.d = m.d, {}
        return found

    return Holds(body, d={}), (t(3),)


@sound()
def it_is_an_argument():
    def f(x, d):
        d["rows"].append(x)
        found, d["rows"] = d["rows"][-1] * len(d["rows"]), []
        return found, d

    return f, (t(3), {"rows": []})


@sound()
def the_new_one_is_changed_as_well():
    def body(m, x):
        m.d["k"] = x * 2
        found, m.d = m.d["k"], {}
        m.d["n"] = len(m.d)
        return found * (1 + m.d["n"])

    return Holds(body, d={}), (t(3),)


@sound()
def a_list_of_what_was_seen():
    def body(m, x):
        m.rows += [x.sum(), x.mean()]
        found, m.rows = torch.stack(m.rows), []
        return found

    return Holds(body, rows=[]), (t(3),)
