"""Indexing a tensor by an integer that is known at run time only, or depends on sizes.

`x[n - 1]`, `x[:, n] = 0` and `x[scores.argmax()]` take the number in C (applySlicing in
torch/csrc/autograd/python_variable_indexing.cpp). An integer among the indices means `select` on its dimension, before
anything else is looked at; as `select` it may stay symbolic.
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.capture.kernels.functorch import is_batched


def select_sizes(tensor: torch.Tensor, key: Any) -> tuple[torch.Tensor, Any]:
    """`(tensor, key)` with each symbolic integer in the key replaced by a `select` of the tensor.

    An integer tensor without dimensions is one: its value. So are bounds of slices.
    """
    items = key if isinstance(key, tuple) else (key,)
    if any(type(item) is slice and _has_tensor(item) for item in items):
        items = tuple(_with_numbers(item) if type(item) is slice else item for item in items)
        key = items if isinstance(key, tuple) else items[0]
    if not any(type(item) is torch.SymInt or _is_number(item) for item in items):
        return tensor, key
    items = tuple(item.item() if _is_number(item) else item for item in items)
    taken = [_dimensions(item) for item in items]
    rest = tensor.dim() - sum(n for n in taken if n is not None)
    if rest < 0:
        return tensor, key  # too many indices: torch's own error
    left: list[Any] = []
    dim = 0
    last = max(i for i, item in enumerate(items) if _is_integer(item))
    for i, (item, count) in enumerate(zip(items, taken)):
        if _is_integer(item):
            tensor = tensor.select(dim, item)
            continue
        if item is None and i < last:  # in the order of the indices: the stride of a new dimension is that of the next
            tensor, item, count = tensor.unsqueeze(dim), slice(None), 1
        left.append(item)
        dim += rest if count is None else count
    return tensor, tuple(left)


def _is_integer(item: Any) -> bool:
    return type(item) is torch.SymInt or type(item) is int


def _is_number(item: Any) -> bool:
    """Whether C would take the value of a tensor for an integer. (Bytes and bools are masks; an index that torch.vmap
    maps over has a value for each round, and stays a tensor.)"""
    return (
        isinstance(item, torch.Tensor)
        and item.dim() == 0
        and not (item.is_floating_point() or item.is_complex() or item.dtype in _MASKS)
        and not is_batched(item)
    )


def _has_tensor(bounds: slice) -> bool:
    return any(isinstance(bound, torch.Tensor) for bound in (bounds.start, bounds.stop, bounds.step))


def _with_numbers(bounds: slice) -> slice:
    """The slice with the values of integer tensors of one element, as C would take them (`Tensor.__index__`)."""
    return slice(*map(_bound, (bounds.start, bounds.stop, bounds.step)))


def _bound(bound: Any) -> Any:
    if not isinstance(bound, torch.Tensor) or bound.is_floating_point() or bound.is_complex():
        return bound
    return bound.item() if bound.dtype is not torch.bool and bound.numel() == 1 else bound


_MASKS = (torch.bool, torch.uint8)


def _dimensions(item: Any) -> int | None:
    """How many dimensions of the tensor an index uses up; None for an ellipsis: the rest."""
    if item is Ellipsis:
        return None
    if item is None or isinstance(item, bool):
        return 0
    if isinstance(item, torch.Tensor) and item.dtype in _MASKS:
        return item.dim()
    return 1
