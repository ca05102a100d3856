"""The items of a `for` statement of a known length, as Iterations: `range(50)`, rows, numbers, and pairs of these.

The items of Iterations may be asked for by a number that only run time knows, so that the loop can be an operator.
Numbers of the data are among them: `for t, e in zip(x, chosen.tolist())`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import torch

from dynamo_lite.control_flow.emission import is_unknown
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.loops.counted import (
    MANY,
    EnumeratedIterations,
    Iterations,
    RangeIterations,
    RowIterations,
    TableIterations,
    ZippedIterations,
)
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


def is_fixed(iterations: Any) -> bool:
    """Whether it is Iterations of a known length."""
    return isinstance(iterations, Iterations) and type(iterations.count) is int


def iterations_of(tracer: Forking, value: Any) -> Iterations | None:
    """Return the iterations of a loop over `value`; None if they are few, or of other things."""
    if not _is_long(value):
        return None
    if is_tensor(value):
        return RowIterations(tracer, value, 0)
    if type(value) is range:
        return RangeIterations(tracer, value.start, value.stop, value.step)
    return TableIterations(tracer, value) if _are_numbers(value) else None


def pairs_of(tracer: Forking, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Iterations | None:
    """Return the iterations of a loop over `enumerate(value)` or `zip(value, value)`."""
    make = _PAIRS.get(fn)
    if make is None or not args or kwargs or not all(map(_is_long, args)):
        return None
    if not all(is_tensor(value) or type(value) is range or _are_numbers(value) for value in args):
        return None
    parts = [iterations_of(tracer, value) for value in args]
    return make(parts)


def _zipped(parts: list[Any]) -> Iterations:
    return ZippedIterations(parts)


def _numbered(parts: list[Any]) -> Iterations | None:
    return EnumeratedIterations(parts[0], 0) if len(parts) == 1 else None


_PAIRS: dict[Any, Callable[[list[Any]], Iterations | None]] = {builtins.zip: _zipped, builtins.enumerate: _numbered}


def _is_long(value: Any) -> bool:
    if is_tensor(value):
        return value.dim() > 0 and type(value.shape[0]) is int and value.shape[0] >= MANY
    return type(value) in (range, list, tuple) and len(value) >= MANY


def _are_numbers(values: Sequence[Any]) -> bool:
    """Whether they are ints, constants or of the data, or floats, that fit into the items of a tensor."""
    kinds = set(map(type, values))
    if kinds == {float}:
        return True
    return kinds <= {int, torch.SymInt} and all(
        -(2**63) <= value < 2**63 if type(value) is int else is_unknown(value) for value in values
    )
