"""Slices of lists whose length is known at run time only: `pieces[1:]`, `rows[:-1]`, `rows[::2]`.

A slice of the items of a loop is a loop of its own, over a part of the tensor where that is possible. So it is counted
by an expression of the length, and needs no guard.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.parts import Added
from dynamo_lite.control_flow.lists.ragged import Lengths, Ragged
from dynamo_lite.control_flow.loops.counted import (
    Iterations,
    PieceIterations,
    RangeIterations,
    RepeatedIterations,
    RowIterations,
)
from dynamo_lite.symbolic_shapes.expressions.relations import ge
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute


class Span(NamedTuple):
    """The items `start, start + step, ...` (`count` of them), the last below `stop`. step: at least 1."""

    start: Any
    stop: Any
    step: int
    count: Any

    def of(self, tensor: torch.Tensor, dim: int = 0) -> torch.Tensor:
        """The rows of a tensor."""
        return tensor[(*[slice(None)] * dim, slice(self.start, self.stop, self.step))]


def span_of(tracer: Forking, key: slice, length: Any) -> Span | None:
    """The items of a list with `length` items that a slice takes (PySlice_AdjustIndices); None if it goes backwards, or
    if it is unknown whether its bounds are negative."""
    step = 1 if key.step is None else key.step
    if type(step) is not int or step < 1:
        return None
    start, stop = _bound(tracer, key.start, length, 0), _bound(tracer, key.stop, length, length)
    if start is None or stop is None:
        return None
    count = torch.sym_max(stop - start, 0)
    return Span(start, stop, step, count if step == 1 else (count + step - 1) // step)


def _bound(tracer: Forking, bound: Any, length: Any, default: Any) -> Any:
    if bound is None:
        return default
    if type(bound) not in (int, torch.SymInt):
        return None
    if is_known(tracer, bound >= 0):
        return torch.sym_min(bound, length) if not is_known(tracer, bound <= length) else bound
    if not is_known(tracer, bound < 0):
        return None
    return torch.sym_max(length + bound, 0)


def is_known(tracer: Forking, answer: Any) -> bool:
    """Whether a condition provably holds."""
    env = tracer.recorder.env
    return answer if type(answer) is bool else env is not None and env.decide_node(answer.node) is True


def sliced(tracer: Forking, iterations: Iterations, span: Span) -> Iterations:
    """The iterations of `iterations` that a slice takes. They do not compute their items."""
    if type(iterations) is RowIterations:
        return RowIterations(tracer, span.of(iterations.tensor, iterations.dim), iterations.dim)
    if type(iterations) is PieceIterations and span.step == 1:
        begin, end = (torch.sym_min(at * iterations.size, iterations.length) for at in (span.start, span.stop))
        whole = Span(begin, end, 1, None)
        return PieceIterations(tracer, whole.of(iterations.tensor, iterations.dim), iterations.size, iterations.dim)
    if type(iterations) is RangeIterations and type(iterations.step) is int:
        begin, end = (iterations.start + at * iterations.step for at in (span.start, span.stop))
        return RangeIterations(tracer, begin, end, iterations.step * span.step)
    if type(iterations) is RepeatedIterations:
        return RepeatedIterations(tracer, iterations.value, span.count, iterations.kind)
    return SlicedIterations(iterations, span)


class SlicedIterations(Iterations):
    """Some of the iterations of `of`."""

    def __init__(self, of: Iterations, span: Span) -> None:
        super().__init__(of.tracer, span.count)
        self.of, self.span = of, span

    def item(self, at: Any) -> Any:
        return self.of.item(self.span.start + at * self.span.step)

    def relations(self, at: Any) -> Iterator[Any]:
        yield from super().relations(at)
        yield from self.of.relations(self.span.start + at * self.span.step)

    def items(self, count: int) -> list[Any]:
        return [self.item(at) for at in range(count)]

    @property
    def kind(self) -> Any:
        return self.of.kind

    def rows(self) -> torch.Tensor:
        return self.span.of(self.of.rows())

    def tensors(self) -> list[torch.Tensor]:
        return self.of.tensors()

    def kept(self) -> Iterations:
        return SlicedIterations(self.of.kept(), self.span)


class RaggedIterations(Iterations):
    """The items of different lengths that the iterations of an earlier loop added to a list."""

    def __init__(self, tracer: Forking, rows: torch.Tensor, lengths: Lengths) -> None:
        super().__init__(tracer, rows.shape[0])
        self._rows, self.lengths = rows, lengths

    def item(self, at: Any) -> Any:
        return self._rows.select(0, at).narrow(self.lengths.ragged.dim, 0, self._length(at))

    def _length(self, at: Any) -> Any:
        env, ragged = self.tracer.recorder.env, self.lengths.ragged
        assert env is not None
        length = substitute(ragged.length, {env.unwrap(ragged.at).as_atom(): env.unwrap(at)})
        return env.wrap(env.core.simplify(length))

    def relations(self, at: Any) -> Iterator[Any]:
        yield from super().relations(at)
        env = self.tracer.recorder.env
        assert env is not None
        yield ge(env.unwrap(self._length(at)), 0)
        yield ge(env.unwrap(self._rows.shape[0]), 1)

    def tensors(self) -> list[torch.Tensor]:
        return [self._rows]


def iterations_of(tracer: Forking, part: Added) -> Iterations | None:
    """The iterations over what the iterations of a loop added, one item each, all of which are there; else None."""
    if len(part.tensors) != 1 or not part.is_certain or part.numbers is not None:
        return None
    lengths = part.lengths[0] if part.lengths else None
    if lengths is None:
        return RowIterations(tracer, part.tensors[0], 0)
    return RaggedIterations(tracer, part.tensors[0], lengths)


def sliced_added(tracer: Forking, part: Added, span: Span) -> Added | None:
    """The same items of one part of a list; None if their number is unknown."""
    if not part.is_certain:
        return None
    if len(part.tensors) > 1:
        return None if part.are_ragged else Added([span.of(part.rows(tracer).tensor)], numbers=part.numbers)
    rows = span.of(part.tensors[0])
    lengths = part.lengths[0] if part.lengths else None
    if lengths is None:
        return Added([rows], numbers=part.numbers)
    env, ragged = tracer.recorder.env, lengths.ragged
    if span.step != 1 or env is None:
        return None
    at = env.unwrap(ragged.at)
    length = substitute(ragged.length, {at.as_atom(): at + env.unwrap(span.start)})
    shorter = Ragged(ragged.dim, ragged.most, length, ragged.at, rows.shape[0], ragged.are_full)
    return Added([rows], lengths=[Lengths(shorter, span.of(lengths.own))])
