"""Normalisation, softmax and dropout: the result is laid out as a contiguous input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from dynamo_lite.capture.operator_rules.layouts import is_settled
from dynamo_lite.capture.operator_rules.operands import (
    Operand,
    Outs,
    alike,
    is_dense,
    is_new_layout,
    laid_out,
    new,
    new_strided,
    wrapped,
)
from dynamo_lite.capture.operator_rules.sizes import Size, has, same

aten = torch.ops.aten


def layer_norm(
    input: Operand, normalized_shape: Sequence[int], weight: Operand | None = None, bias: Operand | None = None,
    eps: float = 1e-5, cudnn_enable: bool = True,
) -> Outs:  # fmt: skip
    if not _is_over_tail(input, normalized_shape, weight, bias):
        return None
    return new(input.shape, input.dtype) if _is_plain(input) else None


def rms_norm(
    input: Operand, normalized_shape: Sequence[int], weight: Operand | None = None, eps: float | None = None
) -> Outs:
    if not _is_over_tail(input, normalized_shape, weight, None) or not is_new_layout(input):
        return None
    return new(input.shape, input.dtype)


def _is_over_tail(input: Operand, sizes: Sequence[int], weight: Operand | None, bias: Operand | None) -> bool:
    tail = tuple(sizes)
    if not tail or not alike((input, weight, bias)) or input.shape[-len(tail) :] != tail or has(input.shape, 0):
        return False
    return all(operand is None or (operand.shape == tail and _is_plain(operand)) for operand in (weight, bias))


def _is_plain(operand: Operand) -> bool:
    """Whether `operand.contiguous()` is in a new tensor's layout: it may hand back one with other strides."""
    return is_new_layout(operand) or not operand.is_contiguous


def batch_norm(
    input: Operand, weight: Operand | None, bias: Operand | None, running_mean: Operand | None,
    running_var: Operand | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Outs:  # fmt: skip
    """On contiguous input, its statistics taken from it or given."""
    channels = (weight, bias, running_mean, running_var)
    if input.dim < 2 or not alike((input, *channels)) or not is_new_layout(input) or 0 in input.shape:
        return None
    if any(operand is not None and operand.shape != input.shape[1:2] for operand in channels):
        return None
    if (running_mean is None) != (running_var is None) or (running_mean is None and not training):
        return None
    if (weight is None) != (bias is None):
        return None
    if training and any(stat is not None and not is_new_layout(stat) for stat in (running_mean, running_var)):
        return None  # written to: their elements may share memory
    return new(input.shape, input.dtype)


def group_norm(
    input: Operand, num_groups: int, weight: Operand | None = None, bias: Operand | None = None, eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Outs:  # fmt: skip
    if input.dim < 2 or not alike((input, weight, bias)) or not is_new_layout(input) or has(input.shape, 0):
        return None
    if any(operand is not None and operand.shape != input.shape[1:2] for operand in (weight, bias)):
        return None
    return None if num_groups < 1 or input.shape[1] % num_groups else new(input.shape, input.dtype)


def softmax(self: Operand, dim: int, dtype: torch.dtype | None = None) -> Outs:
    """aten.softmax and log_softmax of contiguous floats."""
    at = wrapped(dim, self.dim)
    if at is None or not self.dtype.is_floating_point or dtype not in (None, self.dtype):
        return None
    if self.shape and type(self.shape[at]) is Size and not self.shape[at] >= 1:
        return None
    return new(self.shape, self.dtype) if is_new_layout(self) else None


def weight_norm(v: Operand, g: Operand, dim: int = 0) -> Outs:
    """aten._weight_norm of contiguous tensors: v, scaled along a dimension to the lengths g."""
    if not alike((v, g)) or type(dim) is not int or not 0 <= dim < v.dim or not is_new_layout(v) or has(v.shape, 0):
        return None
    lengths = tuple([size if index == dim else 1 for index, size in enumerate(v.shape)])
    return new(v.shape, v.dtype) if same(g.shape, lengths) and is_new_layout(g) else None


def dropout(input: Operand, p: float, train: bool) -> Outs:
    """In training a product with a mask. (One that is off is the recorder's: a sub-graph may not return its input.)"""
    if not train or type(p) is not float or not 0 < p < 1:
        return None
    if not input.dtype.is_floating_point or has(input.shape, 0):
        return None
    if is_new_layout(input):
        return new(input.shape, input.dtype)
    input = laid_out(input)
    is_simple = is_dense(input.shape, input.stride) and is_settled(input) and not has(input.shape, 1)
    return new_strided(input.shape, input.stride, input.dtype) if is_simple else None


RULES: dict[Any, Callable[..., Outs]] = {
    aten.layer_norm.default: layer_norm,
    aten.rms_norm.default: rms_norm,
    aten.batch_norm.default: batch_norm,
    aten.group_norm.default: group_norm,
    aten.softmax.int: softmax,
    aten.log_softmax.int: softmax,
    aten.dropout.default: dropout,
    aten._weight_norm.default: weight_norm,
}
