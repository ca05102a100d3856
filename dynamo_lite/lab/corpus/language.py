"""The language: classes, generators, exceptions, comprehensions, matching, standard library."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from collections.abc import Generator
from typing import Any, NamedTuple

import torch
from torch import nn

from dynamo_lite.lab.programs import Example, program, t


@program("a generator with send and a finally block")
def generator() -> Example:
    def weights(log: list[int]) -> Generator[float]:
        try:
            scale = 1.0
            while True:
                scale *= 2
                yield scale
        finally:
            log.append(1)

    def forward(x: torch.Tensor) -> torch.Tensor:
        log: list[int] = []
        each = weights(log)
        y = x * next(each) + x * next(each)
        each.close()
        return y + len(log)

    return Example(forward, (t(3),))


@program("an exception that forward raises and catches")
def caught() -> Example:
    def pick(table: dict[str, float], name: str) -> float:
        try:
            return table[name]
        except KeyError as error:
            return float(len(str(error)))
        finally:
            table["last"] = 1.0

    def forward(x: torch.Tensor) -> torch.Tensor:
        table = {"a": 2.0}
        return x * pick(table, "b") + table["last"]

    return Example(forward, (t(3),))


@program("an operator's error that forward catches, by the shape of a later call")
def shape_error_caught() -> Example:
    def forward(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        try:
            return x + y
        except RuntimeError:
            return x * 2

    return Example(forward, (t(3), t(3)), also=[((t(3), t(4)), {})])


@program("match on structure")
def match_statement() -> Example:
    def forward(x: torch.Tensor, how: Any) -> torch.Tensor:
        match how:
            case {"scale": float(s), **rest}:
                return x * s + len(rest)
            case [first, *_]:
                return x + first
            case _:
                return x

    return Example(forward, (t(3), {"scale": 2.0, "n": 1}))


@program("a dataclass with a property and __post_init__")
def dataclass() -> Example:
    @dataclasses.dataclass
    class Pair:
        a: torch.Tensor
        b: float = 0.0

        def __post_init__(self) -> None:
            self.b = self.b or 3.0

        @property
        def scaled(self) -> torch.Tensor:
            return self.a * self.b

    return Example(lambda x: Pair(x).scaled + Pair(x, 1.0).scaled, (t(3),))


@program("operators of a class, and super()")
def operators() -> Example:
    class Base:
        def __init__(self, value: torch.Tensor) -> None:
            self.value = value

        def __add__(self, other: Base) -> Base:
            return type(self)(self.value + other.value)

    class Doubled(Base):
        def __add__(self, other: Base) -> Base:
            found = super().__add__(other)
            found.value = found.value * 2
            return found

    return Example(lambda x: (Doubled(x) + Base(x)).value, (t(3),))


@program("a context manager that swallows an exception")
def context_manager() -> Example:
    class Swallow:
        def __enter__(self) -> Swallow:
            self.seen = 0
            return self

        def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
            self.seen = 1 if kind is ValueError else 2
            return True

    def forward(x: torch.Tensor) -> torch.Tensor:
        with Swallow() as guard:
            raise ValueError
        return x * guard.seen

    return Example(forward, (t(3),))


@program("a decorator, functools.partial and reduce")
def functional() -> Example:
    def twice(fn: Any) -> Any:
        @functools.wraps(fn)
        def inner(*args: Any) -> Any:
            return fn(fn(*args), *args[1:])

        return inner

    @twice
    def shift(x: torch.Tensor, by: float) -> torch.Tensor:
        return x + by

    def forward(x: torch.Tensor) -> torch.Tensor:
        both = functools.partial(shift, by=2.0) if False else functools.partial(lambda v, by: shift(v, by), by=2.0)
        return functools.reduce(lambda a, b: a * b, [both(x), x, x.sin()])

    return Example(forward, (t(3),))


@program("closures made in a loop, bound late")
def late_binding() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        late = [lambda v: v * i for i in range(3)]  # noqa: B023  this is what is tested
        early = [lambda v, i=i: v * i for i in range(3)]
        return sum(f(x) for f in late) + sum(f(x) for f in early)

    return Example(forward, (t(3),))


@program("a dict's order of keys decides")
def key_order() -> Example:
    def forward(parts: dict[str, torch.Tensor]) -> torch.Tensor:
        return torch.cat(list(parts.values()))

    return Example(forward, ({"a": t(1), "b": t(2)},), also=[(({"b": t(2), "a": t(1)},), {})])


@program("math on Python floats, formatted into a key")
def formatted() -> Example:
    def forward(x: torch.Tensor, f: float) -> torch.Tensor:
        table = {"0.50": 1.0, "0.71": 2.0}
        return x * table[f"{math.sqrt(f):.2f}"]

    return Example(forward, (t(3), 0.5), also=[((t(3), 0.25), {})])


@program("a set of strings, sorted, and a walrus")
def sets() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        names = {"b", "a", "c"} - {"c"}
        return x * (n := len(names)) + sum(ord(c) for c in sorted(names)) + n

    return Example(forward, (t(3),))


@program("getattr by name, setattr on a local object, __slots__")
def attributes() -> Example:
    class Slotted:
        __slots__ = ("a", "b")
        a: torch.Tensor
        b: torch.Tensor

    def forward(x: torch.Tensor) -> torch.Tensor:
        box = Slotted()
        for name in ("a", "b"):
            setattr(box, name, x + ord(name))
        del box.a
        return getattr(box, "a", x) * box.b

    return Example(forward, (t(3),))


@program("an exit stack, unwound in reverse")
def exit_stack() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        log: list[float] = []
        with contextlib.ExitStack() as stack:
            stack.callback(log.append, 1.0)
            stack.callback(log.append, 2.0)
        return x * log[0] + log[1]

    return Example(forward, (t(3),))


class Both(NamedTuple):
    x: torch.Tensor
    n: int


@program("a named tuple in and out")
def named_tuple() -> Example:
    return Example(lambda both: both._replace(x=both.x * both.n), (Both(t(3), 2),))


@program("a program that raises an error of its own for some arguments")
def own_error() -> Example:
    class Checked(nn.Module):
        def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
            if n < 0:
                raise ValueError("negative")
            return x * n

    return Example(Checked(), (t(3), 2), also=[((t(3), -1), {})])
