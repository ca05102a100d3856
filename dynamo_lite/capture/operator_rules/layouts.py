"""In which layout torch puts a result (aten/src/ATen/TensorIterator.cpp), and the strides of a view."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import prod

import torch

from dynamo_lite.capture.operator_rules.operands import (
    Operand,
    Out,
    Sizes,
    channels_last_strides,
    contiguous_strides,
    is_contiguous,
    is_dense,
    laid_out,
    new_strided,
    strides_in_order,
)
from dynamo_lite.capture.operator_rules.sizes import for_layout, has, same


def is_settled(operand: Operand) -> bool:
    """Whether the strides are those of a new tensor with the dimensions in this order.

    For others (dimensions of one element, gaps) torch's kernels and their Python forms differ.
    """
    if operand.is_contiguous:
        return operand.stride == contiguous_strides(operand.shape)
    if operand.dim in (4, 5) and is_channels_last(operand):
        return operand.stride == channels_last_strides(operand.shape)
    return operand.stride == in_order_of(operand)


def in_order_of(operand: Operand) -> tuple[int, ...]:
    """The strides of a new tensor with its dimensions in the order of the operand's, and no gaps."""
    return strides_in_order(operand.shape, _order(operand.shape, [operand.stride]))


def like(operand: Operand, differentiable: bool = True) -> Out:
    """empty_like of FakeTensors"""
    stride = contiguous_strides(operand.shape) if operand.is_contiguous else in_order_of(operand)
    return new_strided(operand.shape, stride, operand.dtype, differentiable)


def like_strides(operand: Operand) -> tuple[int, ...] | None:
    """The strides of empty_like; None for layouts whose dimensions of one element have strides of their own."""
    operand = laid_out(operand)
    if is_settled(operand):
        return operand.stride
    if has((*operand.shape, *operand.stride), 0) or operand.is_contiguous or is_dense(operand.shape, operand.stride):
        return None
    return in_order_of(operand)


def copied(operand: Operand, dtype: torch.dtype) -> Out | None:
    """A new tensor with an operand's strides; None if they leave gaps, where copies differ."""
    if operand.dim == 1 and has(operand.shape, 1) and operand.stride[0] != 1:
        return None  # conversions keep the stride, copies do not
    if operand.is_contiguous or is_dense(operand.shape, operand.stride):
        return new_strided(operand.shape, operand.stride, dtype)
    return None


def broadcast(shapes: Sequence[Sizes]) -> tuple[int, ...] | None:
    """The common shape; None if there is none."""
    count = max(map(len, shapes), default=0)
    sizes = [1] * count
    for shape in shapes:
        for index, size in enumerate(shape, count - len(shape)):
            if not has((size,), 1):
                if not has((sizes[index],), 1) and sizes[index] != size:
                    return None
                sizes[index] = size
    return tuple(sizes)


def elementwise(
    operands: Sequence[Operand], direct: bool = True, in_order: bool = False
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """(shape, strides) of the result of an operator that works element by element.

    direct: it works on the very tensors. False: on intermediate ones (converted, compared with zero), whose layouts may
    differ; then all must be in one plain layout. in_order: the first operand's layout counts first.
    """
    shape = broadcast([operand.shape for operand in operands])
    if shape is None:
        return None
    plain = all(same(operand.stride, contiguous_strides(operand.shape)) for operand in operands)
    if plain and any(same(operand.shape, shape) for operand in operands):
        return shape, contiguous_strides(shape)
    if has(shape, 0):
        return None
    if not _has_numbers(shape, operands):
        shape, operands = for_layout(shape, shape), [*map(laid_out, operands)]
    if direct:
        strides = _agreed(shape, operands, in_order)
        return None if strides is None else (shape, strides)
    first = operands[0]
    alike = all(same(operand.shape, shape) and same(operand.stride, first.stride) for operand in operands)
    return (shape, first.stride) if alike and is_settled(first) else None


def _agreed(shape: tuple[int, ...], operands: Sequence[Operand], in_order: bool) -> tuple[int, ...] | None:
    """The strides by TensorIterator, if all of its ways to compute them agree, and those of its Python forms.

    They differ in the layouts that they look for first (of operands before or after they are broadcast), in the operand
    that they examine first (unless it is known to be the first, `in_order`), and in the strides of dimensions of one
    element.
    """
    given = [operand for operand in operands if operand.shape]
    if not in_order and any(has(shape[: len(shape) - operand.dim], 1) for operand in given):
        return None  # a new dimension of one element
    expanded = [_expanded_strides(shape, operand) for operand in given]
    larger = [tuple([0 if size == 1 else step for size, step in zip(shape, stride)]) for stride in expanded]
    ways = [expanded, larger, [_without_new(len(shape), *pair) for pair in zip(given, expanded)]]
    orders = ways if in_order else [order for way in ways for order in permutations(way)]
    found = {strides_in_order(shape, _order(shape, order)) for order in orders}
    if all(operand.is_contiguous for operand in given):
        found.add(contiguous_strides(shape))  # checked before channels-last
    elif len(shape) in (4, 5) and all(operand.dim == len(shape) and is_channels_last(operand) for operand in given):
        found.add(channels_last_strides(shape))
    if len({*expanded}) == 1 and is_dense(shape, expanded[0]):
        found.add(expanded[0])
    return found.pop() if len(found) == 1 else None


def _has_numbers(shape: Sizes, operands: Sequence[Operand]) -> bool:
    """Whether no size is symbolic."""
    sizes = (*shape, *(size for operand in operands for size in (*operand.shape, *operand.stride)))
    return all(type(size) is int for size in sizes)


def _expanded_strides(shape: Sizes, operand: Operand) -> tuple[int, ...]:
    """Its strides when it is expanded to `shape` (ATen/ExpandUtils.cpp, inferExpandGeometry)."""
    own = shape[len(shape) - operand.dim :]
    strides = [0 if size == 1 != wanted else step for size, step, wanted in zip(operand.shape, operand.stride, own)]
    for at in range(len(shape) - operand.dim - 1, -1, -1):
        strides.insert(0, shape[at + 1] * strides[0] if shape[at] == 1 else 0)
    return tuple(strides)


def _without_new(count: int, operand: Operand, stride: tuple[int, ...]) -> tuple[int, ...]:
    """The strides with 0 for the dimensions that the operand has not, as TensorIterator has them."""
    return (*[0] * (count - operand.dim), *stride[count - operand.dim :])


def is_channels_last(operand: Operand) -> bool:
    """is_contiguous(memory_format=torch.channels_last) of (batch, channels, *space)."""
    expected = 1
    for index in (1, *range(operand.dim - 1, 1, -1), 0):
        if operand.shape[index] != 1:
            if operand.stride[index] != expected:
                return False
            expected *= operand.shape[index]
    return True


def _order(shape: Sizes, strides: Sequence[Sizes]) -> list[int]:
    """The dimensions from the outermost: TensorIteratorBase::reorder_dimensions, an insertion sort.

    strides: those of each operand, broadcast to the shape.
    """
    perm = [*range(len(shape) - 1, -1, -1)]  # from the innermost
    for start in range(1, len(perm)):
        place = start
        for index in range(start - 1, -1, -1):
            inner, outer = perm[index], perm[place]
            compared = _compared(inner, outer, shape, strides)
            if compared > 0:
                perm[index], perm[place] = outer, inner
                place = index
            elif compared < 0:
                break
    return perm[::-1]


def _compared(inner: int, outer: int, shape: Sizes, strides: Sequence[Sizes]) -> int:
    """1 if the dimension `inner` belongs outside of `outer`, -1 if it is in its place, 0 if undecided."""
    for stride in strides:
        one, other = stride[inner], stride[outer]
        if one == 0 or other == 0:
            continue
        if one < other:
            return -1
        if one > other or shape[inner] > shape[outer]:
            return 1
    return 0


def view_strides(shape: Sizes, stride: Sizes, wanted: Sizes) -> tuple[int, ...] | None:
    """The strides of a view of these sizes; None if there is no such view, or it is undecided."""
    if has(shape, 0) or not shape or not wanted:
        return None
    if same(stride, contiguous_strides(shape)) and not (has(shape, 1) or has(wanted, 1)):
        return contiguous_strides(wanted)
    if all(type(size) is int for size in (*shape, *stride, *wanted)):
        there_is = _kernel_view_strides(shape, stride, wanted) is not None
        return _reference_view_strides(shape, stride, wanted) if there_is else None
    if same(stride, contiguous_strides(shape)):
        return contiguous_strides(wanted)
    # Torch's kernel and its Python form differ in the strides of dimensions of one element.
    if has(shape, 1) or has(wanted, 1):
        return None
    return _kernel_view_strides(for_layout(shape), for_layout(stride), for_layout(wanted))


def is_viewable(shape: Sizes, stride: Sizes, wanted: Sizes) -> bool:
    """Whether torch's kernel makes a view; sizes that are symbolic count as others than 1."""
    sizes, strides, wanted = for_layout(shape), for_layout(stride), for_layout(wanted)
    return not sizes or not wanted or _kernel_view_strides(sizes, strides, wanted) is not None


def _kernel_view_strides(shape: Sizes, stride: Sizes, wanted: Sizes) -> tuple[int, ...] | None:
    """ATen/TensorUtils.cpp, computeStride."""
    strides = [0] * len(wanted)
    left, base, count, viewed = len(wanted) - 1, stride[-1], 1, 1
    for index in range(len(shape) - 1, -1, -1):
        count *= shape[index]
        if index == 0 or (shape[index - 1] != 1 and stride[index - 1] != count * base):
            while left >= 0 and (viewed < count or wanted[left] == 1):
                strides[left] = viewed * base
                viewed *= wanted[left]
                left -= 1
            if viewed != count:
                return None
            if index > 0:
                base, count, viewed = stride[index - 1], 1, 1
    return tuple(strides) if left == -1 else None


def _reference_view_strides(shape: Sizes, stride: Sizes, wanted: Sizes) -> tuple[int, ...] | None:
    """torch/_refs/__init__.py, _reshape_view_helper: dimensions are put together and split from the left."""
    if is_contiguous(shape, stride) and len(wanted) == 1 < len(shape):
        return (1,)
    if is_contiguous(shape, stride) and len(wanted) == 2 > len(shape):
        return (wanted[1], 1)
    sizes, steps = [*shape], [*stride]
    for index, length in enumerate(wanted):
        if index >= len(sizes):
            sizes.append(1)
            steps.append(steps[-1])
        elif length != sizes[index]:
            end, count = index, sizes[index]
            while count % length:
                end += 1
                count *= sizes[end]
            if not _put_together(sizes, steps, index, end):
                return None
            if count != length:
                inner, step = count // length, steps[index]
                sizes[index : index + 1], steps[index : index + 1] = (length, inner), (step * inner, step)
    return tuple(steps[: len(wanted)])


def _put_together(sizes: list[int], steps: list[int], start: int, end: int) -> bool:
    """One dimension in the place of several; False if there is no such view (torch/_prims, collapse_view)."""
    for index in range(start, end):
        if 1 not in sizes[index : index + 2] and steps[index] != steps[index + 1] * sizes[index + 1]:
            return False
    step = min([steps[end], *(steps[index] for index in range(start, end) if sizes[index] != 1)])
    sizes[start : end + 1], steps[start : end + 1] = [prod(sizes[start : end + 1])], [step]
    return True


def inferred(numel: int, wanted: Sizes) -> tuple[int, ...] | None:
    """Sizes with a -1 replaced; None if there are not that many elements."""
    sizes = [*wanted]
    if sizes.count(-1) == 1:
        rest = prod(size for size in sizes if size != -1)
        if rest == 0 or numel % rest:
            return None
        sizes[sizes.index(-1)] = numel // rest
    if any(size < 0 for size in sizes) or prod(sizes) != numel:
        return None
    return tuple(sizes)
