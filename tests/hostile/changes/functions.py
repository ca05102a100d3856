"""State of functions: cells, defaults, code, attributes, wrappers, generators."""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from typing import Any

from tests.hostile.changes import Box, Changes, Module, item, row, setter


def _of(forward: Any, **more: Any) -> Changes:
    return Changes(Module(lambda s, x: x * forward(s), **more), {})


def _cell(fn: Any, name: str, value: Any) -> Any:
    cell = fn.__closure__[fn.__code__.co_freevars.index(name)]
    return setter(cell, "cell_contents", value)


@row
def cell_of_a_nested_function() -> Changes:
    n = 3

    def inner() -> int:
        return n

    def outer() -> int:
        return inner() + 1

    made = _of(lambda s: outer())
    made.told = {"value": _cell(inner, "n", 4), "function": _cell(outer, "inner", lambda: 9)}
    return made


@row
def cell_of_a_function_made_in_forward() -> Changes:
    n = 3

    def f(s: Any) -> int:
        def inner() -> int:
            return n

        return inner()

    made = _of(f)
    made.told = {"value": _cell(f, "n", 4)}
    return made


@row
def cell_holding_a_list() -> Changes:
    xs = [3]
    made = _of(lambda s: xs[0])
    made.told = {"item": item(xs, 0, 4)}
    return made


@row
def cell_through_a_decorator() -> Changes:
    def by(n: int) -> Any:
        def decorate(fn: Any) -> Any:
            @functools.wraps(fn)
            def wrapper() -> int:
                return fn() * n  # type: ignore[no-any-return]

            return wrapper

        return decorate

    @by(3)
    def two() -> int:
        return 2

    made = _of(lambda s: s.f(), f=two)
    made.told = {
        "value": _cell(two, "n", 4),
        "wrapped": _cell(two, "fn", lambda: 5),
        "code": setter(two.__wrapped__, "__code__", (lambda: 8).__code__),
    }
    made.held = {"__wrapped__": setter(two, "__wrapped__", None)}
    return made


@row
def contents_of_a_cell_read() -> Changes:
    n = 3

    def inner() -> int:
        return n

    made = _of(lambda s: s.f.__closure__[0].cell_contents, f=inner)
    made.told = {"value": _cell(inner, "n", 4)}
    return made


@row
def default_argument() -> Changes:
    def f(a: int = 3, *, b: int = 4) -> int:
        return a + b

    made = _of(lambda s: s.f(), f=f)
    made.told = {"default": setter(f, "__defaults__", (5,)), "keyword": item(f.__kwdefaults__, "b", 6)}
    return made


@row
def defaults_read() -> Changes:
    def f(a: int = 3, *, b: int = 4) -> int:
        return a + b

    made = _of(lambda s: s.f.__defaults__[0] + s.f.__kwdefaults__["b"], f=f)
    made.told = {"default": setter(f, "__defaults__", (5,)), "keyword": item(f.__kwdefaults__, "b", 6)}
    return made


@row
def mutable_default_argument() -> Changes:
    def f(a: Any = {"n": [3]}) -> Any:  # noqa: B006
        return a["n"][0]

    made = _of(lambda s: s.f(), f=f)
    made.told = {"item": item(f.__defaults__[0]["n"], 0, 5)}
    return made


@row
def default_that_is_passed() -> Changes:
    def f(a: int = 3) -> int:
        return a

    made = _of(lambda s: s.f(4), f=f)
    made.told = {"code": setter(f, "__code__", (lambda a: 9).__code__)}
    return made


@row
def code_replaced() -> Changes:
    def f() -> int:
        return 3

    made = _of(lambda s: s.f(), f=f)
    made.told = {"code": setter(f, "__code__", (lambda: 4).__code__)}
    return made


@row
def constants_of_a_code_read() -> Changes:
    def f() -> int:
        return 3

    made = _of(lambda s: s.f.__code__.co_argcount + 2, f=f)
    made.told = {"code": setter(f, "__code__", (lambda a: 4).__code__)}
    return made


@row
def attribute_of_a_function() -> Changes:
    def f() -> int:
        return 3

    f.n = 3  # type: ignore[attr-defined]
    made = _of(lambda s: s.f.n, f=f)
    made.told = {"value": setter(f, "n", 4)}
    return made


@row
def missing_attribute_of_a_function() -> Changes:
    def f() -> int:
        return 3

    made = _of(lambda s: getattr(s.f, "n", 3), f=f)
    made.told = {"it appears": setter(f, "n", 4)}
    return made


@row
def attribute_of_a_bound_method() -> Changes:
    class Plain:
        def f(self) -> int:
            return 3

    Plain.f.n = 3  # type: ignore[attr-defined]
    made = _of(lambda s: s.f.n, f=Plain().f)
    made.told = {"value": setter(Plain.f, "n", 4)}
    return made


@row
def name_of_a_function() -> Changes:
    def f() -> int:
        return 3

    made = _of(lambda s: len(s.f.__name__) + len(s.f.__qualname__) + len(s.f.__doc__ or ""), f=f)
    made.told = {
        "name": setter(f, "__name__", "longer"),
        "qualname": setter(f, "__qualname__", "longer"),
        "doc": setter(f, "__doc__", "longer"),
    }
    return made


@row
def annotations_of_a_function() -> Changes:
    def f(a: int) -> int:
        return 3

    made = _of(lambda s: len(s.f.__annotations__), f=f)
    made.told = {"one more": item(f.__annotations__, "b", int)}
    return made


@row
def global_of_a_function_of_another_module() -> Changes:
    space: dict[str, Any] = {"__name__": "made_up", "n": 3}
    exec("def f():\n    return n", space)
    made = _of(lambda s: s.f(), f=space["f"])
    made.told = {"value": item(space, "n", 4)}
    return made


@row
def globals_read() -> Changes:
    space: dict[str, Any] = {"__name__": "made_up", "n": 3}
    exec("def f():\n    return globals()['n'] + len([k for k in globals() if k == 'm'])", space)
    made = _of(lambda s: s.f(), f=space["f"])
    made.told = {"value": item(space, "n", 4), "it appears": item(space, "m", 4)}
    return made


@row
def builtins_replaced_for_a_function() -> Changes:
    space: dict[str, Any] = {"__name__": "made_up", "xs": [1, 2]}
    exec("def f():\n    return len(xs)", space)
    made = _of(lambda s: s.f(), f=space["f"])
    made.told = {"shadowed": item(space, "len", lambda xs: 9)}
    return made


@row
def eval_of_a_global() -> Changes:
    space: dict[str, Any] = {"__name__": "made_up", "n": 3}
    made = _of(lambda s: eval("n + 1", s.space), space=space)
    made.told = {"value": item(space, "n", 4)}
    return made


@row
def exec_of_a_text() -> Changes:
    def f(s: Any) -> int:
        space: dict[str, Any] = {}
        exec(s.text, space)
        return space["n"]  # type: ignore[no-any-return]

    made = _of(f, text="n = 3")
    made.told = {"text": setter(made.program.held, "text", "n = 4")}
    return made


@row
def method_bound_to_an_object() -> Changes:
    class Plain:
        n = 3

        def f(self) -> int:
            return self.n

    plain = Plain()
    made = _of(lambda s: s.f(), f=plain.f)
    made.told = {"state": setter(plain, "n", 4), "another": setter(made.program.held, "f", Plain().f.__func__)}
    return made


@row
def method_type_made() -> Changes:
    made = _of(lambda s: types.MethodType(s.f, s)(), f=lambda self: self.n, n=3)
    made.told = {"state": setter(made.program.held, "n", 4)}
    return made


@row
def bound_c_method() -> Changes:
    made = _of(lambda s: s.get("n"), get={"n": 3}.get)
    made.told = {"item": item(made.program.held.get.__self__, "n", 4)}
    return made


@row
def bound_c_method_of_a_list() -> Changes:
    made = _of(lambda s: s.count(3) + 1, count=[3, 3, 4].count)
    made.told = {"item": item(made.program.held.count.__self__, 0, 4)}
    return made


@row
def method_wrapper() -> Changes:
    xs = [3, 4]
    made = _of(lambda s: s.get(0) + s.size(), get=xs.__getitem__, size=xs.__len__)
    made.told = {"item": item(xs, 0, 5), "length": lambda: xs.append(1)}
    return made


@row
def cached_property() -> Changes:
    class Plain:
        m = 3

        @functools.cached_property
        def n(self) -> int:
            return self.m

    plain = Plain()
    plain.n  # noqa: B018
    made = _of(lambda s: s.p.n, p=plain)
    made.told = {"kept value": lambda: plain.__dict__.update(n=5)}
    made.held = {"where it came from": setter(plain, "m", 5)}
    return made


@row
def singledispatch() -> Changes:
    @functools.singledispatch
    def f(value: Any) -> int:
        return 3

    @f.register
    def _(value: str) -> int:
        return 4

    f(1)  # the first call fills a table of the classes that it was called with
    made = _of(lambda s: s.f(1), f=f)
    made.told = {"registration": lambda: f.register(int, lambda value: 5) and None}
    return made


@row
def context_manager_function() -> Changes:
    @contextlib.contextmanager
    def f(n: int = 3) -> Any:
        yield n

    def g(s: Any) -> Any:
        with s.f() as n:
            return n

    made = _of(g, f=f)
    made.told = {"default": setter(f.__wrapped__, "__defaults__", (5,))}
    return made


@row
def generator_function() -> Changes:
    def f(xs: Any) -> Any:
        yield from xs

    made = _of(lambda s: sum(s.f(s.xs)), f=f, xs=[1, 2])
    made.told = {"item": item(made.program.held.xs, 1, 5), "code": setter(f, "__code__", (lambda xs: [7]).__code__)}
    return made


@row
def cached_function() -> Changes:
    box = Box(n=3)

    @functools.lru_cache
    def f(k: int) -> int:
        return box.n * k

    def change() -> None:
        box.n = 4
        f.cache_clear()

    made = _of(lambda s: s.f(2), f=f)
    made.told = {"state": change}
    return made


@row
def dict_of_a_function() -> Changes:
    def held():
        return 2

    made = _of(lambda s: s.function.__dict__.get("n", 2), function=held)
    made.told = {"appears": setter(held, "n", 5)}
    made.held = {"another": setter(held, "m", 5)}
    return made


@row
def signature_that_a_function_tells() -> Changes:
    def held(a):
        return a

    def other(a, b):
        return a

    made = _of(lambda s: len(inspect.signature(s.function).parameters), function=held)
    made.told = {"signature": setter(held, "__signature__", inspect.signature(other))}
    made.told |= {"wrapped": setter(held, "__wrapped__", other)}
    return made
