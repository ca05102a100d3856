"""Operators that change their first argument and return it: a rule only decides whether torch would raise.

It raises if the sizes do not broadcast to those of the tensor that is written to, if the result's dtype cannot be cast
to its own (ATen/native/TypeProperties.cpp, can_cast), and if its elements share memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from dynamo_lite.capture.operator_rules.operands import Operand, contiguous_strides, is_dense
from dynamo_lite.capture.operator_rules.pointwise import ResultDtype, can_cast, dtype_of, keeps, overload, promoted
from dynamo_lite.capture.operator_rules.sizes import Size, Undecided, fits, same

aten = torch.ops.aten


def pointwise(gives: ResultDtype, count: int, self: Operand, *args: Any, **options: Any) -> bool:
    """The first `count` arguments are operands (tensors or numbers), the others options."""
    operands = (self, *args[: count - 1])
    if any(isinstance(value, Operand) for value in (*args[count - 1 :], *options.values())):
        return False
    common = promoted(operands)
    dtype = None if common is None else dtype_of(gives, common)
    if common is None or dtype is None or not keeps(options.get("alpha", 1), common):
        return False
    return can_cast(dtype, self.dtype) and _holds(self, *operands)


def copied(self: Operand, src: Any, non_blocking: bool = False) -> bool:
    """aten.copy_; a number as the source (`tensor.copy_(2)`), which Python's binding lets through, is left to it."""
    return isinstance(src, Operand) and (self.dtype.is_complex or not src.dtype.is_complex) and _holds(self, src)


def filled(self: Operand, value: Any = 0) -> bool:
    """aten.fill_.Scalar, zero_"""
    return promoted((self, value)) is not None and not isinstance(value, Operand) and _holds(self)


def masked(self: Operand, mask: Operand, value: Any) -> bool:
    """aten.masked_fill_.Scalar"""
    if mask.dtype is not torch.bool or isinstance(value, Operand) or promoted((self, value)) is not self.dtype:
        return False
    return _holds(self, mask)


def clamped(self: Operand, min: Any = None, max: Any = None) -> bool:
    return (min is not None or max is not None) and pointwise(ResultDtype.SAME, 3, self, min, max)


def _holds(self: Operand, *others: Operand) -> bool:
    """Whether the tensor has a place for each element of the result."""
    for other in others:
        if isinstance(other, Operand):
            if len(other.shape) > len(self.shape):
                return False
            if not all(map(fits, reversed(other.shape), reversed(self.shape))):
                return False
    # Each of these suffices. The first is decided for most slices: whether one of a size that varies (`x[:, :n]`) is
    # contiguous is not.
    return _is_spread(self) or same(self.stride, contiguous_strides(self.shape)) or is_dense(self.shape, self.stride)


def _is_spread(self: Operand) -> bool:
    """Whether torch sees no element that lies where another one does: it looks for strides of 0 (MemoryOverlap.cpp)."""
    return all(map(_is_no_zero, self.stride))


def _is_no_zero(stride: Any) -> bool:
    """Whether a stride is not 0, if the tensor has elements: then a product of sizes is none."""
    if type(stride) is Size and stride.env.is_size(stride.node):
        return True
    try:
        return bool(stride >= 1)
    except Undecided:
        return False


_UNARY = {
    ResultDtype.SAME: ("relu_", "neg_", "abs_", "floor_", "ceil_", "round_", "trunc_", "square_"),
    ResultDtype.SMOOTH: ("silu_", "hardswish_", "hardsigmoid_", "hardtanh_", "leaky_relu_", "elu_", "relu6_"),
    ResultDtype.FLOAT: ("rsqrt_", "sqrt_", "exp_", "log_", "sin_", "cos_", "tanh_", "sigmoid_", "reciprocal_"),
}
_BINARY = {
    ResultDtype.SAME: ("add_.Tensor", "add_.Scalar", "sub_.Tensor", "sub_.Scalar", "mul_.Tensor", "mul_.Scalar"),
    ResultDtype.FLOAT: ("div_.Tensor", "div_.Scalar"),
    ResultDtype.BITS: ("bitwise_and_.Tensor", "bitwise_or_.Tensor", "__iand__.Tensor", "__ior__.Tensor"),
}

RULES: dict[Any, Callable[..., bool]] = {
    **{overload(name): partial(pointwise, gives, 1) for gives, names in _UNARY.items() for name in names},
    **{overload(name): partial(pointwise, gives, 2) for gives, names in _BINARY.items() for name in names},
    aten.copy_.default: copied,
    aten.fill_.Scalar: filled,
    aten.zero_.default: filled,
    aten.masked_fill_.Scalar: masked,
    aten.clamp_.default: clamped,
}
"""Whether the operator only changes its first argument; False if that is undecided, or torch would raise."""
