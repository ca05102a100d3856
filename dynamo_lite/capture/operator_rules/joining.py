"""Joining tensors, repeating them, and indexing by tensors (TensorShape.cpp, TensorAdvancedIndexing.cpp)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from dynamo_lite.capture.operator_rules.layouts import broadcast, is_channels_last, like
from dynamo_lite.capture.operator_rules.operands import Operand, Outs, is_new_layout, laid_out, new, wrapped
from dynamo_lite.capture.operator_rules.sizes import has

aten = torch.ops.aten
_INDEX_TYPES = (torch.int64, torch.int32)


def cat(tensors: Sequence[Operand], dim: int = 0) -> Outs:
    """Tensors of one dtype, those without elements and sizes left out; one of them is not channels-last."""
    given = [t for t in tensors if not (t.dim == 1 and has(t.shape, 0))]
    if not given or any(t.dtype is not given[0].dtype for t in tensors):
        return None
    if not all(map(_joins_contiguously, tensors)) and not any(map(_suggests_contiguous, tensors)):
        return None
    first = given[0]
    at = wrapped(dim, first.dim)
    if at is None or first.dim == 0 or any(_is_empty(t, t.dim) or t.dim != first.dim for t in given):
        return None
    rest = (*first.shape[:at], *first.shape[at + 1 :])
    if any((*t.shape[:at], *t.shape[at + 1 :]) != rest for t in given):
        return None
    return new((*first.shape[:at], sum(t.shape[at] for t in given), *first.shape[at + 1 :]), first.dtype)


def _is_empty(operand: Operand, rank: int) -> bool:
    """Whether it has no elements. rank: that of the joined tensors; torch checks a possible image, for its layout."""
    return 0 in operand.shape if rank in (4, 5) else has(operand.shape, 0)


def _joins_contiguously(operand: Operand) -> bool:
    if is_new_layout(operand):
        return True
    numbers = all(type(size) is int for size in (*operand.shape, *operand.stride))
    return operand.is_contiguous if not numbers else operand.dim not in (3, 4, 5)


def _suggests_contiguous(operand: Operand) -> bool:
    """Whether suggest_memory_format is surely contiguous (c10/core/MemoryFormat.h); False means undecided."""
    if has((*operand.shape, *operand.stride), 0):
        return False
    operand = laid_out(operand)
    if operand.dim not in (4, 5):
        return True
    inner = 0
    for index in (1, *range(operand.dim - 1, 1, -1), 0):
        if operand.stride[index] < inner:
            return True
        inner = operand.stride[index] * operand.shape[index]
    return False


def stack(tensors: Sequence[Operand], dim: int = 0) -> Outs:
    if not tensors or any(t.dtype is not tensors[0].dtype or t.shape != tensors[0].shape for t in tensors):
        return None
    first = tensors[0]
    at = wrapped(dim, first.dim + 1)
    if at is None or _is_empty(first, first.dim + 1) or not all(_joins_contiguously(t) for t in tensors):
        return None
    return new((*first.shape[:at], len(tensors), *first.shape[at:]), first.dtype)


def embedding(
    weight: Operand, indices: Operand, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Outs:
    if weight.dim != 2 or indices.dtype not in _INDEX_TYPES:
        return None
    return new((*indices.shape, weight.shape[1]), weight.dtype)


def index(self: Operand, indices: Sequence[Operand | None]) -> Outs:
    """aten.index.Tensor by numbers for the first dimensions of a contiguous tensor, or for all of any."""
    given = [i for i in indices if i is not None]
    if not given or indices[: len(given)] != given or len(given) > self.dim:
        return None
    if not is_new_layout(self):
        every = len(given) == self.dim and all(i.is_plain and is_new_layout(i) for i in given)
        if not every or not self.is_plain:
            return None
    if any(i.dtype not in _INDEX_TYPES or has(i.shape, 0) for i in given) or has(self.shape, 0):
        return None
    sizes = broadcast([i.shape for i in given])
    return None if sizes is None else new((*sizes, *self.shape[len(given) :]), self.dtype)


def index_select(self: Operand, dim: int, index: Operand) -> Outs:
    at = wrapped(dim, self.dim)
    if at is None or self.dim == 0 or index.dim != 1 or index.dtype not in _INDEX_TYPES or not self.is_contiguous:
        return None
    if 0 in self.shape or 0 in index.shape:
        return None
    return new((*self.shape[:at], index.shape[0], *self.shape[at + 1 :]), self.dtype)


def gather(self: Operand, dim: int, index: Operand, *, sparse_grad: bool = False) -> Outs:
    at = wrapped(dim, self.dim)
    if at is None or self.dim != index.dim or self.dim == 0 or index.dtype is not torch.int64:
        return None
    if any(i > s for d, (i, s) in enumerate(zip(index.shape, self.shape)) if d != at):
        return None
    return new(index.shape, self.dtype) if index.is_contiguous and 0 not in index.shape else None


def diff(
    self: Operand, n: int = 1, dim: int = -1, prepend: Operand | None = None, append: Operand | None = None
) -> Outs:
    """aten.diff of numbers, once: the difference of two slices."""
    parts = [part for part in (prepend, self, append) if part is not None]
    at = wrapped(dim, self.dim)
    if n != 1 or at is None or self.dim == 0:
        return None
    if self.dtype is torch.bool or not all(part.is_plain for part in parts):
        return None
    if not is_new_layout(self) or 0 in self.shape or (len(parts) > 1 and cat(parts, at) is None):
        return None
    size = sum(part.shape[at] for part in parts) - 1
    return new((*self.shape[:at], size, *self.shape[at + 1 :]), self.dtype) if size > 0 else None


def repeat(self: Operand, repeats: Sequence[int]) -> Outs:
    missing = len(repeats) - self.dim
    if missing < 0 or any(count < 1 for count in repeats) or has(self.shape, 0):
        return None
    sizes = (*[1] * missing, *self.shape)
    return new([size * count for size, count in zip(sizes, repeats)], self.dtype)


def repeat_interleave(self: Operand, repeats: int, dim: int | None = None, *, output_size: int | None = None) -> Outs:
    """aten.repeat_interleave.self_int"""
    if type(repeats) is not int or repeats < 1 or output_size is not None or has(self.shape, 0) or self.dim == 0:
        return None
    if dim is None:
        return new((self.numel * repeats,), self.dtype)
    at = wrapped(dim, self.dim)
    if at is None or not self.is_contiguous:
        return None
    return new((*self.shape[:at], self.shape[at] * repeats, *self.shape[at + 1 :]), self.dtype)


def roll(self: Operand, shifts: Sequence[int], dims: Sequence[int] = ()) -> Outs:
    if 0 in self.shape or not self.is_contiguous or len(dims) != len(shifts) or not dims:
        return None
    return None if any(wrapped(dim, self.dim) is None for dim in dims) or self.dim == 0 else like(self)


def flip(self: Operand, dims: Sequence[int]) -> Outs:
    found = [wrapped(dim, self.dim) for dim in dims]
    if None in found or len({*found}) < len(found) or not is_new_layout(self) or self.dim == 0:
        return None
    return new(self.shape, self.dtype)


def triangle(self: Operand, diagonal: int = 0) -> Outs:
    """aten.tril, aten.triu"""
    return new(self.shape, self.dtype) if self.dim >= 2 and is_new_layout(self) else None


def pad(self: Operand, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Outs:
    """aten.pad by a constant, which leaves something of a contiguous tensor."""
    if mode != "constant" or len(pad) % 2 or len(pad) > 2 * self.dim or not self.is_contiguous or has(self.shape, 0):
        return None
    if self.dtype is torch.bool or (self.requires_grad and not torch.is_grad_enabled()):
        return None
    if self.dim in (4, 5) and is_channels_last(self):
        return None
    shape = [*self.shape]
    for index in range(len(pad) // 2):
        before, after = pad[2 * index : 2 * index + 2]
        if min(before, after) < -shape[-1 - index]:
            return None
        shape[-1 - index] += before + after
    if min(shape) < 1 or min(pad) < 0:
        return None
    return new(shape, self.dtype)


RULES: dict[Any, Callable[..., Outs]] = {
    aten.cat.default: cat,
    aten.concat.default: cat,
    aten.stack.default: stack,
    aten.embedding.default: embedding,
    aten.index.Tensor: index,
    aten.index_select.default: index_select,
    aten.gather.default: gather,
    aten.diff.default: diff,
    aten.repeat.default: repeat,
    aten.repeat_interleave.self_int: repeat_interleave,
    aten.roll.default: roll,
    aten.flip.default: flip,
    aten.tril.default: triangle,
    aten.triu.default: triangle,
    aten.pad.default: pad,
}
