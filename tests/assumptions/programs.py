"""Programs that each read something from outside in one way, with changes of it that matter and changes that do not.

`breaks` are changes after which the trace must not hold, with a piece of the text of the guard that has to fail;
`keeps` are changes that the program cannot see, after which it must hold. A change gets the module and pytest's
monkeypatch.
"""

from __future__ import annotations

import collections
import contextvars
import copy
import dataclasses
import enum
import functools
import operator
import os
import types
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import nn

Change = Callable[[Any, Any], Any]


def _marked(tensor: Any, value: Any) -> Any:
    tensor.mark = value
    return tensor


def _scratch(self: Any, x: Any) -> Any:
    self.held = 5
    y = x * self.held
    self.held = 2
    return y


@dataclass(frozen=True)
class Reading:
    """One program. `make()` gives a new module each time."""

    make: Callable[[], Any]
    breaks: Mapping[str, tuple[Change, str]]
    keeps: Mapping[str, Change] = field(default_factory=dict)
    args: Callable[[], tuple[Any, ...]] = lambda: (torch.arange(6.0).reshape(2, 3),)


READINGS: dict[str, Reading] = {}


def put(name: str, value: Any) -> Change:
    """Assign an attribute of the module."""
    return lambda mod, patch: setattr(mod, name, value)


def into(name: str, key: Any, value: Any) -> Change:
    """Assign an item of a container of the module."""
    return lambda mod, patch: getattr(mod, name).__setitem__(key, value)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Base(nn.Module):
    """A module with one attribute of every kind; each program reads one of them."""

    rate = 3
    table: list[int] = [1, 2]

    def __init__(self) -> None:
        super().__init__()
        self.eps = 0.5
        self.flag = True
        self.mode = "fast"
        self.nothing = None
        self.xs = [1, 2, 3]
        self.shape = (3, 2)
        self.cfg = {"n": 2, "m": 5}
        self.names = {"a", "b"}
        self.queue = collections.deque([1, 2])
        self.ordered = collections.OrderedDict(p=1, q=2)
        self.unread = 1
        self.color = Color.RED
        self.inner = nn.Linear(3, 3)
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])
        self.register_buffer("offset", torch.ones(3))


UNREAD = {"unread": put("unread", 2), "new attribute": put("fresh", 9)}


def program(**changes: Any) -> Callable[[Callable[[Any, Any], Any]], Any]:
    """Make a module class of a `forward` and register it."""

    def register(forward: Callable[..., Any]) -> Any:
        cls = type(forward.__name__, (Base,), {"forward": forward})
        changes.setdefault("keeps", {})
        READINGS[forward.__name__] = Reading(cls, **{**changes, "keeps": {**UNREAD, **changes["keeps"]}})
        return forward

    return register


@program(
    breaks={"value": (put("eps", 0.25), ".eps =="), "type": (put("eps", 1), ".eps ==")},
    keeps={"an equal float": lambda mod, patch: setattr(mod, "eps", float("0.5"))},
)
def attribute(self: Any, x: Any) -> Any:
    return x + self.eps


@program(breaks={"eval": (lambda mod, patch: mod.eval(), "training")})
def training_flag(self: Any, x: Any) -> Any:
    return x * 2 if self.training else x


@program(breaks={"0.0 is -0.0": (put("eps", 2), ".eps"), "True for 1": (put("flag", 1), ".flag")})
def flag_as_number(self: Any, x: Any) -> Any:
    return x * self.flag + self.eps


@program(breaks={"a list": (put("nothing", []), ".nothing")})
def is_none(self: Any, x: Any) -> Any:
    return x if self.nothing is None else x + 1


@program(breaks={"it appears": (put("cache", 1), "cache")})
def hasattr_false(self: Any, x: Any) -> Any:
    return x + 1 if hasattr(self, "cache") else x


@program(
    breaks={
        "it appears": (put("cache", 1), "cache"),
        "on the class": (lambda mod, patch: patch.setattr(type(mod), "cache", 4, raising=False), "cache"),
    }
)
def getattr_default(self: Any, x: Any) -> Any:
    return x + getattr(self, "cache", 7)


@program(
    breaks={
        "item": (into("xs", 0, 9), ".xs[0]"),
        "shorter": (lambda mod, patch: mod.xs.clear(), ".xs"),
        "a tuple": (put("xs", (1, 2, 3)), ".xs"),
    },
    keeps={"another item": into("xs", 1, 7), "longer": lambda mod, patch: mod.xs.append(4)},
)
def list_item(self: Any, x: Any) -> Any:
    return x * self.xs[0]


@program(breaks={"longer": (lambda mod, patch: mod.xs.append(4), ".xs"), "item": (into("xs", 2, 9), ".xs[2]")})
def list_loop(self: Any, x: Any) -> Any:
    for value in self.xs:
        x = x * value
    return x


@program(breaks={"longer": (lambda mod, patch: mod.xs.append(4), ".xs")}, keeps={"item": into("xs", 2, 9)})
def list_length(self: Any, x: Any) -> Any:
    return x * len(self.xs)


@program(breaks={"empty": (lambda mod, patch: mod.xs.clear(), ".xs")}, keeps={"item": into("xs", 2, 9)})
def list_truth(self: Any, x: Any) -> Any:
    return x * 2 if self.xs else x


@program(breaks={"item": (into("xs", 1, 7), ".xs")})
def list_contains(self: Any, x: Any) -> Any:
    return x * 2 if 2 in self.xs else x


@program(breaks={"item": (into("xs", 1, 7), ".xs")})
def list_passed_to_c(self: Any, x: Any) -> Any:
    return x * sum(self.xs)


@program(breaks={"item": (into("xs", 1, 7), ".xs")})
def list_compared(self: Any, x: Any) -> Any:
    return x * 2 if self.xs == [1, 2, 3] else x


@program(breaks={"item": (into("xs", 1, 7), ".xs")})
def list_unpacked(self: Any, x: Any) -> Any:
    _, second, _ = self.xs
    return x * second


@program(breaks={"item": (into("xs", 1, 7), ".xs")})
def list_as_text(self: Any, x: Any) -> Any:
    return x * 2 if str(self.xs) == "[1, 2, 3]" else x


@program(breaks={"tuple": (put("shape", (2, 3)), ".shape")})
def shape_tuple(self: Any, x: Any) -> Any:
    return x.reshape(self.shape)


@program(
    breaks={"item": (into("cfg", "n", 9), ".cfg['n']"), "gone": (lambda mod, patch: mod.cfg.pop("n"), ".cfg")},
    keeps={"another key": into("cfg", "m", 9), "new key": into("cfg", "z", 9)},
)
def dict_item(self: Any, x: Any) -> Any:
    return x * self.cfg["n"]


@program(breaks={"it appears": (into("cfg", "k", 9), "'k'")}, keeps={"another key": into("cfg", "m", 9)})
def dict_get_missing(self: Any, x: Any) -> Any:
    return x * self.cfg.get("k", 4)


@program(breaks={"item": (into("cfg", "n", 9), ".cfg['n']")}, keeps={"another key": into("cfg", "m", 9)})
def dict_get(self: Any, x: Any) -> Any:
    return x * self.cfg.get("n", 4)


@program(breaks={"gone": (lambda mod, patch: mod.cfg.pop("n"), "'n'")}, keeps={"value": into("cfg", "n", 9)})
def dict_contains(self: Any, x: Any) -> Any:
    return x * 2 if "n" in self.cfg else x


@program(breaks={"it appears": (into("cfg", "z", 9), "'z'")}, keeps={"another": into("cfg", "y", 9)})
def key_error_caught(self: Any, x: Any) -> Any:
    try:
        return x * self.cfg["z"]
    except KeyError:
        return x


@program(
    breaks={
        "order": (put("cfg", {"m": 5, "n": 2}), ".cfg"),
        "new key": (into("cfg", "z", 9), ".cfg"),
        "value": (into("cfg", "m", 1), ".cfg"),
    }
)
def dict_items(self: Any, x: Any) -> Any:
    for _, value in self.cfg.items():
        x = x * 2 + value
    return x


@program(breaks={"value": (into("cfg", "m", 1), ".cfg")})
def dict_spread(self: Any, x: Any) -> Any:
    return x + dict(**self.cfg)["m"]


@program(breaks={"member": (lambda mod, patch: mod.names.add("c"), ".names")})
def set_length(self: Any, x: Any) -> Any:
    return x * len(self.names)


@program(breaks={"member": (lambda mod, patch: mod.names.discard("a"), ".names")})
def set_contains(self: Any, x: Any) -> Any:
    return x * 2 if "a" in self.names else x


@program(breaks={"item": (into("queue", 0, 9), ".queue")})
def deque_item(self: Any, x: Any) -> Any:
    return x * self.queue[0]


@program(breaks={"moved": (lambda mod, patch: mod.ordered.move_to_end("p"), ".ordered")})
def ordered_dict_order(self: Any, x: Any) -> Any:
    for value in self.ordered.values():
        x = x * 2 + value
    return x


@program(
    breaks={
        "on the class": (lambda mod, patch: patch.setattr(type(mod), "rate", 5), "rate"),
        "on the base": (lambda mod, patch: patch.setattr(Base, "rate", 5), "rate"),
        "on the instance": (put("rate", 8), "rate"),
    }
)
def class_attribute(self: Any, x: Any) -> Any:
    return x * self.rate


@program(breaks={"item": (lambda mod, patch: patch.setattr(Base, "table", [4, 2]), "table")})
def class_list(self: Any, x: Any) -> Any:
    return x * type(self).table[0]


SETTING = 4
SETTINGS = {"n": 4, "m": 1}


def _this(name: str, value: Any) -> Change:
    return lambda mod, patch: patch.setitem(globals(), name, value)


@program(breaks={"value": (_this("SETTING", 5), "SETTING")}, keeps={"another": _this("UNUSED", 2)})
def a_global(self: Any, x: Any) -> Any:
    return x * SETTING


@program(
    breaks={
        "item": (lambda mod, patch: patch.setitem(SETTINGS, "n", 9), "SETTINGS"),
        "replaced": (_this("SETTINGS", {"n": 5}), "SETTINGS"),
    },
    keeps={"another key": lambda mod, patch: patch.setitem(SETTINGS, "m", 9)},
)
def global_dict(self: Any, x: Any) -> Any:
    return x * SETTINGS["n"]


@program(breaks={"shadowed": (_this("max", lambda *a: 100), "max")})
def a_builtin(self: Any, x: Any) -> Any:
    return x * max(2, 3)


def scale(x: Any, by: int = 3, *, extra: int = 1) -> Any:
    return x * by + extra


@program(
    breaks={
        "replaced": (_this("scale", lambda x: x), "scale"),
        "code": (lambda mod, patch: patch.setattr(scale, "__code__", other.__code__), "scale"),
        "defaults": (lambda mod, patch: patch.setattr(scale, "__defaults__", (5,)), "__defaults__"),
        "keyword defaults": (lambda mod, patch: patch.setattr(scale, "__kwdefaults__", {"extra": 7}), "__kwdefaults__"),
    }
)
def function_called(self: Any, x: Any) -> Any:
    return scale(x)


def other(x: Any, by: int = 3, *, extra: int = 1) -> Any:
    return x - by


@program(
    breaks={
        "forward of a layer": (lambda mod, patch: patch.setattr(nn.ReLU, "forward", lambda self, x: x), "forward"),
        "on an instance": (lambda mod, patch: setattr(mod.layers[1], "forward", lambda x: x), "forward"),
        "layer replaced": (lambda mod, patch: mod.layers.__setitem__(1, nn.GELU()), "layers[1]"),
        "layer added": (lambda mod, patch: mod.layers.append(nn.ReLU()), "layers"),
        "hook": (lambda mod, patch: mod.layers[0].register_forward_hook(lambda *a: a[2] + 1) and None, "hooks"),
        "weight": (lambda mod, patch: setattr(mod.layers[0], "weight", nn.Parameter(torch.zeros(3, 3))), "weight"),
        "dtype": (lambda mod, patch: mod.to(torch.float64) and None, "weight"),
        "frozen": (lambda mod, patch: mod.layers[0].requires_grad_(False) and None, "weight"),
    },
    keeps={
        "in place": lambda mod, patch: mod.layers[0].weight.data.zero_(),
        "loaded": lambda mod, patch: mod.load_state_dict({k: v * 2 for k, v in mod.state_dict().items()}),
    },
)
def layers(self: Any, x: Any) -> Any:
    for layer in self.layers:
        x = layer(x)
    return x


@program(
    breaks={"replaced": (put("offset", torch.zeros(3)), "offset")},
    keeps={"in place": lambda mod, patch: mod.offset.fill_(3)},
)
def a_buffer(self: Any, x: Any) -> Any:
    return x + self.offset


@program(breaks={"another": (lambda mod, patch: setattr(mod, "inner", mod.layers[0]), "inner")})
def module_is(self: Any, x: Any) -> Any:
    return x * 2 if self.inner is self.layers[0] else x


@program(breaks={"another": (put("color", Color.BLUE), ".color")})
def enum_member(self: Any, x: Any) -> Any:
    return x if self.color is Color.RED else x + 1


def closure() -> Any:
    factor = 3

    class Closed(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * factor

        def change(self, value: Any) -> None:
            nonlocal factor
            factor = value

    return Closed()


READINGS["closure"] = Reading(closure, {"cell": (lambda mod, patch: mod.change(4), "factor")})


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
