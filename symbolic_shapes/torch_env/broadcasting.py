"""Sizes that are broadcast, if some are symbols: the common shape, and eager's checks of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from dynamo_lite.symbolic_shapes.expressions.relations import eq, or_
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv


def broadcast(env: TorchShapeEnv, shapes: Sequence[Sequence[Any]]) -> list[Any] | None:
    """The common shape; sizes that are not plainly 1 are demanded to be equal. None where the example has others."""
    result: list[Any] = []
    for position in range(max(map(len, shapes)), 0, -1):
        found: Any = 1
        for shape in shapes:
            size = shape[-position] if position <= len(shape) else 1
            if type(size) is int and size == 1:
                continue
            if type(found) is int and found == 1:
                found = size
            elif env.unwrap(size) is not env.unwrap(found):
                a, b = env.unwrap(size), env.unwrap(found)
                hints = env.hint_of(a), env.hint_of(b)
                if (None in hints or 1 in hints) and (spread := _spread_to(env, size, found)) is not None:
                    found = spread  # `y - y[:1]` of a tensor whose size only run time knows, or a branch has chosen
                    continue
                # Unbacked sizes, and a 1 in the example, are torch's to decide.
                if env.hint_of(a) in (None, 1) or env.hint_of(a) != env.hint_of(b) or not env.demand_equal(a, b):
                    return None
        result.append(found)
    return result


def demand_equal_sizes(env: TorchShapeEnv, shapes: Sequence[Sequence[Any]]) -> None:
    """Records eager's check of shapes that are broadcast, if it is plain: kernels make it without a reason."""
    for position in range(max(map(len, shapes), default=0), 0, -1):
        sizes = [shape[-position] for shape in shapes if position <= len(shape)]
        symbolic = [env.unwrap(size) for size in sizes if not (type(size) is int and size in (1, -1))]
        for other in symbolic[1:]:
            first, hints = symbolic[0], (env.hint_of(symbolic[0]), env.hint_of(other))
            if first is not other and None not in hints and hints[0] == hints[1] != 1:
                env.demand_if_sure(first, other)


def demand_fits(env: TorchShapeEnv, target: Sequence[Any], shapes: Sequence[Sequence[Any]]) -> None:
    """Records eager's check that tensors of these shapes are broadcast to `target`, a tensor that is changed in place:
    each size is the target's, or 1. Whether the sizes are equal is not asked."""
    for shape in shapes:
        for own, size in zip(reversed(target), reversed(shape)):
            a, b = env.unwrap(own), env.unwrap(size)
            hints = env.hint_of(a), env.hint_of(b)
            if a is not b and None not in hints and (hints[1] == 1 or hints[0] == hints[1]):
                env.demand(or_(eq(a, b), eq(b, 1)))


def ask_for_borders(env: TorchShapeEnv, sizes: Sequence[Any]) -> None:
    """Demands of each size that it is 0, or 1, or neither, as in the example: an operator that raises an error in the
    example may broadcast a size of 1, and have nothing to do for one of 0."""
    with env.exactly():
        for number in sizes:
            size = env.unwrap(number) if isinstance(number, torch.SymInt) else None
            if size is not None and size.as_constant() is None and env.hint_of(size) is not None:
                for border in (0, 1):
                    bool(env.wrap(eq(size, border)))


def _spread_to(env: TorchShapeEnv, one: Any, other: Any) -> Any:
    """The size to which the other is broadcast, whatever they are at run time; None where that is not sure."""
    a, b = env.unwrap(one), env.unwrap(other)
    for wide, narrow, size in ((a, b, one), (b, a, other)):
        if env.memo.decide(or_(eq(wide, narrow), eq(narrow, 1))) is True:
            return size
    return None
