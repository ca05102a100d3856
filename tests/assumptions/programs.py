"""Programs that each read something from outside in one way, with changes of it that matter and changes that do not.

`breaks` are changes after which the trace must not hold, with a piece of the text of the guard that has to fail;
`keeps` are changes that the program cannot see, after which it must hold. A change gets the module and pytest's
monkeypatch.
"""

from __future__ import annotations

import collections
import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

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
