"""Namespaces of classes: attributes, mapping proxies, names, methods."""

from __future__ import annotations

import types
from typing import Any

from tests.hostile.changes import Changes, Module, item, row, setter


def _of(forward: Any, **more: Any) -> Changes:
    return Changes(Module(lambda s, x: x * forward(s), **more), {})


@row
def mapping_proxy_of_a_class() -> Changes:
    class Plain:
        n = 3

    made = _of(lambda s: type(s.a).__dict__["n"], a=Plain())
    made.told = {"value": setter(Plain, "n", 4)}
    made.held = {"another": setter(Plain, "m", 4)}
    return made


@row
def vars_of_a_class() -> Changes:
    class Plain:
        n = 3

    made = _of(lambda s: vars(s.c)["n"], c=Plain)
    made.told = {"value": setter(Plain, "n", 4)}
    return made


@row
def get_of_a_mapping_proxy() -> Changes:
    class Plain:
        n = 3

    made = _of(lambda s: vars(s.c).get("m", 1), c=Plain)
    made.told = {"it appears": setter(Plain, "m", 4)}
    return made


@row
def in_a_mapping_proxy() -> Changes:
    class Plain:
        n = 3

    made = _of(lambda s: 2 if "m" in s.c.__dict__ else 3, c=Plain)
    made.told = {"it appears": setter(Plain, "m", 4)}
    return made


@row
def items_of_a_mapping_proxy() -> Changes:
    class Plain:
        n = 3

    made = _of(lambda s: sum(v for v in vars(s.c).values() if type(v) is int and v < 9), c=Plain)
    made.told = {"value": setter(Plain, "n", 4), "it appears": setter(Plain, "m", 4)}
    return made


@row
def length_of_a_mapping_proxy() -> Changes:
    class Plain:
        n = 3

    made = _of(lambda s: len(vars(s.c)), c=Plain)
    made.told = {"it appears": setter(Plain, "m", 4)}
    return made


@row
def mapping_proxy_of_a_dict() -> Changes:
    inner = {"n": 3}
    made = _of(lambda s: s.p["n"], p=types.MappingProxyType(inner))
    made.told = {"value": item(inner, "n", 4)}
    return made


@row
def get_of_a_mapping_proxy_of_a_dict() -> Changes:
    inner = {"n": 3}
    made = _of(lambda s: s.p.get("m", 1) + len(s.p), p=types.MappingProxyType(inner))
    made.told = {"it appears": item(inner, "m", 4)}
    return made


@row
def nested_mapping_proxy_of_a_dict() -> Changes:
    inner = {"n": [3]}
    made = _of(lambda s: s.p["n"][0], p=types.MappingProxyType(inner))
    made.told = {"value": item(inner["n"], 0, 4)}
    return made


@row
def unpacked_mapping_proxy() -> Changes:
    inner = {"n": 3}
    made = _of(lambda s: sum({**s.p}.values()), p=types.MappingProxyType(inner))
    made.told = {"it appears": item(inner, "m", 4)}
    return made


@row
def name_of_a_class() -> Changes:
    class Plain:
        pass

    made = _of(lambda s: len(s.c.__name__), c=Plain)
    made.told = {"name": setter(Plain, "__name__", "Another")}
    return made


@row
def name_of_a_class_with_a_metaclass() -> Changes:
    class Meta(type):
        pass

    class Plain(metaclass=Meta):
        pass

    made = _of(lambda s: len(s.c.__name__) + len(type(s.c).__name__), c=Plain)
    made.told = {"name": setter(Plain, "__name__", "Another"), "of the metaclass": setter(Meta, "__name__", "M")}
    return made


@row
def annotations_of_a_class() -> Changes:
    class Plain:
        a: int

    made = _of(lambda s: len(s.c.__annotations__), c=Plain)
    made.told = {"one more": item(Plain.__annotations__, "b", int)}
    return made


@row
def docstring_of_a_class() -> Changes:
    class Plain:
        """abc"""

    made = _of(lambda s: len(s.c.__doc__) + len(s.c.__module__), c=Plain)
    made.told = {"doc": setter(Plain, "__doc__", "a"), "module": setter(Plain, "__module__", "m")}
    return made


@row
def method_of_an_instance_patched() -> Changes:
    class Plain:
        def f(self) -> int:
            return 3

    made = _of(lambda s: s.p.f(), p=Plain())
    made.told = {
        "instance": setter(made.program.held.p, "f", lambda: 5),
        "class": setter(Plain, "f", lambda self: 6),
        "code": setter(Plain.f, "__code__", (lambda self: 7).__code__),
        "class of the instance": setter(made.program.held.p, "__class__", type("Sub", (Plain,), {"f": lambda self: 8})),
    }
    return made


@row
def class_method_and_static_method() -> Changes:
    class Plain:
        n = 3

        @classmethod
        def f(cls) -> int:
            return cls.n

        @staticmethod
        def g() -> int:
            return 2

    made = _of(lambda s: s.p.f() + s.c.g(), p=Plain(), c=Plain)
    made.told = {"value": setter(Plain, "n", 4), "static": setter(Plain, "g", staticmethod(lambda: 5))}
    return made
