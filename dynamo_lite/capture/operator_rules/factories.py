"""New tensors by sizes, dtypes and devices that are given (aten/src/ATen/native/TensorFactories.cpp)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from dynamo_lite.capture.operator_rules import layouts
from dynamo_lite.capture.operator_rules.operands import Operand, Outs, new
from dynamo_lite.capture.operator_rules.sizes import Size

aten = torch.ops.aten


def _is_ordinary(options: dict[str, Any], device: torch.device | None = None) -> bool:
    """Whether the result is strided, on the CPU (or the device of the operand)."""
    asked = options.get("device")
    memory = options.get("memory_format")
    return (
        options.get("layout") in (None, torch.strided)
        and not options.get("pin_memory")
        and (asked is None or (asked.type == "cpu" if device is None else asked == device))
        and memory in (None, torch.contiguous_format, torch.preserve_format)
    )


def sized(size: Sequence[int], **options: Any) -> Outs:
    """aten.zeros, ones, empty.memory_format, rand, randn"""
    if not _is_ordinary(options) or any(s < 0 for s in size):
        return None
    if options.get("memory_format") is torch.preserve_format:
        return None
    return new(size, options.get("dtype") or torch.get_default_dtype(), False)


def full(size: Sequence[int], fill_value: Any, **options: Any) -> Outs:
    dtype = options.get("dtype") or _dtype_of((fill_value,))
    return None if dtype is None else sized(size, **{**options, "dtype": dtype})


def arange(end: Any, **options: Any) -> Outs:
    return arange_step(0, end, 1, **options)


def arange_start(start: Any, end: Any, **options: Any) -> Outs:
    return arange_step(start, end, 1, **options)


def arange_step(start: Any, end: Any, step: Any = 1, **options: Any) -> Outs:
    dtype = options.get("dtype") or _dtype_of((start, end, step))
    if type(end) is Size:
        begins = type(start) is int and type(step) is int and (start, step) == (0, 1) and end >= 0
        count: Any = end
        return new((count,), dtype, False) if begins and dtype is torch.int64 and _is_ordinary(options) else None
    if dtype is None or step == 0 or (end - start) * step < 0 or not _is_ordinary(options):
        return None
    if any(type(value) is not int and dtype is torch.int64 for value in (start, end, step)):
        return None
    count = -((start - end) // step) if all(type(v) is int for v in (start, end, step)) else _ceil(start, end, step)
    return None if count is None else new((count,), dtype, False)


def _ceil(start: float, end: float, step: float) -> int | None:
    count = (end - start) / step
    return math.ceil(count) if math.isfinite(count) else None


def _dtype_of(numbers: Sequence[Any]) -> torch.dtype | None:
    kinds = {type(number) for number in numbers}
    if kinds <= {int, Size} and kinds:
        return torch.int64
    if kinds == {bool}:
        return torch.bool
    return torch.get_default_dtype() if kinds <= {int, float} else None


def like(self: Operand, **options: Any) -> Outs:
    """aten.zeros_like, ones_like, empty_like, rand_like, randn_like"""
    if not _is_ordinary(options, self.device) or not layouts.is_settled(self):
        return None
    dtype = options.get("dtype") or self.dtype
    if options.get("memory_format") is torch.contiguous_format:
        return new(self.shape, dtype, False)
    return layouts.like(self, False)._replace(dtype=dtype)


def full_like(self: Operand, fill_value: Any, **options: Any) -> Outs:
    return like(self, **options)


def like_of_size(self: Operand, size: Sequence[int], **options: Any) -> Outs:
    """aten.new_zeros, new_ones, new_empty"""
    if not _is_ordinary(options, self.device) or any(s < 0 for s in size):
        return None
    return new(size, options.get("dtype") or self.dtype, False)


def new_full(self: Operand, size: Sequence[int], fill_value: Any, **options: Any) -> Outs:
    return like_of_size(self, size, **options)


RULES: dict[Any, Callable[..., Outs]] = {
    **dict.fromkeys((aten.zeros.default, aten.ones.default, aten.empty.memory_format), sized),
    **dict.fromkeys((aten.rand.default, aten.randn.default), sized),
    aten.full.default: full,
    aten.arange.default: arange,
    aten.arange.start: arange_start,
    aten.arange.start_step: arange_step,
    **dict.fromkeys((aten.zeros_like.default, aten.ones_like.default, aten.empty_like.default), like),
    **dict.fromkeys((aten.rand_like.default, aten.randn_like.default), like),
    aten.full_like.default: full_like,
    **dict.fromkeys((aten.new_zeros.default, aten.new_ones.default, aten.new_empty.default), like_of_size),
    aten.new_full.default: new_full,
}
