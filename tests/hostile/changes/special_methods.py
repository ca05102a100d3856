"""Special methods that appear or change: no read shows that they are not there."""

from __future__ import annotations

import abc
from typing import Any

from tests.hostile.changes import Box, Changes, Module, row, setter


def _of(forward: Any, **more: Any) -> Changes:
    return Changes(Module(lambda s, x: x * forward(s), **more), {})


@row
def truth_of_an_instance_with_an_abstract_class() -> Changes:
    class Plain(abc.ABC):  # noqa: B024
        pass

    made = _of(lambda s: 2 if s.a else 3, a=Plain())
    made.told = {"of the class": setter(Plain, "__bool__", lambda self: False)}
    return made


@row
def call_of_a_metaclass() -> Changes:
    class Meta(type):
        def __call__(cls, n: int) -> int:
            return n + cls.m  # type: ignore[attr-defined, no-any-return]

    class Plain(metaclass=Meta):
        m = 3

    made = _of(lambda s: s.c(2), c=Plain)
    made.told = {"value": setter(Plain, "m", 4), "call": setter(Meta, "__call__", lambda cls, n: 9)}
    return made


@row
def length_of_a_class() -> Changes:
    class Meta(type):
        def __len__(cls) -> int:
            return cls.m  # type: ignore[attr-defined, no-any-return]

    class Plain(metaclass=Meta):
        m = 3

    made = _of(lambda s: len(s.c), c=Plain)
    made.told = {"value": setter(Plain, "m", 4)}
    return made


@row
def getattr_appears() -> Changes:
    class Plain:
        pass

    made = _of(lambda s: getattr(s.p, "n", 3), p=Plain())
    made.told = {"__getattr__": setter(Plain, "__getattr__", lambda self, name: 5)}
    return made


@row
def getattribute_appears() -> Changes:
    class Plain:
        n = 3

    made = _of(lambda s: s.p.n, p=Plain())
    made.told = {"__getattribute__": setter(Plain, "__getattribute__", lambda self, name: 5)}
    return made


@row
def operator_appears() -> Changes:
    class Plain:
        def __radd__(self, other: Any) -> int:
            return 4

    class Left:
        pass

    made = _of(lambda s: s.left + s.p, p=Plain(), left=Left())
    made.told = {"__add__": setter(Left, "__add__", lambda self, other: 5)}
    return made


@row
def reflected_operator_of_a_subclass_appears() -> Changes:
    class One:
        def __add__(self, other: Any) -> int:
            return 4

        def __radd__(self, other: Any) -> int:
            return 6

    class Two(One):
        pass

    made = _of(lambda s: s.one + s.two, one=One(), two=Two())
    made.told = {"__radd__": setter(Two, "__radd__", lambda self, other: 5)}
    return made


@row
def comparison_appears() -> Changes:
    class Plain:
        pass

    made = _of(lambda s: 2 if s.p == 3 else 5, p=Plain())
    made.told = {"__eq__": setter(Plain, "__eq__", lambda self, other: True)}
    return made


@row
def comparison_of_two_appears() -> Changes:
    class Plain:
        pass

    made = _of(lambda s: 2 if s.p == s.q else 5, p=Plain(), q=Plain())
    made.told = {"__eq__": setter(Plain, "__eq__", lambda self, other: True)}
    return made


@row
def contains_appears() -> Changes:
    class Plain:
        def __iter__(self) -> Any:
            return iter([1, 2])

    made = _of(lambda s: 2 if 1 in s.p else 5, p=Plain())
    made.told = {"__contains__": setter(Plain, "__contains__", lambda self, other: False)}
    return made


@row
def iter_appears() -> Changes:
    class Plain:
        def __getitem__(self, i: int) -> int:
            if i > 2:
                raise IndexError
            return i

    made = _of(lambda s: sum(s.p), p=Plain())
    made.told = {"__iter__": setter(Plain, "__iter__", lambda self: iter([9]))}
    return made


@row
def len_decides_the_truth_until_bool_appears() -> Changes:
    class Plain:
        def __len__(self) -> int:
            return 3

    made = _of(lambda s: 2 if s.p else 5, p=Plain())
    made.told = {"__bool__": setter(Plain, "__bool__", lambda self: False)}
    return made


@row
def init_appears() -> Changes:
    class Plain:
        n = 3

    made = _of(lambda s: s.c().n, c=Plain)
    made.told = {"__init__": setter(Plain, "__init__", lambda self: setattr(self, "n", 5))}
    return made


@row
def new_appears() -> Changes:
    class Plain:
        n = 3

    made = _of(lambda s: s.c().n, c=Plain)
    made.told = {"__new__": setter(Plain, "__new__", lambda cls: Box(n=5))}
    return made


@row
def setattr_appears() -> Changes:
    class Plain:
        def __init__(self) -> None:
            self.n = 3

    made = _of(lambda s: s.c().n, c=Plain)
    made.told = {"__setattr__": setter(Plain, "__setattr__", lambda self, k, v: object.__setattr__(self, k, v + 1))}
    return made


@row
def class_attribute_written_over() -> Changes:
    class Plain:
        def __init__(self) -> None:
            self.n = 3

    made = _of(lambda s: s.c().n, c=Plain)
    made.told = {"property": setter(Plain, "n", property(lambda self: 5, lambda self, value: None))}
    return made


@row
def class_getitem() -> Changes:
    class Plain:
        n = 3

        def __class_getitem__(cls, key: int) -> int:
            return cls.n + key

    made = _of(lambda s: s.c[2], c=Plain)
    made.told = {"value": setter(Plain, "n", 4)}
    return made


@row
def init_subclass() -> Changes:
    class Base:
        n = 3

        def __init_subclass__(cls) -> None:
            cls.m = cls.n + 1  # type: ignore[attr-defined]

    def f(s: Any) -> int:
        class Sub(s.c):  # type: ignore[name-defined, misc]
            pass

        return Sub.m  # type: ignore[no-any-return]

    made = _of(f, c=Base)
    made.told = {"value": setter(Base, "n", 4)}
    return made
