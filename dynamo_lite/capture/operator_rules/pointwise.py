"""Operators that work element by element: broadcast sizes, promoted dtypes, TensorIterator's strides.

Sources: aten/src/ATen/native/TypeProperties.cpp (result_type), torch/_prims_common (the kinds of promotion).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import torch

from dynamo_lite.capture.operator_rules.layouts import elementwise, is_settled
from dynamo_lite.capture.operator_rules.operands import Operand, Outs, new_strided
from dynamo_lite.capture.operator_rules.sizes import Size, has
from dynamo_lite.torch_internals._torch_dispatch import (
    DisableTorchFunction,
    _disable_current_modes,
    _DisablePythonDispatcher,
)

aten = torch.ops.aten


@cache
def promote_types(one: torch.dtype, other: torch.dtype) -> torch.dtype:
    """torch.promote_types without the modes of the recording, through which it is an operator."""
    with DisableTorchFunction(), _disable_current_modes(), _DisablePythonDispatcher():
        return torch.promote_types(one, other)


@cache
def can_cast(source: torch.dtype, to: torch.dtype) -> bool:
    """torch.can_cast, likewise."""
    with DisableTorchFunction(), _disable_current_modes(), _DisablePythonDispatcher():
        return torch.can_cast(source, to)


class ResultDtype(enum.Enum):
    """Which dtype comes of the promoted one, and which promoted dtypes there are rules for."""

    SAME = "the same, of numbers"
    BITS = "the same, of integers or bool"
    SMOOTH = "the same, of floating-point numbers"
    FLOAT = "a floating-point one: integers become the default dtype"
    BOOL = "bool"
    TRUTH = "bool, of what the operands are as bools"


def elementwise_rule(gives: ResultDtype, count: int, in_order: bool, *args: Any, **options: Any) -> Outs:
    """The first `count` arguments are operands (tensors or numbers), the others options.

    in_order: torch goes by the layout of the first operand before that of the second.
    """
    operands = args[:count]
    tensors = [value for value in operands if isinstance(value, Operand)]
    if not tensors or any(isinstance(value, Operand) for value in (*args[count:], *options.values())):
        return None
    common = promoted(operands)
    dtype = None if common is None else dtype_of(gives, common)
    works_on = torch.bool if gives is ResultDtype.TRUTH else dtype if gives is ResultDtype.FLOAT else common
    layout = elementwise(tensors, _works_on(works_on, tensors), in_order)
    if common is None or dtype is None or layout is None or not keeps(options.get("alpha", 1), common):
        return None
    return new_strided(*layout, dtype)


def _works_on(dtype: torch.dtype | None, operands: Sequence[Operand]) -> bool:
    """Whether torch's Python forms compute with the very operands: small floats they convert to float32 before."""
    return dtype not in (torch.float16, torch.bfloat16) and all(operand.dtype is dtype for operand in operands)


def keeps(number: Any, common: torch.dtype) -> bool:
    """Whether a factor of the second operand is of the operands' kind."""
    return type(number) is int or (type(number) is float and common.is_floating_point)


def dtype_of(gives: ResultDtype, common: torch.dtype) -> torch.dtype | None:
    if gives is ResultDtype.BOOL or gives is ResultDtype.TRUTH:
        return torch.bool
    if gives is ResultDtype.BITS:
        return None if common.is_floating_point else common
    if common is torch.bool:
        return None
    if gives is ResultDtype.FLOAT and not common.is_floating_point:
        return torch.get_default_dtype()
    return None if gives is ResultDtype.SMOOTH and not common.is_floating_point else common


def promoted(values: Sequence[Any]) -> torch.dtype | None:
    """torch.result_type of tensors and numbers; None for what there is no rule for."""
    dims: torch.dtype | None = None
    zero: torch.dtype | None = None
    number: torch.dtype | None = None
    for value in values:
        if isinstance(value, Operand):
            if value.shape:
                dims = value.dtype if dims is None else promote_types(dims, value.dtype)
            else:
                zero = value.dtype if zero is None else promote_types(zero, value.dtype)
        elif value is not None:
            found = _NUMBERS.get(type(value))
            if found is None:
                return None
            found = torch.get_default_dtype() if found is torch.float32 else found
            number = found if number is None else promote_types(number, found)
    common = _combined(dims, _combined(zero, number))
    return None if common is None or common.is_complex else common


_NUMBERS = {bool: torch.bool, int: torch.int64, Size: torch.int64, float: torch.float32}


def _combined(higher: torch.dtype | None, lower: torch.dtype | None) -> torch.dtype | None:
    """Only a dtype of a higher category changes that of an operand with dimensions."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.is_floating_point or higher.is_complex:
        return promote_types(higher, lower) if lower.is_complex and not higher.is_complex else higher
    if higher is torch.bool or lower.is_floating_point or lower.is_complex:
        return promote_types(higher, lower)
    return higher


def clamp(self: Operand, min: Any = None, max: Any = None) -> Outs:
    """aten.clamp.default and clamp.Tensor"""
    if (min is None and max is None) or (has(self.shape, 1) and not is_settled(self)):
        return None
    return elementwise_rule(ResultDtype.SAME, 3, False, self, min, max)


def divided(self: Any, other: Any, *, rounding_mode: str | None) -> Outs:
    """aten.div.Tensor_mode and div.Scalar_mode"""
    return elementwise_rule(ResultDtype.FLOAT if rounding_mode is None else ResultDtype.SAME, 2, False, self, other)


def where(condition: Operand, self: Any, other: Any) -> Outs:
    """aten.where.self, where.ScalarSelf, where.ScalarOther and where.Scalar"""
    common = promoted((self, other))
    given = [value for value in (condition, self, other) if isinstance(value, Operand)]
    layout = elementwise(given, direct=_works_on(common, [value for value in given if value is not condition]))
    if condition.dtype is not torch.bool or common is None or layout is None:
        return None
    return new_strided(*layout, common)


def masked_fill(self: Operand, mask: Operand, value: Any) -> Outs:
    """aten.masked_fill.Scalar, of a tensor that the mask does not make larger"""
    layout = elementwise((self, mask))
    if mask.dtype is not torch.bool or layout is None or layout[0] != self.shape or not self.is_contiguous:
        return None
    if isinstance(value, Operand) or self.dtype.is_complex or promoted((self, value)) is not self.dtype:
        return None
    return new_strided(*layout, self.dtype)


_UNARY = {
    ResultDtype.SAME: ("relu", "neg", "abs", "sign", "floor", "ceil", "round", "trunc", "square"),
    ResultDtype.BITS: ("bitwise_not",),
    ResultDtype.SMOOTH: (
        "gelu", "silu", "mish", "hardswish", "hardsigmoid", "hardtanh", "relu6", "leaky_relu", "elu", "selu",
        "softplus", "log_sigmoid",
    ),
    ResultDtype.FLOAT: (
        "rsqrt", "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
        "atan", "sinh", "cosh", "tanh", "sigmoid", "reciprocal", "erf", "erfc",
    ),
    ResultDtype.BOOL: ("isnan", "isinf", "isfinite"),
    ResultDtype.TRUTH: ("logical_not",),
}  # fmt: skip

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_BINARY = {
    ResultDtype.SAME: (
        "add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar", "mul.Tensor", "mul.Scalar", "rsub.Tensor",
        "rsub.Scalar", "maximum.default", "minimum.default", "max.other", "min.other", "pow.Tensor_Scalar",
        "pow.Tensor_Tensor", "pow.Scalar", "remainder.Tensor", "remainder.Scalar", "fmod.Tensor", "fmod.Scalar",
        "clamp_min.default", "clamp_max.default",
    ),
    ResultDtype.BITS: (
        "bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor", "bitwise_and.Scalar", "bitwise_or.Scalar",
        "bitwise_xor.Scalar", "__and__.Tensor", "__or__.Tensor", "__xor__.Tensor", "__and__.Scalar", "__or__.Scalar",
        "__xor__.Scalar",
    ),
    ResultDtype.FLOAT: ("div.Tensor", "div.Scalar", "true_divide.Tensor", "true_divide.Scalar", "atan2.default"),
    ResultDtype.BOOL: tuple(f"{name}.{kind}" for name in _COMPARISONS for kind in ("Tensor", "Scalar")),
    ResultDtype.TRUTH: ("logical_and.default", "logical_or.default", "logical_xor.default"),
}  # fmt: skip

_TURNED = ("rsub", "atan2", "fmod", "remainder", "pow", "clamp_min", "clamp_max")
"""Operators some of whose forms take the second operand first, or that were not compared with torch often enough."""


def overload(name: str) -> Any:
    packet, _, of_packet = name.partition(".")
    return getattr(getattr(aten, packet), of_packet or "default")


RULES: dict[Any, Callable[..., Outs]] = {
    **{overload(name): partial(elementwise_rule, gives, 1, True) for gives, names in _UNARY.items() for name in names},
    **{
        overload(name): partial(elementwise_rule, gives, 2, not name.startswith(_TURNED))
        for gives, names in _BINARY.items()
        for name in names
    },
    aten.clamp.default: clamp,
    aten.clamp.Tensor: clamp,
    aten.div.Tensor_mode: divided,
    aten.div.Scalar_mode: divided,
    aten.where.self: where,
    aten.where.ScalarSelf: where,
    aten.where.ScalarOther: where,
    aten.where.Scalar: where,
    aten.masked_fill.Scalar: masked_fill,
}
