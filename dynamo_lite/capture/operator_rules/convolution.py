"""Convolutions and pooling: how many windows there are (aten/src/ATen/native/Convolution.cpp, Pool.h)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from dynamo_lite.capture.operator_rules.operands import (
    Operand,
    Out,
    Outs,
    alike,
    channels_last_strides,
    contiguous_strides,
    is_new_layout,
    new,
    new_strided,
)
from dynamo_lite.capture.operator_rules.sizes import has

aten = torch.ops.aten


def spread(value: Any, count: int) -> list[int] | None:
    """A number for each dimension of space; None for other lists, and for "same" and "valid"."""
    values = [value] if type(value) is int else value
    if not isinstance(values, (list, tuple)) or len(values) not in (1, count):
        return None
    if not all(type(v) is int for v in values):
        return None
    return [*values] * count if len(values) == 1 else [*values]


def options_of(space: int, *values: Any) -> list[list[int]] | None:
    """Each option spread over the dimensions of space; None if one of them cannot be."""
    found = [numbers for value in values if (numbers := spread(value, space)) is not None]
    return found if len(found) == len(values) else None


def windows(size: Any, kernel: Any, step: int, padding: int, dilation: int) -> Any:
    """How many windows there are, rounded down; sizes may be symbols."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // step + 1


def convolution(
    space: int, input: Operand, weight: Operand, bias: Operand | None = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Outs:  # fmt: skip
    """aten.conv1d, conv2d, conv3d on a batch, where everything is contiguous. (A sequence is made so.)"""
    options = options_of(space, stride, padding, dilation)
    if space == 1 and input.is_plain and not input.is_contiguous:
        input = input._replace(stride=contiguous_strides(input.shape))
    if options is None or groups < 1 or not _fits(space, input, weight, bias, weight.shape[:1]):
        return None
    steps, pads, dilations = options
    if input.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        return None
    if min(steps) < 1 or min(pads) < 0 or min(dilations) < 1:
        return None
    sizes = [*map(windows, input.shape[2:], weight.shape[2:], steps, pads, dilations)]
    return None if min(sizes) < 1 else new((input.shape[0], weight.shape[0], *sizes), input.dtype)


def transposed(
    space: int, input: Operand, weight: Operand, bias: Operand | None = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Outs:  # fmt: skip
    """aten.conv_transpose1d, 2d, 3d on a batch, where everything is contiguous."""
    options = options_of(space, stride, padding, output_padding, dilation)
    channels = weight.shape[1] * groups if weight.dim > 1 else 0
    if options is None or groups < 1 or not _fits(space, input, weight, bias, (channels,)):
        return None
    if input.shape[1] != weight.shape[0] or weight.shape[0] % groups:
        return None
    sizes = []
    for size, kernel, step, pad, extra, dilation in zip(input.shape[2:], weight.shape[2:], *options):
        if step < 1 or pad < 0 or dilation < 1 or not 0 <= extra < max(step, dilation):
            return None
        sizes.append((size - 1) * step - 2 * pad + dilation * (kernel - 1) + extra + 1)
    return None if min(sizes) < 1 else new((input.shape[0], channels, *sizes), input.dtype)


def _fits(space: int, input: Operand, weight: Operand, bias: Operand | None, channels: tuple[int, ...]) -> bool:
    if not alike((input, weight, bias)) or input.dim != space + 2 or weight.dim != space + 2:
        return False
    if has(input.shape[:1], 0) or 0 in input.shape[1:] or 0 in weight.shape:
        return False
    if bias is not None and bias.shape != channels:
        return False
    return is_new_layout(input) and is_new_layout(weight)


def max_pool(
    space: int, self: Operand, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Outs:  # fmt: skip
    """aten.max_pool1d, 2d, 3d."""
    return _pooled(space, self, kernel_size, stride, padding, dilation, ceil_mode)


def average_pool(
    space: int, self: Operand, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Outs:  # fmt: skip
    """aten.avg_pool2d, 3d."""
    kernels = options_of(space, kernel_size)
    if divisor_override == 0 or kernels is None:
        return None
    if space == 3 and any(size < kernel for size, kernel in zip(self.shape[-space:], kernels[0])):
        return None  # torch wants an image as large as a window, padding apart
    return _pooled(space, self, kernel_size, stride, padding, 1, ceil_mode)


def average_pool1d(
    self: Operand, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Outs:  # fmt: skip
    return _pooled(1, self, kernel_size, stride, padding, 1, ceil_mode)


def _pooled(
    space: int, self: Operand, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Out | None:
    options = options_of(space, kernel_size, kernel_size if stride in ([], ()) else stride, padding, dilation)
    if options is None or ceil_mode or not (_is_image(space, self) or (space == 2 and _is_channels_last(self))):
        return None
    sizes = []
    for size, kernel, step, pad, dilation in zip(self.shape[-space:], *options):
        if kernel < 1 or step < 1 or dilation < 1 or not 0 <= pad <= ((kernel - 1) * dilation + 1) // 2:
            return None
        if pad > kernel // 2:
            return None
        sizes.append(windows(size, kernel, step, pad, dilation))
    if min(sizes) < 1:
        return None
    shape = (*self.shape[:-space], *sizes)
    if is_new_layout(self):
        return new(shape, self.dtype)
    return new_strided(shape, channels_last_strides(shape), self.dtype)


def adaptive_average(space: int, self: Operand, output_size: Any) -> Outs:
    """aten.adaptive_avg_pool1d, 2d, 3d."""
    sizes = spread(output_size, space)
    if sizes is None or len(output_size) != space or min(sizes) < 1 or not _is_image(space, self):
        return None
    return new((*self.shape[:-space], *sizes), self.dtype)


def upsampled(space: int, self: Operand, sizes: Sequence[int] | None, factors: Sequence[float] | None) -> Outs:
    """aten.upsample_*: to given sizes, or by given factors."""
    if self.dim != space + 2 or not _is_image(space, self) or (sizes is None) == (factors is None):
        return None
    if sizes is None:
        given = [*(factors or ())]
        if len(given) != space or not all(type(factor) is float and factor > 0 for factor in given):
            return None
        sizes = [int(size * factor) for size, factor in zip(self.shape[2:], given)]
    if len(sizes) != space or not all(type(s) is int and s > 0 for s in sizes):
        return None
    return new((*self.shape[:2], *sizes), self.dtype)


def nearest(
    space: int, input: Operand, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
) -> Outs:
    return upsampled(space, input, output_size, scale_factors)


def interpolated(
    space: int, input: Operand, output_size: Sequence[int] | None, align_corners: bool,
    scale_factors: Sequence[float] | None,
) -> Outs:  # fmt: skip
    return upsampled(space, input, output_size, scale_factors)


def _is_image(space: int, operand: Operand) -> bool:
    """A contiguous tensor of floats with something in it, with or without a batch."""
    if operand.dim not in (space + 1, space + 2) or not operand.dtype.is_floating_point:
        return False
    batch = operand.dim - space - 1
    return not has(operand.shape[:batch], 0) and 0 not in operand.shape[batch:] and is_new_layout(operand)


def _is_channels_last(operand: Operand) -> bool:
    """A batch of images of floats with the channels innermost, which no other order explains."""
    if operand.dim != 4 or not operand.dtype.is_floating_point or not operand.is_plain:
        return False
    if min(operand.shape[1:]) < 2:
        return False
    return operand.shape[0] > 0 and operand.stride == channels_last_strides(operand.shape)


RULES: dict[Any, Callable[..., Outs]] = {
    aten.conv1d.default: partial(convolution, 1),
    aten.conv2d.default: partial(convolution, 2),
    aten.conv3d.default: partial(convolution, 3),
    aten.conv_transpose1d.default: partial(transposed, 1),
    aten.conv_transpose2d.input: partial(transposed, 2),
    aten.conv_transpose3d.input: partial(transposed, 3),
    aten.max_pool1d.default: partial(max_pool, 1),
    aten.max_pool2d.default: partial(max_pool, 2),
    aten.max_pool3d.default: partial(max_pool, 3),
    aten.avg_pool1d.default: average_pool1d,
    aten.avg_pool2d.default: partial(average_pool, 2),
    aten.avg_pool3d.default: partial(average_pool, 3),
    aten.adaptive_avg_pool1d.default: partial(adaptive_average, 1),
    aten.adaptive_avg_pool2d.default: partial(adaptive_average, 2),
    aten.adaptive_avg_pool3d.default: partial(adaptive_average, 3),
    aten.upsample_nearest1d.vec: partial(nearest, 1),
    aten.upsample_nearest2d.vec: partial(nearest, 2),
    aten.upsample_nearest3d.vec: partial(nearest, 3),
    aten.upsample_linear1d.vec: partial(interpolated, 1),
    aten.upsample_bilinear2d.vec: partial(interpolated, 2),
    aten.upsample_bicubic2d.vec: partial(interpolated, 2),
    aten.upsample_trilinear3d.vec: partial(interpolated, 3),
}
