"""State of modules: attributes, containers, buffers, caches, globals, closures."""

from __future__ import annotations

import collections
import itertools
from typing import Any

import torch
from torch import nn

from dynamo_lite.lab.programs import Example, program, t

CALLS: dict[str, int] = {"n": 0}


@program("a counter on the module that forward reads")
def counter() -> Example:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.n = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.n += 1
            return x * self.n

    return Example(Counter(), (t(3),))


@program("a counter on the module that nothing reads")
def counter_unread() -> Example:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return x.relu()

    return Example(Counter(), (t(3),))


@program("a flag that the first call sets")
def first_call() -> Example:
    class First(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ready = False

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not self.ready:
                self.ready = True
                return x
            return x * 2

    return Example(First(), (t(3),))


@program("a buffer that is added to in place")
def buffer_in_place() -> Example:
    class Sum(nn.Module):
        total: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total.add_(x.detach())
            return x + self.total

    return Example(Sum(), (t(3),))


@program("a buffer that is replaced by a new tensor")
def buffer_replaced() -> Example:
    class Mean(nn.Module):
        mean: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.mean = 0.9 * self.mean + 0.1 * x
            return x - self.mean

    return Example(Mean(), (t(3),))


@program("two names of one buffer, one of them written")
def buffer_two_names() -> Example:
    class Tied(nn.Module):
        a: torch.Tensor
        b: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("a", torch.ones(3))
            self.register_buffer("b", self.a)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.a.mul_(2)
            return x + self.b

    return Example(Tied(), (t(3),))


@program("two buffers that change places")
def buffers_swapped() -> Example:
    class Swap(nn.Module):
        a: torch.Tensor
        b: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("a", torch.zeros(3))
            self.register_buffer("b", torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.a, self.b = self.b, self.a
            return x + self.a

    return Example(Swap(), (t(3),))


@program("a tensor attribute, no buffer, that holds the last input")
def last_input() -> Example:
    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last: torch.Tensor | None = None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x if self.last is None else x - self.last
            self.last = x
            return y

    return Example(Last(), (t(3),))


@program("a table that is made in the first call")
def table_once() -> Example:
    class Table(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table: torch.Tensor | None = None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.table is None:
                self.table = torch.arange(3.0)
            return x + self.table

    return Example(Table(), (t(3),))


@program("a cache by the size of the input")
def cache_by_size() -> Example:
    class Cache(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.seen: dict[int, torch.Tensor] = {}

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            n = x.shape[0]
            if n not in self.seen:
                self.seen[n] = x.detach() * 0 + len(self.seen)
            return x + self.seen[n]

    return Example(Cache(), (t(3),))


@program("a list on the module that grows")
def list_grows() -> Example:
    class Grows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.xs = [1]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.xs.append(len(self.xs))
            return x + sum(self.xs)

    return Example(Grows(), (t(3),))


@program("a queue of the last inputs")
def queue_of_inputs() -> Example:
    class Window(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.queue: collections.deque[torch.Tensor] = collections.deque(maxlen=2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.queue.append(x)
            return torch.stack(list(self.queue)).sum(0)

    return Example(Window(), (t(3),))


@program("an iterator that each call moves on")
def iterator() -> Example:
    class Ticks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ticks = itertools.cycle([1.0, 2.0, 3.0])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * next(self.ticks)

    return Example(Ticks(), (t(3),))


@program("a global dict that counts")
def global_counter() -> Example:
    CALLS["n"] = 0

    class Global(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            CALLS["n"] += 1
            return x * CALLS["n"]

    return Example(Global(), (t(3),))


@program("a closure that counts")
def closure() -> Example:
    n = 0

    def forward(x: torch.Tensor) -> torch.Tensor:
        nonlocal n
        n += 1
        return x + n

    return Example(forward, (t(3),))


@program("a default argument that grows")
def default_argument() -> Example:
    def forward(x: torch.Tensor, seen: Any = []) -> torch.Tensor:  # noqa: B006  this is what is tested
        seen.append(1)
        return x * len(seen)

    return Example(forward, (t(3),))


@program("batch norm in training mode")
def batch_norm() -> Example:
    return Example(nn.BatchNorm1d(3).train(), (t(4, 3),))


@program("dropout draws from torch's generator")
def dropout() -> Example:
    return Example(nn.Dropout(0.5).train(), (t(4, 3),))


@program("a parameter that forward changes under no_grad")
def parameter_written() -> Example:
    class Decay(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                self.w.mul_(0.5)
            return x * self.w.detach()

    return Example(Decay(), (t(3),))
