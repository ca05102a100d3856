"""Indexing a tensor by an integer that is unbacked or depends on sizes, or by a mask of one element.

`x[n - 1]`, `x[:, n] = 0` and `x[scores.argmax()]` take the number in C (applySlicing in
torch/csrc/autograd/python_variable_indexing.cpp). An integer among the indices means `select` on its dimension, before
the other indices apply; as `select` it may stay symbolic.

For `loss[loss.isnan()] = 0`, C evaluates the mask: a mask without dimensions makes a new dimension of one, of which it
takes all or nothing. As a mask with one element for that dimension, it is not evaluated.
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.capture.interfaces import OperatorRecording
from dynamo_lite.capture.kernels.functorch import is_batched


def without_numbers(recorder: OperatorRecording, tensor: torch.Tensor, key: Any) -> tuple[torch.Tensor, Any]:
    """`(tensor, key)`, for which C needs no unbacked number.

    Each symbolic integer in the key is replaced by a `select` of the tensor. An integer tensor without dimensions is
    one: its value. So are bounds of slices. A mask without dimensions is replaced by one of one element. A condition on
    sizes is evaluated: it is a mask, not a number.
    """
    items = key if isinstance(key, tuple) else (key,)
    if torch.SymBool in map(type, items):
        items = tuple(bool(item) if type(item) is torch.SymBool else item for item in items)
        key = items if isinstance(key, tuple) else items[0]
    if any(isinstance(item, torch.Tensor) and _is_small_mask(item) for item in items):
        tensor, items = _with_rows(recorder, tensor, items)
        key = items
    if any(type(item) is slice and _has_tensor(item) for item in items):
        items = tuple(_with_numbers(item) if type(item) is slice else item for item in items)
        key = items if isinstance(key, tuple) else items[0]
    if not any(type(item) is torch.SymInt or _is_number(item) for item in items):
        return tensor, key
    items = tuple(item.item() if _is_number(item) else item for item in items)
    taken, rest = _taken(tensor, items)
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


def _with_rows(
    recorder: OperatorRecording, tensor: torch.Tensor, items: tuple[Any, ...]
) -> tuple[torch.Tensor, tuple[Any, ...]]:
    """Masks without dimensions get one of their own: `x[:, m]` is `x.unsqueeze(1)[:, m.reshape(1)]`."""
    taken, rest = _taken(tensor, items)
    if rest < 0:
        return tensor, items  # too many indices: torch's own error
    made: list[Any] = []
    dim = 0
    for item, count in zip(items, taken):
        if isinstance(item, torch.Tensor) and _is_small_mask(item) and not _is_constant(recorder, item):
            tensor, item, count = tensor.unsqueeze(dim), _row(recorder, item), 1
        made.append(item)
        dim += rest if count is None else count
    return tensor, tuple(made)


def _is_small_mask(item: torch.Tensor) -> bool:
    return item.dtype is torch.bool and item.dim() == 0 and not is_batched(item)


def _is_constant(recorder: OperatorRecording, mask: torch.Tensor) -> bool:
    """Whether the mask holds the same in each call: C gets to know what."""
    return recorder.constant_values.of(recorder.fake(mask)) is not None


def _row(recorder: OperatorRecording, mask: torch.Tensor) -> torch.Tensor:
    """The mask with a dimension. There is one for each mask as long as it is not changed: what `x[m]` and `y[m]` take
    is of the same size then."""
    fake = recorder.fake(mask)
    if fake.is_inference():  # it has no version
        return mask.reshape(1)
    rows = recorder.level.mask_rows
    if id(fake) not in rows or rows[id(fake)][1] != fake._version:
        rows[id(fake)] = fake, fake._version, mask.reshape(1)
    return rows[id(fake)][2]


def _is_integer(item: Any) -> bool:
    return type(item) is torch.SymInt or type(item) is int


def _is_number(item: Any) -> bool:
    """Whether C would take the value of a tensor for an integer. (Bytes and bools are masks; an index that torch.vmap
    maps over has a value for each element, and stays a tensor.)"""
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


def _taken(tensor: torch.Tensor, items: tuple[Any, ...]) -> tuple[list[int | None], int]:
    """How many dimensions each index uses up, None for an ellipsis; how many are left for that."""
    taken = [_dimensions(item) for item in items]
    return taken, tensor.dim() - sum(n for n in taken if n is not None)


def _dimensions(item: Any) -> int | None:
    """How many dimensions of the tensor an index uses up; None for an ellipsis: the rest."""
    if item is Ellipsis:
        return None
    if item is None or isinstance(item, bool):
        return 0
    if isinstance(item, torch.Tensor):
        return item.dim() if item.dtype in _MASKS else 1
    return _depth(item)


def _depth(items: Any) -> int:
    """The number of dimensions indexed by a list (nested or not) or an array, of which torch makes a tensor or mask."""
    depth, first = 0, items
    while isinstance(first, (list, tuple)) and first:
        depth, first = depth + 1, first[0]
    is_mask = isinstance(first, bool) or str(getattr(first, "dtype", "")) in _MASK_NAMES
    return depth + int(getattr(first, "ndim", 0)) if is_mask else 1


_MASK_NAMES = frozenset(name for dtype in _MASKS for name in (str(dtype), str(dtype).removeprefix("torch.")))
"""Of torch's dtypes and numpy's."""
