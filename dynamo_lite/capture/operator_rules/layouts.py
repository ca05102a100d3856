"""In which layout torch puts a result (aten/src/ATen/TensorIterator.cpp), and the strides of a view."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch

from dynamo_lite.capture.operator_rules.operands import (
    Operand,
    Out,
    Sizes,
    channels_last_strides,
    contiguous_strides,
    is_dense,
    new_strided,
    strides_in_order,
)
from dynamo_lite.capture.operator_rules.sizes import has, same


def is_settled(operand: Operand) -> bool:
    """Whether the strides are those of a new tensor with the dimensions in this order.

    Others (of dimensions of one element, with gaps) torch treats one way in kernels and another in their Python forms.
    """
    if operand.is_contiguous:
        return operand.stride == contiguous_strides(operand.shape)
    if operand.dim in (4, 5) and is_channels_last(operand):
        return operand.stride == channels_last_strides(operand.shape)
    return operand.stride == in_order_of(operand)


def in_order_of(operand: Operand) -> tuple[int, ...]:
    """The strides of a new tensor with its dimensions in the order of the operand's, and no gaps."""
    return strides_in_order(operand.shape, _order(operand.shape, operand.stride))


def like(operand: Operand, differentiable: bool = True) -> Out:
    """empty_like of FakeTensors"""
    stride = contiguous_strides(operand.shape) if operand.is_contiguous else in_order_of(operand)
    return new_strided(operand.shape, stride, operand.dtype, differentiable)


def copied(operand: Operand, dtype: torch.dtype) -> Out | None:
    """A new tensor with an operand's strides; None if they leave gaps, where copies differ."""
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


def elementwise(operands: Sequence[Operand]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """(shape, strides) of what an operator that works element by element makes of tensors in one layout."""
    shape = broadcast([operand.shape for operand in operands])
    if shape is None:
        return None
    if all(same(operand.stride, contiguous_strides(operand.shape)) for operand in operands):
        return (shape, contiguous_strides(shape)) if any(same(o.shape, shape) for o in operands) else None
    first = operands[0]
    if has(shape, 0) or not is_settled(first):
        return None
    alike = all(operand.shape == shape and operand.stride == first.stride for operand in operands)
    return (shape, first.stride) if alike else None


def is_channels_last(operand: Operand) -> bool:
    """is_contiguous(memory_format=torch.channels_last) of (batch, channels, *space)."""
    expected = 1
    for index in (1, *range(operand.dim - 1, 1, -1), 0):
        if operand.shape[index] != 1:
            if operand.stride[index] != expected:
                return False
            expected *= operand.shape[index]
    return True


def _order(shape: Sizes, stride: Sizes) -> list[int]:
    """The dimensions from the outermost: TensorIteratorBase::reorder_dimensions of one operand, an insertion sort."""
    perm = [*range(len(shape) - 1, -1, -1)]  # from the innermost
    for start in range(1, len(perm)):
        place = start
        for index in range(start - 1, -1, -1):
            inner, outer = perm[index], perm[place]
            one, other = stride[inner], stride[outer]
            if one == 0 or other == 0:
                continue
            if one > other or (one == other and shape[inner] > shape[outer]):
                perm[index], perm[place] = outer, inner
                place = index
            elif one < other:
                break
    return perm[::-1]


def view_strides(shape: Sizes, stride: Sizes, wanted: Sizes) -> tuple[int, ...] | None:
    """The strides of a view of these sizes; None if there is no such view, or it cannot be told (ATen/TensorUtils.cpp,
    computeStride)."""
    if has(shape, 0) or not shape or not wanted:
        return None
    # Torch's kernel and its Python form differ in the strides of dimensions of one element.
    if same(stride, contiguous_strides(shape)):
        return contiguous_strides(wanted)
    if has(shape, 1) or has(wanted, 1):
        return None
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
