"""Iterables of a `for` statement whose length is known at run time only: a range, rows of a tensor, pairs of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import torch

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.symbolic_shapes.expressions.relations import ge, lt
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC

MANY = 10
"""From so many iterations on a loop is not unrolled, if it need not be."""


def is_open_size(value: Any) -> bool:
    """Whether a number is a symbol: of the input's sizes, or one that only run time knows."""
    return type(value) is torch.SymInt and value.node.maybe_as_int() is None


class Iterations:
    """`count` iterations, numbered from 0, and the item of each. Its iterator is the next instruction's."""

    def __init__(self, tracer: Forking, count: Any) -> None:
        self.tracer, self.count = tracer, count

    def item(self, at: Any) -> Any:
        """Return the item of iteration number `at`."""
        raise NotImplementedError

    @property
    def computes(self) -> bool:
        """Whether the program computes the items, so that each may be taken only once, in its own iteration."""
        return False

    def relations(self, at: Any) -> Iterator[Any]:
        """Yield the facts about an iteration's number, and values computed from it, that hold during the iteration."""
        yield ge(_unwrapped(self.tracer, at), 0)
        yield lt(_unwrapped(self.tracer, at), _unwrapped(self.tracer, self.count))

    def items(self, count: int) -> list[Any]:
        """All items, of a loop that is unrolled."""
        return [self.item(at) for at in range(count)]

    def rest(self, count: int, passed: int) -> Any:
        """Return the items of the later iterations; an iterator if the program computes them."""
        return self.items(count)[passed:]

    @property
    def kind(self) -> Any:
        """The kind of the items: int, float, None for tensors of one shape; another object for anything else."""
        return "other"

    def rows(self) -> torch.Tensor:
        """The items as the rows of a tensor, if they are numbers or tensors."""
        raise NotImplementedError

    def backwards(self) -> Iterations | None:
        """`reversed()` of it; None if it has none."""
        return None

    def tensors(self) -> list[torch.Tensor]:
        """The tensors of which items are views."""
        return []

    def lists(self) -> list[tuple[Sequence[Any], Sequence[Any]]]:
        """The program's lists of numbers that it goes over, each with its items at the head of the loop."""
        return []

    def kept(self) -> Iterations:
        """Return the same for later: later changes to the shape of a tensor do not affect its items."""
        return self

    def __iter__(self) -> Counter:
        return Counter(self)


class RangeIterations(Iterations):
    """range(start, stop, step), with a step of 1, -1, 2, ... or a size that is at least 1."""

    def __init__(self, tracer: Forking, start: Any, stop: Any, step: Any) -> None:
        self.rises = type(step) is not int or step > 0
        if type(step) is int and abs(step) == 1:
            count = (stop - start) * step
        else:
            count = (stop - start + step - 1) // step if self.rises else (start - stop - step - 1) // -step
        if type(count) is torch.SymInt and not _is_known(tracer, count >= 0):
            count = torch.sym_max(count, 0)
        super().__init__(tracer, count)
        self.start, self.stop, self.step = start, stop, step

    def item(self, at: Any) -> Any:
        if type(self.step) is int and self.step == 1:
            return at if type(self.start) is int and self.start == 0 else self.start + at
        return self.start + at * self.step

    def relations(self, at: Any) -> Iterator[Any]:
        yield from super().relations(at)
        start, stop = _unwrapped(self.tracer, self.start), _unwrapped(self.tracer, self.stop)
        item = _unwrapped(self.tracer, self.item(at))
        if self.rises:
            yield ge(item, start)
            yield lt(item, stop)
        else:
            yield ge(start, item)
            yield lt(stop, item)

    @property
    def kind(self) -> Any:
        return int

    def rows(self) -> torch.Tensor:
        return torch.arange(self.count) * self.step + self.start

    def backwards(self) -> Iterations:
        if type(self.step) is not int or self.step != 1:
            return BackwardIterations(self)
        return RangeIterations(self.tracer, self.stop - 1, self.start - 1, -1)


class BackwardIterations(Iterations):
    """The items of `of` from the last to the first."""

    def __init__(self, of: Iterations) -> None:
        super().__init__(of.tracer, of.count)
        self.of = of

    def item(self, at: Any) -> Any:
        return self.of.item(self.count - 1 - at)

    def relations(self, at: Any) -> Iterator[Any]:
        yield from super().relations(at)
        yield from self.of.relations(self.count - 1 - at)

    def items(self, count: int) -> list[Any]:
        return self.of.items(count)[::-1]

    @property
    def kind(self) -> Any:
        return self.of.kind

    def rows(self) -> torch.Tensor:
        return self.of.rows().flip(0)

    def tensors(self) -> list[torch.Tensor]:
        return self.of.tensors()

    def kept(self) -> Iterations:
        return BackwardIterations(self.of.kept())

    def backwards(self) -> Iterations:
        return self.of


class RowIterations(Iterations):
    """The tensors of `tensor.unbind(dim)`."""

    def __init__(self, tracer: Forking, tensor: torch.Tensor, dim: int) -> None:
        super().__init__(tracer, tensor.shape[dim])
        self.tensor, self.dim = tensor, dim

    def item(self, at: Any) -> Any:
        return self.tensor.select(self.dim, at)

    def items(self, count: int) -> list[Any]:
        return list(self.tensor.unbind(self.dim))[:count]

    @property
    def kind(self) -> Any:
        return None

    def rows(self) -> torch.Tensor:
        return self.tensor.movedim(self.dim, 0)

    def tensors(self) -> list[torch.Tensor]:
        return [self.tensor]

    def kept(self) -> Iterations:
        return RowIterations(self.tracer, self.tensor.view_as(self.tensor), self.dim)

    def backwards(self) -> Iterations:
        return BackwardIterations(self)


class PieceIterations(Iterations):
    """The tensors of `tensor.split(size, dim)`, the last of which may be shorter. size: at least 1."""

    def __init__(self, tracer: Forking, tensor: torch.Tensor, size: Any, dim: int) -> None:
        self.tensor, self.size, self.dim, self.length = tensor, size, dim, tensor.shape[dim]
        super().__init__(tracer, (self.length + size - 1) // size)

    def item(self, at: Any) -> Any:
        begin = at * self.size
        return self.tensor.narrow(self.dim, begin, torch.sym_min(self.size, self.length - begin))

    def relations(self, at: Any) -> Iterator[Any]:
        yield from super().relations(at)
        yield lt(_unwrapped(self.tracer, at * self.size), _unwrapped(self.tracer, self.length))

    def items(self, count: int) -> list[Any]:
        return list(self.tensor.split(self.size, self.dim))[:count]  # a tensor without rows has one empty piece

    @property
    def kind(self) -> Any:
        return None

    def rows(self) -> torch.Tensor:
        self.tracer.refuse("branch-unsupported", why="pieces of a tensor, which may differ in length, are used as rows")

    def tensors(self) -> list[torch.Tensor]:
        return [self.tensor]

    def kept(self) -> Iterations:
        return PieceIterations(self.tracer, self.tensor.view_as(self.tensor), self.size, self.dim)

    def backwards(self) -> Iterations:
        return BackwardIterations(self)


class RepeatedIterations(Iterations):
    """[value] * count"""

    def __init__(self, tracer: Forking, value: Any, count: Any, kind: Any) -> None:
        super().__init__(tracer, count)
        self.value, self._kind = value, kind

    def item(self, at: Any) -> Any:
        return self.value

    @property
    def kind(self) -> Any:
        return self._kind

    def rows(self) -> torch.Tensor:
        if self.kind is None:
            return self.value.unsqueeze(0).expand(self.count, *self.value.shape)
        return torch.full((self.count,), self.value, dtype=torch.int64 if self.kind is int else torch.float64)

    def backwards(self) -> Iterations:
        return self


def _numbered(items: Any, number: Any) -> Iterator[Any]:
    """enumerate(items, number), to be interpreted."""
    for item in items:
        yield number, item
        number = number + 1


class EnumeratedIterations(Iterations):
    """enumerate(of, start)."""

    def __init__(self, of: Iterations, start: Any) -> None:
        super().__init__(of.tracer, of.count)
        self.of, self.start = of, start

    def item(self, at: Any) -> Any:
        number = at if type(self.start) is int and self.start == 0 else self.start + at
        return number, self.of.item(at)

    @property
    def computes(self) -> bool:
        return self.of.computes

    def relations(self, at: Any) -> Iterator[Any]:
        return self.of.relations(at)

    def items(self, count: int) -> list[Any]:
        return [(self.start + at, item) for at, item in enumerate(self.of.items(count))]

    def rest(self, count: int, passed: int) -> Any:
        if not self.computes:
            return super().rest(count, passed)
        numbered: Any = _numbered
        return self.tracer.vm.interpret_function(numbered, (self.of.rest(count, passed), self.start + passed))

    def tensors(self) -> list[torch.Tensor]:
        return self.of.tensors()

    def lists(self) -> list[tuple[Sequence[Any], Sequence[Any]]]:
        return self.of.lists()

    def kept(self) -> Iterations:
        return EnumeratedIterations(self.of.kept(), self.start)


class ZippedIterations(Iterations):
    """zip(*parts)."""

    def __init__(self, parts: Sequence[Iterations]) -> None:
        count = parts[0].count
        tracer = parts[0].tracer
        self.is_even = True  # whether all parts are known to have as many items
        for part in parts[1:]:
            if not _are_equal(tracer, count, part.count):
                count = torch.sym_min(count, part.count)
                self.is_even = False
        super().__init__(tracer, count)
        self.parts = parts

    def item(self, at: Any) -> Any:
        return tuple([part.item(at) for part in self.parts])

    @property
    def computes(self) -> bool:
        return any(part.computes for part in self.parts)

    def relations(self, at: Any) -> Iterator[Any]:
        yield from super().relations(at)
        for part in self.parts:
            yield from part.relations(at)

    def items(self, count: int) -> list[Any]:
        return list(zip(*[part.items(count) for part in self.parts]))

    def rest(self, count: int, passed: int) -> Any:
        rows = zip(*[part.rest(count, passed) for part in self.parts])
        return rows if self.computes else list(rows)

    def tensors(self) -> list[torch.Tensor]:
        return [tensor for part in self.parts for tensor in part.tensors()]

    def lists(self) -> list[tuple[Sequence[Any], Sequence[Any]]]:
        return [found for part in self.parts for found in part.lists()]

    def kept(self) -> Iterations:
        return ZippedIterations([part.kept() for part in self.parts])


class NeighbourIterations(Iterations):
    """itertools.pairwise(of)."""

    def __init__(self, of: Iterations) -> None:
        count = of.count - 1
        super().__init__(of.tracer, count if _is_known(of.tracer, count >= 0) else torch.sym_max(count, 0))
        self.of = of

    def item(self, at: Any) -> Any:
        return self.of.item(at), self.of.item(at + 1)

    def relations(self, at: Any) -> Iterator[Any]:
        yield from super().relations(at)
        yield from self.of.relations(at)
        yield from self.of.relations(at + 1)

    def items(self, count: int) -> list[Any]:
        return list(pairwise(self.of.items(count + 1)))

    def tensors(self) -> list[torch.Tensor]:
        return self.of.tensors()

    def lists(self) -> list[tuple[Sequence[Any], Sequence[Any]]]:
        return self.of.lists()

    def kept(self) -> Iterations:
        return NeighbourIterations(self.of.kept())


class UncountedIterations(Iterations):
    """The iterations of a loop that is run to count them. They have no items."""

    def __init__(self, tracer: Forking) -> None:
        super().__init__(tracer, None)

    def relations(self, at: Any) -> Iterator[Any]:
        yield ge(_unwrapped(self.tracer, at), 0)


class LaterIterations(Iterations):
    """All iterations of `of` except the first, which exists."""

    def __init__(self, of: Iterations) -> None:
        super().__init__(of.tracer, of.count - 1)
        self.of = of

    def item(self, at: Any) -> Any:
        return self.of.item(at + 1)

    def relations(self, at: Any) -> Iterator[Any]:
        yield from super().relations(at)
        yield from self.of.relations(at + 1)

    def rest(self, count: int, passed: int) -> Any:
        return self.of.rest(count + 1, passed + 1)

    def lists(self) -> list[tuple[Sequence[Any], Sequence[Any]]]:
        return self.of.lists()

    @property
    def computes(self) -> bool:
        return self.of.computes


class TableIterations(Iterations):
    """The items of a tuple or list of numbers: of ints, some of which may be of the data, or of floats."""

    def __init__(self, tracer: Forking, given: Sequence[Any]) -> None:
        super().__init__(tracer, len(given))
        self.given, self.values = given, tuple(given)
        kind = torch.float64 if type(given[0]) is float else torch.int64
        if any(type(value) is torch.SymInt for value in given):
            self.table = torch.stack([torch.full((), value, dtype=kind) for value in given])
        else:
            self.table = torch.tensor(self.values, dtype=kind).clone()  # not a constant: each iteration gets another

    def item(self, at: Any) -> Any:
        if type(at) is int:
            return self.values[at]
        return self.tracer.predicates.item(self.table.select(0, at))

    def items(self, count: int) -> list[Any]:
        return [*self.values[:count]]

    def lists(self) -> list[tuple[Sequence[Any], Sequence[Any]]]:
        return [(self.given, self.values)]


class Counter:
    """The iterator: `at` is the number of the next iteration."""

    def __init__(self, of: Iterations, at: int = 0) -> None:
        self.of, self.at = of, at

    def __iter__(self) -> Counter:
        return self

    def __next__(self) -> Any:
        self.of.tracer.refuse("data-dependent-value", what="a loop over range()")


def _unwrapped(tracer: Forking, number: Any) -> Any:
    assert tracer.recorder.env is not None
    return tracer.recorder.env.unwrap(number) if type(number) in SYMBOLIC else number


def _are_equal(tracer: Forking, one: Any, other: Any) -> bool:
    """Whether two sizes are provably equal."""
    assert tracer.recorder.env is not None
    return _is_known(tracer, one == other)


def _is_known(tracer: Forking, answer: Any) -> bool:
    """Whether a condition provably holds."""
    assert tracer.recorder.env is not None
    return answer if type(answer) is bool else tracer.recorder.env.decide_node(answer.node) is True
