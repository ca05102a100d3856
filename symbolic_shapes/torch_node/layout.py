"""Properties of memory layout (contiguous, channels last, dense) as propositions over sizes and strides.

As in torch/fx/experimental/sym_node.py; sizes and strides are `Int`s, innermost dimension last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.expr import Int, as_int
from dynamo_lite.symbolic_shapes.expressions.piecewise import function, maximum
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, TRUE, Bool, and_, eq, ge, ne, or_
from dynamo_lite.symbolic_shapes.torch_node.sympy_functions import NON_OVERLAPPING


def contiguous(sizes: list[Int], strides: list[Int], order: Iterable[int]) -> Bool:
    """Each stride is the product of the sizes inside it (a size of 1 may have any); or there is no element."""
    expected: Int = as_int(1)
    parts = []
    for d in order:
        if strides[d] is not expected:
            parts.append(or_(eq(sizes[d], 1), eq(strides[d], expected)))
        expected = expected * sizes[d]
    dense = and_(*parts)
    return dense if dense is TRUE else or_(dense, *(eq(size, 0) for size in sizes))


def channels_last_strides(sizes: list[Int], strides: list[Int], order: tuple[int, ...]) -> Bool:
    """Strides grow in the order of channels last, without being ambiguous (c10/core/MemoryFormat.h)."""
    if len(sizes) != len(order):
        return FALSE
    least: Int = as_int(0)
    parts = [ne(strides[1], 0)]
    for d in order:
        parts += [ne(sizes[d], 0), ge(strides[d], least)]
        if d == 0:
            parts.append(ne(least, strides[1]))
        least = strides[d] * maximum(sizes[d], 1)
    return and_(*parts)


CHANNELS_LAST_2D = (1, 3, 2, 0)
CHANNELS_LAST_3D = (1, 4, 3, 2, 0)


def _in_order(order: tuple[int, ...]) -> Callable[[list[Int], list[Int]], Bool]:
    return lambda sizes, strides: contiguous(sizes, strides, order) if len(sizes) == len(order) else FALSE


QUESTIONS: dict[str, Callable[[list[Int], list[Int]], Any]] = {
    "is_contiguous": lambda sizes, strides: contiguous(sizes, strides, range(len(sizes) - 1, -1, -1)),
    "is_channels_last_contiguous_2d": _in_order(CHANNELS_LAST_2D),
    "is_channels_last_contiguous_3d": _in_order(CHANNELS_LAST_3D),
    "is_channels_last_strides_2d": lambda sizes, strides: channels_last_strides(sizes, strides, CHANNELS_LAST_2D),
    "is_channels_last_strides_3d": lambda sizes, strides: channels_last_strides(sizes, strides, CHANNELS_LAST_3D),
    "is_non_overlapping_and_dense_indicator": lambda sizes, strides: function(NON_OVERLAPPING, *sizes, *strides),
}
"""Method of SymNode -> the proposition (the last one: an integer, 1 or 0)."""
