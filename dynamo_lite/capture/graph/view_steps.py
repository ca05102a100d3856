"""How one tensor is a view of another on the same memory: the ATen view operators that lead there.

The two are given as they are, without the calls that made them. Offsets are relative to the base's first element, so
that the operators are right for a base whose memory begins elsewhere (a copy, a program that was loaded).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch

from dynamo_lite.capture._torch import OpOverload

_aten = torch.ops.aten


class ViewStep(NamedTuple):
    """One call `func(tensor, *args)`."""

    func: OpOverload
    args: tuple[Any, ...]


class ElementLayout(NamedTuple):
    """The memory layout of elements: sizes, strides and the first element, in elements."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    def span(self) -> int:
        """The number of elements from the first to the last."""
        return 1 + sum((n - 1) * s for n, s in zip(self.sizes, self.strides))


def view_steps(base: torch.Tensor, view: torch.Tensor, distance: int) -> list[ViewStep] | None:
    """The operators that make `view` of `base`, `distance` bytes behind its first; None if none of ours do.

    Both have elements. Gradients go through the operators exactly if `view` has requires_grad.
    """
    if base.is_conj() or base.is_neg() or distance % view.element_size() or view.requires_grad > base.requires_grad:
        return None
    ends = [ViewStep(_aten.detach.default, ())] if base.requires_grad and not view.requires_grad else []
    ends += [ViewStep(_aten._conj.default, ())] if view.is_conj() else []
    ends += [ViewStep(_aten._neg_view.default, ())] if view.is_neg() else []
    wanted = ElementLayout(tuple(view.shape), view.stride(), distance // view.element_size())
    start = _same_dtype(base, view)
    if start is None:
        steps = _bytes_of_another_dtype(base, view, distance)
        return [*steps, *ends] if steps is not None and _leads_to(_like(base), steps, wanted, view.dtype) else None
    like = _applied(_like(base), start)
    assert like is not None
    for steps in _candidates(like, wanted):
        if _leads_to(like, steps, wanted):
            found = [*start, *steps, *ends]
            return found or [ViewStep(_aten.view.default, (list(wanted.sizes),))]  # another tensor than the base itself
    return None


def _same_dtype(base: torch.Tensor, view: torch.Tensor) -> list[ViewStep] | None:
    """Operators after which `base` has the dtype of `view`, its elements where they were."""
    if base.dtype is view.dtype:
        return []
    if base.dtype.is_complex and base.dtype.to_real() is view.dtype:
        return [ViewStep(_aten.view_as_real.default, ())]
    if base.element_size() == view.element_size() and not view.requires_grad:
        return [ViewStep(_aten.view.dtype, (view.dtype,))]
    return None


def _bytes_of_another_dtype(base: torch.Tensor, view: torch.Tensor, distance: int) -> list[ViewStep] | None:
    """`view` shows the bytes of a contiguous `base` as elements of another size."""
    size = base.element_size()
    used = ElementLayout(tuple(view.shape), view.stride(), 0).span() * view.element_size()
    if not base.is_contiguous() or not view.is_contiguous() or distance % size or used % size or view.requires_grad:
        return None
    first = distance // size
    flat = [ViewStep(_aten.view.default, ([-1],)), ViewStep(_aten.slice.Tensor, (0, first, first + used // size))]
    return [*flat, ViewStep(_aten.view.dtype, (view.dtype,)), ViewStep(_aten.view.default, (list(view.shape),))]


def _candidates(base: torch.Tensor, wanted: ElementLayout) -> Iterator[list[ViewStep]]:
    yield []
    by_dims = _by_dimensions(base, wanted)
    if by_dims is not None:
        yield by_dims
    if base.is_contiguous() and wanted.offset + wanted.span() <= base.numel():
        flat = [] if base.dim() == 1 else [ViewStep(_aten.view.default, ([-1],))]
        if wanted.span() != base.numel():
            flat.append(ViewStep(_aten.slice.Tensor, (0, wanted.offset, wanted.offset + wanted.span())))
        yield [*flat, ViewStep(_aten.view.default, (list(wanted.sizes),))]
    if base.is_contiguous() and base.storage_offset() == 0:
        yield [ViewStep(_aten.as_strided.default, (list(wanted.sizes), list(wanted.strides), wanted.offset))]


def _by_dimensions(base: torch.Tensor, wanted: ElementLayout) -> list[ViewStep] | None:
    """Slices and selections of the base's dimensions, then another order of those that are left."""
    first = _indices(tuple(base.shape), base.stride(), wanted.offset)
    if first is None:
        return None
    taken: dict[int, tuple[int, int]] = {}  # dimension of the base: (dimension of the view, step)
    for place, (size, stride) in enumerate(zip(wanted.sizes, wanted.strides)):
        if size > 1 and stride:
            found = _dimension_of(base, first, size, stride, taken)
            if found is None:
                return None
            taken[found] = (place, stride // base.stride(found))
    return [
        *_selections(base, first, wanted.sizes, taken),
        *_arranged(wanted, [taken[dim][0] for dim in sorted(taken)]),
    ]


def _indices(sizes: Sequence[int], strides: Sequence[int], offset: int) -> list[int] | None:
    """The indices of the element at `offset`."""
    found = [0] * len(sizes)
    for dim in sorted(range(len(sizes)), key=lambda d: -strides[d]):
        if sizes[dim] > 1 and strides[dim]:
            found[dim] = min(offset // strides[dim], sizes[dim] - 1)
            offset -= found[dim] * strides[dim]
    return None if offset else found


def _dimension_of(
    base: torch.Tensor, first: list[int], size: int, stride: int, taken: dict[int, tuple[int, int]]
) -> int | None:
    """The dimension of the base along which a dimension of the view goes."""
    fitting = [
        dim
        for dim, (n, s) in enumerate(zip(base.shape, base.stride()))
        if dim not in taken and s and stride % s == 0 and first[dim] + (size - 1) * (stride // s) < n
    ]
    return max(fitting, key=base.stride, default=None)


def _selections(
    base: torch.Tensor, first: list[int], sizes: Sequence[int], taken: dict[int, tuple[int, int]]
) -> Iterator[ViewStep]:
    for dim in reversed(range(base.dim())):
        if dim not in taken:
            yield ViewStep(_aten.select.int, (dim, first[dim]))
            continue
        place, step = taken[dim]
        stop = first[dim] + (sizes[place] - 1) * step + 1
        if (first[dim], step, stop) != (0, 1, base.shape[dim]):
            yield ViewStep(_aten.slice.Tensor, (dim, first[dim], stop, *((step,) if step > 1 else ())))


def _arranged(wanted: ElementLayout, places: list[int]) -> Iterator[ViewStep]:
    """From dimensions that go to `places` of the view to all of its dimensions."""
    order = sorted(range(len(places)), key=places.__getitem__)
    if order != [*range(len(places))]:
        yield ViewStep(_aten.permute.default, (order,))
    for place in range(len(wanted.sizes)):
        if place not in places:
            yield ViewStep(_aten.unsqueeze.default, (place,))
    if any(place not in places and size > 1 for place, size in enumerate(wanted.sizes)):
        yield ViewStep(_aten.expand.default, (list(wanted.sizes),))


def _like(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


def _applied(tensor: torch.Tensor, steps: Sequence[ViewStep]) -> torch.Tensor | None:
    try:
        for step in steps:
            tensor = step.func(tensor, *step.args)
    except (RuntimeError, IndexError):  # this operator cannot: another candidate may
        return None
    return tensor


def _leads_to(
    like: torch.Tensor, steps: Sequence[ViewStep], wanted: ElementLayout, dtype: torch.dtype | None = None
) -> bool:
    made = _applied(like, steps)
    if made is None or (dtype is not None and made.dtype is not dtype):
        return False
    same = tuple(made.shape) == wanted.sizes and made.storage_offset() == wanted.offset
    return same and all(a == b for n, a, b in zip(wanted.sizes, made.stride(), wanted.strides) if n > 1)
