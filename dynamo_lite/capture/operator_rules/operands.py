"""The metadata that a rule gets of a tensor argument and returns for a result."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import torch

from dynamo_lite.capture.operator_rules.sizes import at_least_one, for_layout, same

Sizes = Sequence[int]
_NUMBERS = {int}


class Operand(NamedTuple):
    """The metadata of a tensor argument. `number` counts the tensors of a call, those in lists included.

    Sizes, strides and the offset are numbers, or symbolic (`sizes.Size`, which has the operators of a number).
    """

    number: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    dtype: torch.dtype
    device: torch.device
    requires_grad: bool

    @property
    def dim(self) -> int:
        return len(self.shape)

    @property
    def numel(self) -> int:
        return prod(self.shape)

    @property
    def is_plain(self) -> bool:
        """Whether its sizes and strides are numbers."""
        return set(map(type, (*self.shape, *self.stride))) <= _NUMBERS

    @property
    def is_contiguous(self) -> bool:
        return is_contiguous(self.shape, self.stride)


def laid_out(operand: Operand) -> Operand:
    """The operand, with symbolic sizes and strides to be compared for a layout only."""
    shape, stride = (for_layout(part, operand.shape) for part in (operand.shape, operand.stride))
    return operand._replace(shape=shape, stride=stride)


class Out(NamedTuple):
    """The metadata of a result.

    source: the operand whose memory it is a view of; None for memory of its own. whole: it is that operand itself.
    differentiable: it requires grad where an operand does and gradients are on (a view: wherever its operand does).
    """

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    dtype: torch.dtype
    source: Operand | None = None
    whole: bool = False
    differentiable: bool = True


Outs = Out | tuple[Out, ...] | list[Out] | None


def new(shape: Sizes, dtype: torch.dtype, differentiable: bool = True) -> Out:
    """A contiguous result with memory of its own."""
    return Out(tuple(shape), contiguous_strides(shape), 0, dtype, None, False, differentiable)


def new_strided(shape: Sizes, stride: Sizes, dtype: torch.dtype, differentiable: bool = True) -> Out:
    """A result with memory of its own in this layout."""
    return Out(tuple(shape), tuple(stride), 0, dtype, None, False, differentiable)


def view(of: Operand, shape: Sizes, stride: Sizes, offset: int | None = None) -> Out:
    """A view of an operand; its offset counts from the beginning of the memory (default: the operand's)."""
    return Out(tuple(shape), tuple(stride), of.offset if offset is None else offset, of.dtype, of)


def itself(operand: Operand) -> Out:
    """The operand, handed back."""
    return Out(operand.shape, operand.stride, operand.offset, operand.dtype, operand, True)


def wrapped(dim: int, count: int) -> int | None:
    """A dimension counted from the front, for a tensor of `count` dimensions; None if there is no such dimension."""
    if type(dim) is not int or not -max(count, 1) <= dim < max(count, 1):
        return None
    return dim + max(count, 1) if dim < 0 else dim


def contiguous_strides(shape: Sizes) -> tuple[int, ...]:
    """As torch lays out a new tensor: a size of 0 counts as 1."""
    strides, step = [0] * len(shape), 1
    for index in range(len(shape) - 1, -1, -1):
        strides[index] = step
        step *= at_least_one(shape[index])
    return tuple(strides)


def is_contiguous(shape: Sizes, stride: Sizes) -> bool:
    """TensorImpl::compute_contiguous: strides of dimensions of one element do not count; an empty tensor is."""
    if same(stride, contiguous_strides(shape)):
        return True
    expected, so_far = 1, True
    for size, step in zip(for_layout(reversed(shape)), for_layout(reversed(stride))):
        if size == 0:
            return True
        if size != 1:
            so_far = so_far and step == expected
            expected *= size
    return so_far


def is_new_layout(operand: Operand) -> bool:
    """Whether it has a new contiguous tensor's strides; other contiguous ones may count as channels-last."""
    return same(operand.stride, contiguous_strides(operand.shape))


def channels_last_strides(shape: Sizes) -> tuple[int, ...]:
    """(batch, channels, *space) with the channels innermost."""
    order = (0, *range(2, len(shape)), 1)
    return strides_in_order(shape, order)


def strides_in_order(shape: Sizes, order: Sizes) -> tuple[int, ...]:
    """The strides of a tensor without gaps whose dimensions have this order in memory, the outermost first."""
    strides, step = [0] * len(shape), 1
    for dimension in reversed(order):
        strides[dimension] = step
        step *= at_least_one(shape[dimension])
    return tuple(strides)


def is_dense(shape: Sizes, stride: Sizes) -> bool:
    """Whether the elements fill their memory without gaps or overlaps, in some order of the dimensions."""
    expected = 1
    for step, size in sorted((step, size) for size, step in zip(shape, stride) if size != 1):
        if step != expected:
            return False
        expected *= size
    return True


def alike(operands: Sequence[Operand | None]) -> bool:
    """Whether those that are given have one floating-point dtype."""
    dtypes = {operand.dtype for operand in operands if operand is not None}
    return len(dtypes) == 1 and next(iter(dtypes)).is_floating_point
