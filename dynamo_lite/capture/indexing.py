"""Indexing a tensor by an integer that is known at run time only, or depends on sizes.

`x[n - 1]`, `x[:, n] = 0` and `x[scores.argmax()]` take the number in C (applySlicing in
torch/csrc/autograd/python_variable_indexing.cpp). An integer among the indices means `select` on its dimension, before
anything else is looked at; as `select` it may stay symbolic.
"""

from __future__ import annotations

from typing import Any

import torch


def select_sizes(tensor: torch.Tensor, key: Any) -> tuple[torch.Tensor, Any]:
    """`(tensor, key)` with each symbolic integer in the key replaced by a `select` of the tensor.

    An integer tensor without dimensions is one: its value.
    """
    items = key if isinstance(key, tuple) else (key,)
    if not any(type(item) is torch.SymInt or _is_number(item) for item in items):
        return tensor, key
    items = tuple(item.item() if _is_number(item) else item for item in items)
    taken = [_dimensions(item) for item in items]
    rest = tensor.dim() - sum(n for n in taken if n is not None)
    if rest < 0:
        return tensor, key  # too many indices: torch's own error
    left: list[Any] = []
    dim = 0
    for item, count in zip(items, taken):
        if type(item) is torch.SymInt or type(item) is int:
            tensor = tensor.select(dim, item)
            continue
        left.append(item)
        dim += rest if count is None else count
    return tensor, tuple(left)


def _is_number(item: Any) -> bool:
    """Whether C would take the value of a tensor for an integer. (Bytes and bools are masks.)"""
    return (
        isinstance(item, torch.Tensor)
        and item.dim() == 0
        and not (item.is_floating_point() or item.is_complex() or item.dtype in _MASKS)
    )


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
