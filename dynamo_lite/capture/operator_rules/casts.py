"""Other dtypes and layouts of the same values, and copies (aten/src/ATen/native/TensorConversions.cpp)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from dynamo_lite.capture.operator_rules.layouts import copied, is_channels_last
from dynamo_lite.capture.operator_rules.operands import (
    Operand,
    Outs,
    channels_last_strides,
    itself,
    new,
    new_strided,
)

aten = torch.ops.aten


def to_dtype(
    self: Operand, dtype: torch.dtype, non_blocking: bool = False, copy: bool = False, memory_format: Any = None
) -> Outs:
    return _converted(self, dtype, copy, memory_format)


def to_device(
    self: Operand, device: torch.device, dtype: torch.dtype, non_blocking: bool = False, copy: bool = False,
    memory_format: Any = None,
) -> Outs:  # fmt: skip
    return _converted(self, dtype, copy, memory_format) if device == self.device else None


def to_layout(
    self: Operand, *, dtype: torch.dtype | None = None, layout: Any = None, device: torch.device | None = None,
    pin_memory: bool | None = None, non_blocking: bool = False, copy: bool = False, memory_format: Any = None,
) -> Outs:  # fmt: skip
    """aten.to.dtype_layout"""
    if device not in (None, self.device) or layout not in (None, torch.strided) or pin_memory:
        return None
    return _converted(self, dtype or self.dtype, copy, memory_format)


def to_other(
    self: Operand, other: Operand, non_blocking: bool = False, copy: bool = False, memory_format: Any = None
) -> Outs:
    return _converted(self, other.dtype, copy, memory_format)


def type_as(self: Operand, other: Operand) -> Outs:
    return _converted(self, other.dtype, False, None)


def _converted(self: Operand, dtype: torch.dtype, copy: bool, memory_format: Any) -> Outs:
    if memory_format not in (None, torch.preserve_format) or dtype.is_complex:
        return None
    if dtype is self.dtype and not copy:
        return itself(self)
    return copied(self, dtype)


def contiguous(self: Operand, *, memory_format: Any = torch.contiguous_format) -> Outs:
    if memory_format is torch.contiguous_format:
        return itself(self) if self.is_contiguous else new(self.shape, self.dtype)
    if memory_format is not torch.channels_last or self.dim != 4 or 0 in self.shape:
        return None
    return itself(self) if is_channels_last(self) else _channels_last(self)


def clone(self: Operand, *, memory_format: Any = None) -> Outs:
    if memory_format in (None, torch.preserve_format):
        return copied(self, self.dtype)
    if memory_format is torch.contiguous_format:
        return new(self.shape, self.dtype)
    if memory_format is not torch.channels_last or self.dim != 4 or 0 in self.shape:
        return None
    return _channels_last(self)


def _channels_last(self: Operand) -> Outs:
    return new_strided(self.shape, channels_last_strides(self.shape), self.dtype)


RULES: dict[Any, Callable[..., Outs]] = {
    aten.to.dtype: to_dtype,
    aten.to.device: to_device,
    aten.to.dtype_layout: to_layout,
    aten.to.other: to_other,
    aten.type_as.default: type_as,
    aten.contiguous.default: contiguous,
    aten.clone.default: clone,
}
