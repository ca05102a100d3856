"""What a class inherits: bases, metaclasses, registrations, super()."""

from __future__ import annotations

import abc
from typing import Any, Protocol, runtime_checkable

from tests.hostile.changes import Box, Changes, Module, item, row, setter


def _of(forward: Any, **more: Any) -> Changes:
    return Changes(Module(lambda s, x: x * forward(s), **more), {})


@row
def attribute_of_a_metaclass() -> Changes:
    class Meta(type):
        n = 3

    class Plain(metaclass=Meta):
        pass

    made = _of(lambda s: s.c.n, c=Plain)
    made.told = {"value": setter(Meta, "n", 4), "of the class": setter(Plain, "n", 5)}
    return made


@row
def property_of_a_metaclass() -> Changes:
    class Meta(type):
        @property
        def n(cls) -> int:
            return cls.m + 1  # type: ignore[attr-defined, no-any-return]

    class Plain(metaclass=Meta):
        m = 3

    made = _of(lambda s: s.c.n, c=Plain)
    made.told = {"value": setter(Plain, "m", 4), "property": setter(Meta, "n", property(lambda cls: 9))}
    return made


@row
def getattr_of_a_metaclass() -> Changes:
    class Meta(type):
        table = {"n": 3}

        def __getattr__(cls, name: str) -> int:
            return cls.table[name]

    class Plain(metaclass=Meta):
        pass

    made = _of(lambda s: s.c.n, c=Plain)
    made.told = {"value": item(Meta.table, "n", 4), "of the class": setter(Plain, "n", 5)}
    return made


@row
def missing_attribute_of_a_class_with_a_metaclass() -> Changes:
    class Meta(type):
        pass

    class Plain(metaclass=Meta):
        pass

    made = _of(lambda s: getattr(s.c, "n", 1), c=Plain)
    made.told = {"of the metaclass": setter(Meta, "n", 4), "of the class": setter(Plain, "n", 5)}
    return made


@row
def missing_attribute_of_an_instance_with_a_metaclass() -> Changes:
    class Meta(type):
        pass

    class Plain(metaclass=Meta):
        pass

    made = _of(lambda s: getattr(s.a, "n", 1), a=Plain())
    made.told = {"of the class": setter(Plain, "n", 5)}
    made.held = {"of the metaclass": setter(Meta, "n", 4)}
    return made


@row
def hasattr_of_an_instance_with_an_abstract_class() -> Changes:
    class Plain(abc.ABC):  # noqa: B024
        pass

    made = _of(lambda s: 2 if hasattr(s.a, "n") else 3, a=Plain())
    made.told = {"of the class": setter(Plain, "n", 5)}
    return made


@row
def bases_of_a_class() -> Changes:
    class One:
        n = 3

    class Two:
        n = 4

    class Plain(One):
        pass

    made = _of(lambda s: s.a.n, a=Plain())
    made.told = {"bases": setter(Plain, "__bases__", (Two,))}
    return made


@row
def mro_read() -> Changes:
    class One:
        pass

    class Two(One):
        pass

    class Plain(One):
        pass

    made = _of(lambda s: len(type(s.a).__mro__), a=Plain())
    made.told = {"bases": setter(Plain, "__bases__", (Two,))}
    return made


@row
def isinstance_by_bases() -> Changes:
    class One:
        pass

    class Two(One):
        pass

    class Plain(One):
        pass

    made = _of(lambda s: 3 if isinstance(s.a, Two) else 4, a=Plain())
    made.told = {"bases": setter(Plain, "__bases__", (Two,)), "class": setter(made.program.held.a, "__class__", Two)}
    return made


@row
def issubclass_by_bases() -> Changes:
    class One:
        pass

    class Two(One):
        pass

    class Plain(One):
        pass

    made = _of(lambda s: 3 if issubclass(s.c, Two) else 4, c=Plain)
    made.told = {"bases": setter(Plain, "__bases__", (Two,))}
    return made


@row
def isinstance_by_registration() -> Changes:
    class Shape(abc.ABC):  # noqa: B024
        pass

    class Plain:
        pass

    made = _of(lambda s: 3 if isinstance(s.a, Shape) else 4, a=Plain())
    made.told = {"registration": lambda: Shape.register(Plain) and None}
    return made


@row
def issubclass_by_registration() -> Changes:
    class Shape(abc.ABC):  # noqa: B024
        pass

    class Plain:
        pass

    made = _of(lambda s: 3 if issubclass(s.c, Shape) else 4, c=Plain)
    made.told = {"registration": lambda: Shape.register(Plain) and None}
    return made


@row
def match_by_registration() -> Changes:
    import collections.abc

    class Plain:
        pass

    def f(s: Any) -> int:
        match s.a:
            case collections.abc.Sized():
                return 2
            case _:
                return 3

    made = _of(f, a=Plain())
    made.told = {"registration": lambda: collections.abc.Sized.register(Plain) and None}
    return made


@row
def isinstance_by_instancecheck() -> Changes:
    class Meta(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return bool(instance.n == cls.n)  # type: ignore[attr-defined]

    class Shape(metaclass=Meta):
        n = 2

    made = _of(lambda s: 3 if isinstance(s.a, Shape) else 4, a=Box(n=2))
    made.told = {"instance": setter(made.program.held.a, "n", 5), "class": setter(Shape, "n", 5)}
    return made


@row
def isinstance_of_a_protocol() -> Changes:
    @runtime_checkable
    class Sized(Protocol):
        def size(self) -> int: ...

    class Plain:
        pass

    made = _of(lambda s: 3 if isinstance(s.a, Sized) else 4, a=Plain())
    made.told = {"method": setter(Plain, "size", lambda self: 1)}
    return made


@row
def subclass_hook() -> Changes:
    class Shape(abc.ABC):  # noqa: B024
        wanted = "n"

        @classmethod
        def __subclasshook__(cls, other: type) -> bool:
            return any(cls.wanted in vars(base) for base in other.__mro__)

    class Plain:
        pass

    made = _of(lambda s: 3 if isinstance(s.a, Shape) else 4, a=Plain())

    def change() -> None:
        Plain.n = 1  # type: ignore[attr-defined]
        Shape._abc_caches_clear = None  # type: ignore[attr-defined]
        abc.ABCMeta._abc_caches_clear(Shape) if hasattr(abc.ABCMeta, "_abc_caches_clear") else None
        import _abc

        _abc._reset_caches(Shape)  # type: ignore[attr-defined]

    made.told = {"attribute": change}
    return made


@row
def subclasses_of_a_class() -> Changes:
    class Shape:
        pass

    made = _of(lambda s: len(s.c.__subclasses__()) + 1, c=Shape)
    made.told = {"one more": lambda: setattr(made.program.held, "kept", type("Sub", (Shape,), {}))}
    return made


@row
def super_method() -> Changes:
    class Base:
        def f(self) -> int:
            return 3

    class Between(Base):
        pass

    class Plain(Between):
        def f(self) -> int:
            return super().f() + 1

    made = _of(lambda s: s.p.f(), p=Plain())
    made.told = {"between": setter(Between, "f", lambda self: 5), "base": setter(Base, "f", lambda self: 6)}
    return made


@row
def super_attribute() -> Changes:
    class Base:
        n = 3

    class Between(Base):
        pass

    class Plain(Between):
        n = 9

        def f(self) -> int:
            return super().n + 1

    made = _of(lambda s: s.p.f(), p=Plain())
    made.told = {"between": setter(Between, "n", 5), "base": setter(Base, "n", 6)}
    made.held = {"its own": setter(Plain, "n", 7)}
    return made
