"""The facts about a size that differs between the sides of a branch: it is between the two."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import torch

from dynamo_lite.control_flow.facts import all_facts_of
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.states import Side
from dynamo_lite.symbolic_shapes import Origin
from dynamo_lite.symbolic_shapes.errors import ContradictoryFacts
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import not_


def note(
    tracer: Forking,
    predicate: Any,
    sides: tuple[Side, Side],
    one: torch.Tensor,
    other: torch.Tensor,
    result: torch.Tensor,
) -> None:
    """Make facts, and assertions of the program, of the sizes of a branch's result."""
    env = tracer.recorder.env
    if env is None:
        return
    for a, b, size in zip(one.shape, other.shape, result.shape):
        if type(size) is not torch.SymInt or size.node.has_hint() or size.node.maybe_as_int() is not None:
            continue
        if not _is_its_own(env, size, a, b):
            _note_size(tracer, predicate, sides, a, b, size)


def _is_its_own(env: Any, size: Any, *sizes: Any) -> bool:
    """Whether a size is the one that a side has."""
    return any(type(other) is torch.SymInt and env.unwrap(other) is env.unwrap(size) for other in sizes)


def _note_size(tracer: Forking, predicate: Any, sides: tuple[Side, Side], a: Any, b: Any, size: Any) -> None:
    env: Any = tracer.recorder.env
    low, high = _range(env, a, predicate, True)
    other_low, other_high = _range(env, b, predicate, False)
    if min(low, other_low) > 0:
        _check(tracer, size >= min(low, other_low))
    if max(high, other_high) < math.inf:
        _check(tracer, size <= max(high, other_high))
    known = sides[0].symbols
    for (less, of_less), (more, of_more) in permutations(zip((a, b), sides)):
        if type(less) is type(more) is int:
            continue
        if type(less) is not int and symbols_of(env.unwrap(less)) <= known and _holds(tracer, of_more, less, more):
            _check(tracer, size >= less)
        if type(more) is not int and symbols_of(env.unwrap(more)) <= known and _holds(tracer, of_less, less, more):
            _check(tracer, size <= more)


def _holds(tracer: Forking, side: Side, less: Any, more: Any) -> bool:
    """Whether one size is at most the other by what is known on a side, where the result has the size of that side."""
    env: Any = tracer.recorder.env
    with all_facts_of(tracer, side):
        return env.decide_node(env.node_of(less <= more)) is True


def _check(tracer: Forking, holds: Any) -> None:
    """Make it a fact; in a sub-graph a node as well, for the operator around runs it again to find its results."""
    recorder = tracer.recorder
    recorder.guarded(torch._check, holds)
    if recorder.levels and type(holds) is torch.SymBool:
        args = recorder.lower_symbolic(holds), "a size is between those of the sides of a branch"
        recorder.call_node(torch.ops.aten._assert_scalar.default, args, {}, "_assert_scalar")


def _range(env: Any, size: Any, predicate: Any, truth: bool) -> tuple[float, float]:
    """The bounds of a side's size, there."""
    if type(size) is int:
        return size, size
    mark = env.core.snapshot()
    try:
        if type(predicate) is torch.SymBool:
            relation = env.unwrap(predicate)
            env.core.assume(relation if truth else not_(relation), Origin("user line", note="a side"), "axiom")
        low, high = env.core.bounds(env.unwrap(size))
        return low, high
    except ContradictoryFacts:  # this side is never taken
        return math.inf, -math.inf
    finally:
        env.core.rollback(mark)
