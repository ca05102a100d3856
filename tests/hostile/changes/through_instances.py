"""State of classes that the program reads through instances which it makes itself."""

from __future__ import annotations

import functools
from typing import Any

from tests.hostile.changes import Box, Changes, Module, item, row, setter


def _of(forward: Any, **more: Any) -> Changes:
    return Changes(Module(lambda s, x: x * forward(s), **more), {})


@row
def class_attribute() -> Changes:
    class Plain:
        n = 3

    made = _of(lambda s: s.c().n, c=Plain)
    made.told = {"value": setter(Plain, "n", 4)}
    return made


@row
def class_attributes_of_two_in_turn() -> Changes:
    class One:
        n = 3

    class Two:
        n = 4

    made = _of(lambda s: s.one().n + s.two().n, one=One, two=Two)
    made.told = {"first": setter(One, "n", 5), "second": setter(Two, "n", 5)}
    return made


@row
def attribute_of_a_base() -> Changes:
    class Base:
        n = 3

    class Plain(Base):
        pass

    made = _of(lambda s: s.c().n, c=Plain)
    made.told = {"base": setter(Base, "n", 4), "class": setter(Plain, "n", 5)}
    return made


@row
def attribute_of_the_base_of_a_class_made_in_forward() -> Changes:
    class Base:
        n = 3

    def f(s: Any) -> int:
        class Plain(Base):
            pass

        return Plain().n + Plain.n

    made = _of(f)
    made.told = {"base": setter(Base, "n", 4)}
    return made


@row
def missing_attribute() -> Changes:
    class Plain:
        pass

    made = _of(lambda s: getattr(s.c(), "n", 3), c=Plain)
    made.told = {"it appears": setter(Plain, "n", 4)}
    return made


@row
def class_attribute_where_another_instance_has_its_own() -> Changes:
    class Plain:
        n = 3

    made = _of(lambda s: s.p.n + type(s.p)().n, p=Plain())
    made.program.held.p.n = 9
    made.told = {"class": setter(Plain, "n", 4), "instance": setter(made.program.held.p, "n", 5)}
    return made


@row
def attribute_set_by_init() -> Changes:
    class Plain:
        n = 1

        def __init__(self) -> None:
            self.n = 3

    made = _of(lambda s: s.c().n, c=Plain)
    made.held = {"class": setter(Plain, "n", 4)}
    return made


@row
def list_of_a_class() -> Changes:
    class Plain:
        xs = [3]

    made = _of(lambda s: s.c().xs[0], c=Plain)
    made.told = {"item": item(Plain.xs, 0, 4), "list": setter(Plain, "xs", [5])}
    return made


@row
def c_method_of_a_class() -> Changes:
    class Plain(list):  # type: ignore[type-arg]
        size = list.__len__

    made = _of(lambda s: s.c([1, 2]).size(), c=Plain)
    made.told = {"method": setter(Plain, "size", lambda self: 9)}
    return made


@row
def property_of_a_class() -> Changes:
    class Plain:
        m = 3
        n = property(lambda self: self.m)

    made = _of(lambda s: s.c().n, c=Plain)
    made.told = {"value": setter(Plain, "m", 4), "property": setter(Plain, "n", 9)}
    return made


@row
def method_that_appears() -> Changes:
    class Plain:
        def f(self) -> int:
            return self.g() if hasattr(self, "g") else 3

    made = _of(lambda s: s.c().f(), c=Plain)
    made.told = {"it appears": setter(Plain, "g", lambda self: 4)}
    return made


@row
def property_that_hides_an_attribute() -> Changes:
    class Plain:
        pass

    made = _of(lambda s: s.p.n, p=Plain())
    made.program.held.p.n = 3
    made.told = {"property": setter(Plain, "n", property(lambda self: 5))}
    made.held = {"class attribute": setter(Plain, "n", 7)}
    return made


@row
def property_in_place_of_a_class_attribute() -> Changes:
    class Plain:
        n = 1

    made = _of(lambda s: s.p.n, p=Plain())
    made.program.held.p.n = 3
    made.told = {"property": setter(Plain, "n", property(lambda self: 5))}
    made.held = {"class attribute": setter(Plain, "n", 7)}
    return made


@row
def property_of_a_module_class() -> Changes:
    import torch

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.n = 3

        def forward(self, x: Any) -> Any:
            return x * self.n

    made = Changes(Layer(), {})
    made.told = {"property": setter(Layer, "n", property(lambda self: 5))}
    made.held = {"method": setter(Layer, "unused", lambda self: 5), "doc": setter(Layer, "__doc__", "a text")}
    return made


@row
def super_in_an_instance_made_in_forward() -> Changes:
    class Base:
        n = 3

        def f(self) -> int:
            return self.n

    class Plain(Base):
        n = 4

        def f(self) -> int:
            return super().f() + super().n

    made = _of(lambda s: s.c().f(), c=Plain)
    made.told = {
        "base": setter(Base, "n", 7),
        "function": setter(Base, "f", lambda self: 8),
        "own": setter(Plain, "n", 9),
    }
    return made


@row
def super_of_a_missing_attribute() -> Changes:
    class Base:
        pass

    class Plain(Base):
        def f(self) -> int:
            return getattr(super(), "n", 3)

    made = _of(lambda s: s.p.f(), p=Plain())
    made.told = {"base": setter(Base, "n", 7)}
    made.held = {"own": setter(Plain, "n", 9)}
    return made


@row
def class_method_of_a_base_through_a_class() -> Changes:
    class Base:
        n = 3

        @classmethod
        def make(cls) -> Any:
            return cls().n

    class Plain(Base):
        pass

    made = _of(lambda s: s.c.make(), c=Plain)
    made.told = {"base": setter(Base, "n", 7), "class": setter(Plain, "n", 8)}
    return made


@row
def partial_method_and_cached_property() -> Changes:
    class Plain:
        def add(self, n: int) -> int:
            return n + 1

        two = functools.partialmethod(add, 2)
        three = functools.cached_property(lambda self: 3)

    made = _of(lambda s: s.c().two() + s.c().three, c=Plain)
    made.told = {
        "partial": setter(Plain, "two", functools.partialmethod(Plain.add, 5)),
        "function": setter(Plain.add, "__code__", (lambda self, n: 9).__code__),
        "property": setter(Plain, "three", 8),
    }
    return made


@row
def object_held_by_a_class_of_an_instance() -> Changes:
    class Plain:
        box = Box(n=3)

    made = _of(lambda s: s.c().box.n, c=Plain)
    made.told = {"attribute": setter(Plain.box, "n", 4)}
    return made
