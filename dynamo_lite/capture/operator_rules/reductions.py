"""Reductions and scans: the result is contiguous (aten/src/ATen/native/ReduceOpsUtils.h)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from dynamo_lite.capture.operator_rules.operands import Operand, Out, Outs, is_new_layout, new, wrapped
from dynamo_lite.capture.operator_rules.sizes import has

aten = torch.ops.aten


def _reduced(self: Operand, dim: Any, keepdim: bool) -> tuple[int, ...] | None:
    """The sizes without the reduced dimensions; None for wrong ones. No dimensions: all of them."""
    dims = [dim] if type(dim) is int else [*(dim or range(self.dim))]
    found = [wrapped(d, self.dim) for d in dims]
    if None in found or len({*found}) < len(found):
        return None
    if keepdim:
        return tuple(1 if d in found else size for d, size in enumerate(self.shape))
    return tuple(size for d, size in enumerate(self.shape) if d not in found)


def total(self: Operand, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Outs:
    """aten.sum.dim_IntList: integers are added as int64."""
    result = dtype or (self.dtype if self.dtype.is_floating_point else torch.int64)
    return _result(self, dim, keepdim, result)


def mean(self: Operand, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Outs:
    """aten.mean.dim, of floating-point numbers"""
    result = dtype or self.dtype
    return _result(self, dim, keepdim, result) if result.is_floating_point else None


def total_of_all(self: Operand, *, dtype: torch.dtype | None = None) -> Outs:
    return total(self, dtype=dtype)


def mean_of_all(self: Operand, *, dtype: torch.dtype | None = None) -> Outs:
    return mean(self, dtype=dtype)


def _result(self: Operand, dim: Any, keepdim: bool, dtype: torch.dtype) -> Out | None:
    sizes = _reduced(self, dim, keepdim)
    return None if sizes is None or dtype.is_complex or self.dtype.is_complex else new(sizes, dtype)


def extreme(self: Operand, dim: Sequence[int] = (), keepdim: bool = False) -> Outs:
    """aten.amax, amin"""
    return None if 0 in self.shape else _result(self, dim, keepdim, self.dtype)


def extreme_along(self: Operand, dim: int, keepdim: bool = False) -> Outs:
    """aten.max.dim, min.dim: (values, where they are)"""
    sizes = None if 0 in self.shape or self.dim == 0 else _reduced(self, dim, keepdim)
    return None if sizes is None else (new(sizes, self.dtype), new(sizes, torch.int64))


def place(self: Operand, dim: int | None = None, keepdim: bool = False) -> Outs:
    """aten.argmax, argmin"""
    if 0 in self.shape or self.dim == 0 or self.dtype is torch.bool:
        return None
    return _result(self, dim, keepdim, torch.int64)


def truth(self: Operand, dim: Any, keepdim: bool = False) -> Outs:
    """aten.any.dim, all.dim, any.dims, all.dims"""
    if dim is None or dim == [] or self.dtype is torch.uint8:
        return None
    return _result(self, dim, keepdim, torch.bool)


def truth_of_all(self: Operand) -> Outs:
    return None if self.dtype is torch.uint8 else new((), torch.bool)


def running_total(self: Operand, dim: int, *, dtype: torch.dtype | None = None) -> Outs:
    """aten.cumsum of a contiguous tensor"""
    if wrapped(dim, self.dim) is None or not self.is_contiguous:
        return None
    result = dtype or (self.dtype if self.dtype.is_floating_point else torch.int64)
    return new(self.shape, result)


def vector_norm(
    self: Operand, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Outs:
    # Else torch checks whether there are elements; if there are gaps, also how to lay the squares out.
    is_told = ord == 2 and is_new_layout(self)
    is_empty = has(self.shape, 0) if is_told else 0 in self.shape
    if not self.dtype.is_floating_point or dtype is not None or is_empty:
        return None
    return _result(self, dim, keepdim, self.dtype)


RULES: dict[Any, Callable[..., Outs]] = {
    aten.sum.dim_IntList: total,
    aten.sum.default: total_of_all,
    aten.mean.dim: mean,
    aten.mean.default: mean_of_all,
    aten.amax.default: extreme,
    aten.amin.default: extreme,
    aten.max.dim: extreme_along,
    aten.min.dim: extreme_along,
    aten.argmax.default: place,
    aten.argmin.default: place,
    aten.any.dim: truth,
    aten.all.dim: truth,
    aten.any.default: truth_of_all,
    aten.all.default: truth_of_all,
    aten.cumsum.default: running_total,
    aten.linalg_vector_norm.default: vector_norm,
}
