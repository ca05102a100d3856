"""Products of matrices (aten/src/ATen/native/LinearAlgebra.cpp, Linear.cpp): their results are contiguous."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from dynamo_lite.capture.operator_rules.operands import Operand, Outs, alike, new
from dynamo_lite.capture.operator_rules.sizes import has

aten = torch.ops.aten


def linear(input: Operand, weight: Operand, bias: Operand | None = None) -> Outs:
    if not alike((input, weight, bias)) or input.dim < 2 or weight.dim != 2 or input.shape[-1] != weight.shape[1]:
        return None
    if bias is not None and bias.shape != weight.shape[:1]:
        return None
    return new((*input.shape[:-1], weight.shape[0]), input.dtype)


def mm(self: Operand, mat2: Operand) -> Outs:
    if self.dtype is not mat2.dtype or self.dim != 2 or mat2.dim != 2 or self.shape[1] != mat2.shape[0]:
        return None
    return new((self.shape[0], mat2.shape[1]), self.dtype)


def bmm(self: Operand, mat2: Operand) -> Outs:
    if self.dtype is not mat2.dtype or self.dim != 3 or mat2.dim != 3 or self.shape[0] != mat2.shape[0]:
        return None
    if self.shape[2] != mat2.shape[1]:
        return None
    return new((*self.shape[:2], mat2.shape[2]), self.dtype)


def addmm(self: Operand, mat1: Operand, mat2: Operand, *, beta: Any = 1, alpha: Any = 1) -> Outs:
    out = mm(mat1, mat2)
    if not alike((self, mat1, mat2)) or not isinstance(out, tuple) or self.dim > 2:
        return None
    expands = all(a in (1, b) for a, b in zip(reversed(self.shape), reversed(out[0])))
    return out if expands else None


def matmul(self: Operand, other: Operand) -> Outs:
    """Of two matrices, or batches of them with equal sizes of the batch (or one matrix on the right)."""
    if self.dim == 2 and other.dim == 2:
        return mm(self, other) if alike((self, other)) else None
    if not alike((self, other)) or self.dim < 3 or other.dim < 2 or self.shape[-1] != other.shape[-2]:
        return None
    if has(self.shape, 0) or has(other.shape, 0) or (other.dim > 2 and self.shape[:-2] != other.shape[:-2]):
        return None
    return new((*self.shape[:-1], other.shape[-1]), self.dtype)


RULES: dict[Any, Callable[..., Outs]] = {
    aten.linear.default: linear,
    aten.mm.default: mm,
    aten.bmm.default: bmm,
    aten.addmm.default: addmm,
    aten.matmul.default: matmul,
}
