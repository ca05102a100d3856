"""Slots, descriptors, enum members, dataclass fields."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from tests.hostile.changes import Box, Changes, Module, item, row, setter


def _of(forward: Any, **more: Any) -> Changes:
    return Changes(Module(lambda s, x: x * forward(s), **more), {})


@row
def enum_member_value() -> Changes:
    class Color(enum.Enum):
        RED = 3

    made = _of(lambda s: s.c.value, c=Color.RED)
    made.told = {"value": setter(Color.RED, "_value_", 4)}
    return made


@row
def enum_members_iterated() -> Changes:
    class Color(enum.Enum):
        RED = 3
        BLUE = 4

    made = _of(lambda s: sum(c.value for c in s.c), c=Color)
    made.told = {"value": setter(Color.RED, "_value_", 9), "names": lambda: Color._member_names_.pop()}
    return made


@row
def enum_member_attribute() -> Changes:
    class Color(enum.Enum):
        RED = 3

    Color.RED.weight = 2  # type: ignore[attr-defined]
    made = _of(lambda s: s.c.RED.weight, c=Color)
    made.told = {"attribute": setter(Color.RED, "weight", 9)}
    return made


@row
def slots() -> Changes:
    class Slotted:
        __slots__ = ("m", "n")

    a = Slotted()
    a.n = 3  # type: ignore[attr-defined]
    made = _of(lambda s: s.a.n + (1 if hasattr(s.a, "m") else 0), a=a)
    made.told = {"value": setter(a, "n", 4), "set": setter(a, "m", 4), "deleted": lambda: delattr(a, "n")}
    return made


@row
def slots_walked() -> Changes:
    class Slotted:
        __slots__ = ("m", "n")

    a = Slotted()
    a.n, a.m = 3, 4  # type: ignore[attr-defined]
    made = _of(lambda s: sum(getattr(s.a, name) for name in s.a.__slots__), a=a)
    made.told = {"value": setter(a, "n", 7)}
    return made


@row
def slots_copied() -> Changes:
    import copy

    class Slotted:
        __slots__ = ("m", "n")

    a = Slotted()
    a.n = 3  # type: ignore[attr-defined]
    made = _of(lambda s: copy.copy(s.a).n, a=a)
    made.told = {"value": setter(a, "n", 7)}
    return made


@row
def slots_and_attrgetter() -> Changes:
    import operator

    class Slotted:
        __slots__ = ("n",)

    a = Slotted()
    a.n = 3  # type: ignore[attr-defined]
    made = _of(lambda s: f"{s.a.n}" and operator.attrgetter("n")(s.a), a=a)
    made.told = {"value": setter(a, "n", 7)}
    return made


@row
def slots_formatted() -> Changes:
    class Slotted:
        __slots__ = ("n",)

    a = Slotted()
    a.n = 3  # type: ignore[attr-defined]
    made = _of(lambda s: len("{0.n}".format(s.a)), a=a)  # noqa: UP030, UP032
    made.told = {"value": setter(a, "n", 777)}
    return made


class _Descriptor:
    def __init__(self, n: int) -> None:
        self.n = n

    def __get__(self, owner: Any, kind: Any = None) -> int:
        return self.n


@row
def descriptor() -> Changes:
    class Plain:
        a = _Descriptor(3)

    made = _of(lambda s: s.p.a, p=Plain())
    made.told = {
        "state": setter(vars(Plain)["a"], "n", 4),
        "of the instance": lambda: vars(made.program.held.p).update(a=9),
        "of the class": setter(Plain, "a", 8),
    }
    return made


@row
def descriptor_becomes_data_descriptor() -> Changes:
    class Once:
        def __get__(self, owner: Any, kind: Any = None) -> int:
            return 7

    class Plain:
        a = Once()

    made = _of(lambda s: s.p.a, p=Plain())
    made.program.held.p.__dict__["a"] = 3
    made.told = {"set": setter(Once, "__set__", lambda self, owner, value: None)}
    return made


@row
def class_attribute_becomes_descriptor() -> Changes:
    class Held:
        def __mul__(self, other: Any) -> Any:
            return 3

        n = 3

    class Plain:
        a = Held()

    made = _of(lambda s: s.p.a.n, p=Plain())
    made.told = {"get": setter(Held, "__get__", lambda self, owner, kind=None: Box(n=5))}
    return made


@row
def descriptor_that_is_called() -> Changes:
    class Held:
        def __call__(self) -> int:
            return 3

    class Plain:
        a = Held()

    made = _of(lambda s: s.p.a(), p=Plain())
    made.told = {"get": setter(Held, "__get__", lambda self, owner, kind=None: lambda: 5)}
    return made


@row
def property_replaced() -> Changes:
    class Plain:
        n = property(lambda self: self.m)
        m = 3

    made = _of(lambda s: s.p.n, p=Plain())
    made.told = {"property": setter(Plain, "n", 9), "class": setter(Plain, "m", 4)}
    return made


@row
def dataclass_fields() -> Changes:
    @dataclasses.dataclass
    class Config:
        a: int = 1
        b: int = 2

    made = _of(lambda s: sum(getattr(s.c, f.name) for f in dataclasses.fields(s.c)), c=Config())
    made.told = {
        "value": setter(made.program.held.c, "b", 5),
        "fields": lambda: Config.__dataclass_fields__.pop("a"),
    }
    return made


@row
def dataclass_asdict() -> Changes:
    @dataclasses.dataclass
    class Config:
        a: int = 1
        b: Any = dataclasses.field(default_factory=lambda: [2])

    made = _of(lambda s: dataclasses.asdict(s.c)["b"][0] + len(dataclasses.astuple(s.c)), c=Config())
    made.told = {"value": item(made.program.held.c.b, 0, 5)}
    return made


@row
def dataclass_replaced_and_compared() -> Changes:
    @dataclasses.dataclass(order=True)
    class Config:
        a: int = 1
        b: int = 2

    made = _of(lambda s: dataclasses.replace(s.c, a=4).b + (s.c < Config(2, 0)), c=Config())
    made.told = {"value": setter(made.program.held.c, "b", 5), "order": setter(made.program.held.c, "a", 5)}
    return made


@row
def dataclass_default() -> Changes:
    @dataclasses.dataclass
    class Config:
        a: int = 1

    made = _of(lambda s: s.c().a, c=Config)
    made.told = {"default": setter(Config.__init__, "__defaults__", (7,))}
    made.held = {"class attribute": setter(Config, "a", 7)}
    return made
