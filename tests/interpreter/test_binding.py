"""Argument binding: random signatures and calls, against CPython."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_lite.interpreter import interpret

NAMES = ("a", "b", "c", "d")


@st.composite
def signatures(draw: st.DrawFn) -> str:
    """The text of a parameter list over NAMES, with every kind of parameter."""
    count = draw(st.integers(0, len(NAMES)))
    positional_only = draw(st.integers(0, count))
    positional = draw(st.integers(positional_only, count))
    first_default = draw(st.integers(0, positional))
    parts = []
    for index, name in enumerate(NAMES[:count]):
        if index == positional:
            parts.append(draw(st.sampled_from(["*", "*rest"])))
        has_default = first_default <= index < positional or (index >= positional and draw(st.booleans()))
        parts.append(f"{name}={index}" if has_default else name)
        if index + 1 == positional_only:
            parts.append("/")
    if positional == count and draw(st.booleans()):
        parts.append("*rest")
    if draw(st.booleans()):
        parts.append("**more")
    return ", ".join(parts)


def outcome(call: Any) -> tuple[str, Any]:
    try:
        return "value", call()
    except TypeError as error:
        return "TypeError", str(error)


@settings(max_examples=300, deadline=None)
@given(
    signature=signatures(),
    args=st.lists(st.integers(10, 19), max_size=5),
    kwargs=st.dictionaries(st.sampled_from([*NAMES, "e", "aa"]), st.integers(20, 29), max_size=4),
)
def test_binding_is_that_of_cpython(signature: str, args: list[int], kwargs: dict[str, int]) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def f({signature}): return dict(locals())\ndef call(args, kwargs): return f(*args, **kwargs)", namespace)
    expected = outcome(lambda: namespace["call"](args, kwargs))
    assert outcome(lambda: interpret(namespace["call"], args, kwargs)) == expected


def test_defaults_and_closures_are_those_of_the_moment() -> None:
    """A function's defaults, keyword defaults, name and code may be replaced between calls."""

    def program() -> list[Any]:
        cell = 1

        def f(a: int = 1, *, b: int = 2) -> tuple[int, int, int]:
            return a, b, cell

        out: list[Any] = [f()]
        f.__defaults__ = (10,)
        f.__kwdefaults__ = {"b": 20}
        out.append(f())
        cell = 3
        out.append(f())
        f.__defaults__ = None
        f.__qualname__ = "renamed"
        try:
            f()
        except TypeError as error:
            out.append(str(error))

        def g(a: int, *, b: int) -> tuple[str, int, int, int]:
            return "g", a, b, cell

        f.__code__ = g.__code__
        out.append(f(1))
        return out

    assert interpret(program) == program()


def test_arguments_that_are_cells() -> None:
    def program() -> list[Any]:
        def f(a: int, *rest: int, **more: int) -> Any:
            return lambda: (a, rest, more)

        return [f(1, 2, x=3)(), f(4)()]

    assert interpret(program) == program()
