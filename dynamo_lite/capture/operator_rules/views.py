"""Views: sizes and strides computed from those of the operand (aten/src/ATen/native/TensorShape.cpp)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch

from dynamo_lite.capture.operator_rules.layouts import inferred, is_viewable, view_strides
from dynamo_lite.capture.operator_rules.operands import (
    Operand,
    Out,
    Outs,
    contiguous_strides,
    new_strided,
    view,
    wrapped,
)
from dynamo_lite.capture.operator_rules.sizes import Size, greatest, has, least, same, slice_of

aten = torch.ops.aten


def as_view(self: Operand, size: Sequence[int]) -> Outs:
    """aten.view"""
    shape = inferred(self.numel, size)
    stride = None if shape is None else view_strides(self.shape, self.stride, shape)
    return None if shape is None or stride is None else view(self, shape, stride)


def reshape(self: Operand, shape: Sequence[int]) -> Outs:
    """A view where there is one, else a copy."""
    sizes = inferred(self.numel, shape)
    if sizes is None or has(self.shape, 0):
        return None
    stride = view_strides(self.shape, self.stride, sizes)
    if stride is not None:
        return view(self, sizes, stride)
    copied = view_strides(self.shape, contiguous_strides(self.shape), sizes)  # it is a view of a contiguous copy
    if copied is None or is_viewable(self.shape, self.stride, sizes):
        return None
    return new_strided(sizes, copied, self.dtype)


def flatten(self: Operand, start_dim: int = 0, end_dim: int = -1) -> Outs:
    start, end = wrapped(start_dim, self.dim), wrapped(end_dim, self.dim)
    if start is None or end is None or not start < end < self.dim:
        return None
    sizes = self.shape
    return reshape(self, [*sizes[:start], prod(sizes[start : end + 1]), *sizes[end + 1 :]])


def unflatten(self: Operand, dim: int, sizes: Sequence[int]) -> Outs:
    at = wrapped(dim, self.dim)
    if at is None or self.dim == 0 or has(self.shape, 0):
        return None
    parts = inferred(self.shape[at], sizes)
    return None if not parts else as_view(self, [*self.shape[:at], *parts, *self.shape[at + 1 :]])


def permute(self: Operand, dims: Sequence[int]) -> Outs:
    order = [wrapped(dim, self.dim) for dim in dims]
    if None in order or sorted(order) != [*range(self.dim)]:  # type: ignore[type-var]
        return None
    return _permuted(self, order)  # type: ignore[arg-type]


def transpose(self: Operand, dim0: int, dim1: int) -> Outs:
    one, other = wrapped(dim0, self.dim), wrapped(dim1, self.dim)
    if one is None or other is None or self.dim == 0:
        return None
    order = [*range(self.dim)]
    order[one], order[other] = other, one
    return _permuted(self, order)


def t(self: Operand) -> Outs:
    return None if self.dim > 2 else _permuted(self, range(self.dim)[::-1])


def _permuted(self: Operand, order: Sequence[int]) -> Out:
    return view(self, [self.shape[d] for d in order], [self.stride[d] for d in order])


def unsqueeze(self: Operand, dim: int) -> Outs:
    at = wrapped(dim, self.dim + 1)
    if at is None:
        return None
    step = self.shape[at] * self.stride[at] if at < self.dim else 1
    return view(self, (*self.shape[:at], 1, *self.shape[at:]), (*self.stride[:at], step, *self.stride[at:]))


def squeeze(self: Operand, dim: int) -> Outs:
    """aten.squeeze.dim"""
    at = wrapped(dim, self.dim)
    return None if at is None else _squeezed(self, {at})


def squeeze_all(self: Operand) -> Outs:
    return _squeezed(self, {*range(self.dim)})


def _squeezed(self: Operand, dims: set[int]) -> Out:
    kept = [d for d in range(self.dim) if d not in dims or self.shape[d] != 1]
    return view(self, [self.shape[d] for d in kept], [self.stride[d] for d in kept])


def slice_(self: Operand, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Outs:
    """aten.slice.Tensor"""
    at = wrapped(dim, self.dim)
    if at is None or self.dim == 0 or step < 1:
        return None
    size = self.shape[at]
    if type(size) is Size or type(start) is Size or type(end) is Size:
        start = 0 if start is None else start
        to_the_end = end is None or (type(end) is int and end == _TO_THE_END)
        first, length = slice_of(start, size if to_the_end else end, size)
        count = length if step == 1 else (length + (step - 1)) // step
        if type(count) is Size:
            count = count.settled()
            if type(count) is Size and count.is_one_at_most():
                return None  # whether there is an element decides the layout of the rest
        return _cut(self, at, first, count, step)
    first, stop, _ = slice(start, end).indices(size)
    count = max(stop - first + step - 1, 0) // step
    return _cut(self, at, first, count, step)


_TO_THE_END = 2**63 - 1


def narrow(self: Operand, dim: int, start: int, length: int) -> Outs:
    at = wrapped(dim, self.dim)
    if at is None or self.dim == 0 or length < 0 or not -self.shape[at] <= start <= self.shape[at]:
        return None
    first = start + self.shape[at] if start < 0 else start
    return None if first + length > self.shape[at] else _cut(self, at, first, length)


def _cut(self: Operand, at: int, first: int, count: int, step: int = 1) -> Out:
    shape, stride = [*self.shape], [*self.stride]
    shape[at], stride[at] = count, stride[at] * step
    return view(self, shape, stride, self.offset + first * self.stride[at])


def select(self: Operand, dim: int, index: int) -> Outs:
    """aten.select.int"""
    at = wrapped(dim, self.dim)
    if at is None or self.dim == 0 or type(index) is not int or not -self.shape[at] <= index < self.shape[at]:
        return None
    return _selected(self, at, index if index >= 0 else index + self.shape[at])


def unbind(self: Operand, dim: int = 0) -> Outs:
    at = wrapped(dim, self.dim)
    if at is None or self.dim == 0:
        return None
    return [_selected(self, at, index) for index in range(self.shape[at])]


def _selected(self: Operand, at: int, index: int) -> Out:
    shape, stride = self.shape, self.stride
    offset = self.offset + index * stride[at]
    return view(self, (*shape[:at], *shape[at + 1 :]), (*stride[:at], *stride[at + 1 :]), offset)


def expand(self: Operand, size: Sequence[int], *, implicit: bool = False) -> Outs:
    missing = len(size) - self.dim
    # torch's forms differ in the stride of a new dimension of one element.
    if missing < 0 or has(size[:missing], 1):
        return None
    shape, stride = [*size], [0] * len(size)
    for index in range(len(size) - 1, -1, -1):
        if index < missing:
            have, step = 1, shape[index + 1] * stride[index + 1] if index + 1 < len(size) else 1
        else:
            have, step = self.shape[index - missing], self.stride[index - missing]
        if shape[index] == -1:
            if index < missing:
                return None
            shape[index] = have
        if same((shape[index],), (have,)):
            stride[index] = step
        elif shape[index] < 0 or not (has((have,), 1) or shape[index] == have):
            return None
    return view(self, shape, stride)


def expand_as(self: Operand, other: Operand) -> Outs:
    return expand(self, other.shape)


def view_as(self: Operand, other: Operand) -> Outs:
    return as_view(self, other.shape)


def split(self: Operand, split_size: int, dim: int = 0) -> Outs:
    """aten.split.Tensor"""
    at = wrapped(dim, self.dim)
    if at is None or self.dim == 0 or split_size < 1 or self.shape[at] == 0:
        return None
    size = self.shape[at]
    return [_cut(self, at, first, min(split_size, size - first)) for first in range(0, size, split_size)]


def split_with_sizes(self: Operand, split_sizes: Sequence[int], dim: int = 0) -> Outs:
    at = wrapped(dim, self.dim)
    if at is None or self.dim == 0 or any(size < 0 for size in split_sizes) or sum(split_sizes) != self.shape[at]:
        return None
    outs, first = [], 0
    for size in split_sizes:
        outs.append(_cut(self, at, first, size))
        first += size
    return outs


def chunk(self: Operand, chunks: int, dim: int = 0) -> Outs:
    at = wrapped(dim, self.dim)
    if at is None or self.dim == 0 or chunks < 1 or self.shape[at] == 0:
        return None
    return split(self, -(-self.shape[at] // chunks), at)


def tensor_split(self: Operand, sections: int, dim: int = 0) -> Outs:
    """aten.tensor_split.sections: so many parts, of which the first ones have one element more if need be."""
    at = wrapped(dim, self.dim)
    if at is None or self.dim == 0 or type(sections) is not int or sections < 1:
        return None
    each, left = self.shape[at] // sections, self.shape[at] % sections
    firsts = [each * index + least(left, index) for index in range(sections)]
    return [_cut(self, at, first, each + least(greatest(left - i, 0), 1)) for i, first in enumerate(firsts)]


def alias(self: Operand) -> Outs:
    return view(self, self.shape, self.stride)


def detach(self: Operand) -> Outs:
    """A view that never requires grad."""
    return view(self, self.shape, self.stride)._replace(differentiable=False)


RULES: dict[Any, Callable[..., Outs]] = {
    aten.view.default: as_view,
    aten.reshape.default: reshape,
    aten.flatten.using_ints: flatten,
    aten.unflatten.int: unflatten,
    aten.permute.default: permute,
    aten.transpose.int: transpose,
    aten.t.default: t,
    aten.unsqueeze.default: unsqueeze,
    aten.squeeze.dim: squeeze,
    aten.squeeze.default: squeeze_all,
    aten.slice.Tensor: slice_,
    aten.narrow.default: narrow,
    aten.select.int: select,
    aten.unbind.int: unbind,
    aten.expand.default: expand,
    aten.expand_as.default: expand_as,
    aten.view_as.default: view_as,
    aten.split.Tensor: split,
    aten.split_with_sizes.default: split_with_sizes,
    aten.chunk.default: chunk,
    aten.tensor_split.sections: tensor_split,
    aten.alias.default: alias,
    aten.detach.default: detach,
}
