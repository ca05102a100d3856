"""Programs that each read something from outside, continued: objects, functions, contexts, containers."""

from __future__ import annotations

import collections
import contextvars
import copy
import dataclasses
import functools
import operator
import os
import types
import weakref
from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple

import torch
from torch import nn

from .programs import READINGS, Change, Reading, _marked, _scratch, into, other, put, scale

SETTING = 4


def _this(name: str, value: Any) -> Change:
    """Another value of a global of this file."""
    return lambda mod, patch: patch.setitem(globals(), name, value)


@dataclasses.dataclass
class Config:
    width: int = 3
    depth: int = 2
    tags: list[str] = field(default_factory=lambda: ["a"])


def dataclass_attribute() -> Any:
    mod = _with(lambda self, x: x * self.config.width)
    mod.config = Config()
    return mod


def _with(forward: Callable[[Any, Any], Any]) -> Any:
    return type("With", (nn.Module,), {"forward": forward})()


READINGS["dataclass_attribute"] = Reading(
    dataclass_attribute,
    {"value": (lambda mod, patch: setattr(mod.config, "width", 4), "config.width")},
    {
        "another": lambda mod, patch: setattr(mod.config, "depth", 4),
        "equal object": lambda mod, patch: setattr(mod, "config", Config(depth=9)),
    },
)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self) -> None:
        self.a = 2


class WithProperty:
    def __init__(self) -> None:
        self._n = 2

    @property
    def n(self) -> int:
        return self._n + 1

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, key: int) -> int:
        return self._n * key


def _holding(name: str, make: Callable[[], Any], forward: Callable[[Any, Any], Any], breaks: Any, **keeps: Any) -> None:
    def build() -> Any:
        mod = _with(forward)
        mod.held = make()
        return mod

    READINGS[name] = Reading(build, breaks, keeps)


_holding(
    "slot",
    Slotted,
    lambda self, x: x * self.held.a,
    {"value": (lambda mod, patch: setattr(mod.held, "a", 3), "held.a")},
    another=lambda mod, patch: setattr(mod.held, "b", 3),
)
_holding(
    "unset_slot",
    Slotted,
    lambda self, x: x * getattr(self.held, "b", 5),
    {"set": (lambda mod, patch: setattr(mod.held, "b", 3), "held")},
)
_holding(
    "a_property",
    WithProperty,
    lambda self, x: x * self.held.n,
    {
        "field": (lambda mod, patch: setattr(mod.held, "_n", 5), "held._n"),
        "property": (lambda mod, patch: patch.setattr(WithProperty, "n", 7), "n"),
    },
    another=lambda mod, patch: setattr(mod.held, "z", 5),
)
_holding(
    "special_methods",
    WithProperty,
    lambda self, x: x * len(self.held) + self.held[3],
    {
        "field": (lambda mod, patch: setattr(mod.held, "_n", 5), "held._n"),
        "__len__": (lambda mod, patch: patch.setattr(WithProperty, "__len__", lambda self: 9), "__len__"),
    },
)
_holding(
    "truth_of_an_object",
    Slotted,
    lambda self, x: x * 2 if self.held else x,
    {
        "__bool__": (
            lambda mod, patch: patch.setattr(Slotted, "__bool__", lambda self: False, raising=False),
            "__bool__",
        ),
        "None": (put("held", None), "held"),
    },
)
_holding(
    "isinstance_of",
    Slotted,
    lambda self, x: x * 2 if isinstance(self.held, Slotted) else x,
    {"class": (put("held", WithProperty()), "held")},
)
_holding(
    "bound_method",
    lambda: WithProperty().__getitem__,
    lambda self, x: x * self.held(4),
    {"another": (put("held", Config), "held")},
)
_holding(
    "a_partial",
    lambda: functools.partial(scale, by=2),
    lambda self, x: self.held(x),
    {
        "arguments": (put("held", functools.partial(scale, by=4)), "held"),
        "function": (put("held", functools.partial(other, by=2)), "held"),
    },
)
_holding(
    "a_lambda",
    lambda: lambda x: x * 2,
    lambda self, x: self.held(x),
    {"another": (put("held", lambda x: x * 3), "held")},
)
_holding("activation", lambda: torch.relu, lambda self, x: self.held(x), {"another": (put("held", torch.tanh), "held")})
_holding(
    "a_dtype", lambda: torch.float64, lambda self, x: x.to(self.held), {"another": (put("held", torch.float16), "held")}
)
_holding(
    "nested",
    lambda: {"a": [1, {"b": 2}]},
    lambda self, x: x * self.held["a"][1]["b"],
    {"value": (lambda mod, patch: mod.held["a"][1].__setitem__("b", 5), "['a'][1]['b']")},
    another=lambda mod, patch: mod.held["a"].__setitem__(0, 5),
)
_holding(
    "namespace",
    lambda: types.SimpleNamespace(a=2, b=3),
    lambda self, x: x * self.held.a,
    {"value": (lambda mod, patch: setattr(mod.held, "a", 5), "held.a")},
    another=lambda mod, patch: setattr(mod.held, "b", 5),
)


def shared_lists() -> Any:
    mod = _with(lambda self, x: x * self.left[0] + self.right[0])
    mod.left = mod.right = [2]
    return mod


READINGS["shared_lists"] = Reading(
    shared_lists, {"no longer shared": (put("right", [3]), "right"), "value": (into("left", 0, 5), "left")}
)

CONTEXT: contextvars.ContextVar[int] = contextvars.ContextVar("CONTEXT", default=2)


def context_variable() -> Any:
    CONTEXT.set(3)
    return _with(lambda self, x: x * CONTEXT.get())


READINGS["context_variable"] = Reading(
    context_variable, {"set": (lambda mod, patch: CONTEXT.set(4) and None, "CONTEXT")}
)


def weak_reference() -> Any:
    mod = _with(lambda self, x: x * self.ref().width)
    mod.config = Config()
    mod.ref = weakref.ref(mod.config)
    return mod


READINGS["weak_reference"] = Reading(
    weak_reference, {"value": (lambda mod, patch: setattr(mod.config, "width", 8), "width")}
)


def array() -> Any:
    import numpy

    mod = _with(lambda self, x: x * float(self.weights.sum()))
    mod.weights = numpy.ones(3)
    return mod


READINGS["array"] = Reading(array, {"value": (lambda mod, patch: mod.weights.__setitem__(0, 5), "weights")})


def mutable_default() -> Any:
    def scaled(x: Any, by: list[int] = [2]) -> Any:  # noqa: B006
        return x * by[0]

    mod = _with(lambda self, x: self.scaled(x))
    mod.scaled = scaled
    return mod


READINGS["mutable_default"] = Reading(
    mutable_default, {"item": (lambda mod, patch: mod.scaled.__defaults__[0].__setitem__(0, 7), "__defaults__")}
)


class Pair(NamedTuple):
    a: int = 2
    b: int = 3


_holding(
    "named_tuple",
    Pair,
    lambda self, x: x * self.held.a,
    {"value": (put("held", Pair(5)), "held.a")},
    another=put("held", Pair(2, 9)),
)
_holding(
    "environment",
    lambda: None,
    lambda self, x: x * int(os.environ.get("DYNAMO_LITE_TEST_READING", "1")),
    {"set": (lambda mod, patch: patch.setenv("DYNAMO_LITE_TEST_READING", "3"), "READING")},
    another=lambda mod, patch: patch.setenv("DYNAMO_LITE_TEST_UNREAD", "3"),
)
_holding(
    "attribute_of_a_parameter",
    lambda: _marked(nn.Parameter(torch.ones(3)), 2),
    lambda self, x: x * self.held.mark,
    {"value": (lambda mod, patch: setattr(mod.held, "mark", 3), "mark")},
    another=lambda mod, patch: setattr(mod.held, "other", 3),
)
_holding(
    "no_attribute_of_a_parameter",
    lambda: nn.Parameter(torch.ones(3)),
    lambda self, x: x * 2 if hasattr(self.held, "mark") else x + self.held,
    {"set": (lambda mod, patch: setattr(mod.held, "mark", 3), "mark")},
)
_holding(
    "vars_of",
    lambda: Config(),
    lambda self, x: x * sum(v for v in vars(self.held).values() if type(v) is int),
    {
        "value": (lambda mod, patch: setattr(mod.held, "depth", 9), "depth"),
        "new": (lambda mod, patch: setattr(mod.held, "more", 9), "held"),
    },
)
_holding(
    "dataclass_compared",
    lambda: Config(),
    lambda self, x: x * 2 if self.held == Config() else x,
    {"value": (lambda mod, patch: setattr(mod.held, "depth", 9), "depth")},
)
_holding(
    "deep_copied",
    lambda: {"a": [1, 2]},
    lambda self, x: x * copy.deepcopy(self.held)["a"][1],
    {"value": (lambda mod, patch: mod.held["a"].__setitem__(1, 9), "['a'][1]")},
)
_holding(
    "returned",
    lambda: [1, 2],
    lambda self, x: (x, self.held),
    {"value": (lambda mod, patch: mod.held.__setitem__(1, 9), "held[1]")},
)
_holding("written_then_read", lambda: 2, _scratch, {}, value=put("held", 7))
_holding(
    "named_parameters",
    lambda: nn.Linear(3, 3),
    lambda self, x: sum(p.sum() for p in self.parameters()) + x,
    {"added": (lambda mod, patch: mod.register_parameter("late", nn.Parameter(torch.ones(3))), "_parameters")},
)


@functools.lru_cache
def cached(n: int) -> int:
    return n * SETTING


def _cached(self: Any, x: Any) -> Any:
    return x * cached(self.held)


def _filled() -> int:
    cached.cache_clear()
    cached(3)
    return 3


_holding("filled_cache", _filled, _cached, {"cleared": (lambda mod, patch: cached.cache_clear(), "cached")})


def _pushes(self: Any, x: Any) -> Any:
    self.left.append(7)
    y = x * len(self.right)
    self.left.pop()
    return y


def changed_and_read() -> Any:
    mod = _with(_pushes)
    mod.left, mod.right = [1], [1]
    return mod


def _join(mod: Any, patch: Any) -> None:
    mod.right = mod.left


READINGS["changed_and_read"] = Reading(changed_and_read, {"one object": (_join, "is not")})


class Number(int):
    """An int with a name of its own."""


class Key:
    def __init__(self, n: int) -> None:
        self.n = n


def _counting() -> Any:
    return collections.defaultdict(lambda: 4, a=1)


_holding(
    "subclass_of_int",
    lambda: Number(3),
    lambda self, x: x * self.held,
    {"value": (put("held", Number(4)), "held"), "plain": (put("held", 3), "held")},
    equal=put("held", Number(3)),
)
_holding(
    "keys_of_a_dict",
    lambda: {"a": 1, "b": 2},
    lambda self, x: x * len([k for k in self.held]),  # noqa: C416
    {"new": (lambda mod, patch: mod.held.__setitem__("c", 1), "held")},
    value=lambda mod, patch: mod.held.__setitem__("b", 7),
)
_holding(
    "default_factory",
    _counting,
    lambda self, x: x * collections.defaultdict.__missing__(self.held, "z") if "z" in self.held else x * 2,
    {"set": (lambda mod, patch: mod.held.__setitem__("z", 9), "'z'")},
)
_holding(
    "objects_as_keys",
    lambda: {Key(1): 5, Key(2): 6},
    lambda self, x: x * sum(k.n * v for k, v in self.held.items()),
    {
        "key": (lambda mod, patch: setattr(next(iter(mod.held)), "n", 9), "n =="),
        "value": (lambda mod, patch: mod.held.__setitem__(next(iter(mod.held)), 9), "held"),
    },
)
_holding(
    "objects_in_a_set",
    lambda: {Key(1), Key(2)},
    lambda self, x: x * sum(k.n for k in self.held),
    {"member": (lambda mod, patch: setattr(next(iter(mod.held)), "n", 9), "n ==")},
)


def compiled_inner() -> Any:
    return torch.compile(_with(lambda self, x: x * SETTING), backend="eager")


READINGS["compiled_inner"] = Reading(compiled_inner, {"global": (_this("SETTING", 9), "SETTING")})


class Attributes(dict):  # type: ignore[type-arg]
    __getattr__ = dict.__getitem__


class Got:
    x = property(operator.attrgetter("y"))

    def __init__(self) -> None:
        self.y = 2


_holding(
    "c_getattr",
    lambda: Attributes(n=2, m=3),
    lambda self, x: x * self.held.n,
    {"value": (lambda mod, patch: mod.held.__setitem__("n", 9), "'n'")},
    another=lambda mod, patch: mod.held.__setitem__("m", 9),
)
_holding(
    "c_property",
    Got,
    lambda self, x: x * self.held.x,
    {"value": (lambda mod, patch: setattr(mod.held, "y", 9), "held.y")},
)
