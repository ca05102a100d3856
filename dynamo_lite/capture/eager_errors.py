"""Which exception would eager raise? Asked when an operator fails on stand-ins in a way of their own.

A decomposition may say ValueError where the kernel says RuntimeError, and a program that catches the one would then go
another way. The real operator on empty memory of the same sizes tells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from dynamo_lite.capture._torch import FakeTensor, OpOverload

# What kernels raise themselves: stand-ins raise the same, from the same checks or from copies of them.
_KERNELS_RAISE = (RuntimeError, IndexError, TypeError, NotImplementedError)
_LIMIT = 1 << 24
"""Elements of the largest argument that is made: the kernel may run to its end."""


def of_eager(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], error: Exception) -> Exception | None:
    """The exception that eager raises for this call; None where `error` is it, or eager cannot be asked."""
    if isinstance(error, _KERNELS_RAISE):
        return None
    with torch._C.DisableTorchFunction(), _disable_current_modes(), torch._C._DisablePythonDispatcher():
        try:
            real_args = [_real(a) for a in args]
            real_kwargs = {k: _real(v) for k, v in kwargs.items()}
        except _CannotMake:
            return None
        try:
            func(*real_args, **real_kwargs)
        except Exception as eager:
            return eager.with_traceback(None)
    return None


def of_overlap(
    func: OpOverload, written: Sequence[torch.Tensor], args: Sequence[Any], kwargs: dict[str, Any]
) -> Exception | None:
    """What eager raises because elements that `func` writes share memory, with each other or with an operand.

    Stand-ins know of no such rule. Asked of the real kernel on zeros in the same memory layout, since kernels differ
    (fill_ and masked_fill_ do write to an expanded tensor). None where there is no such error.
    """
    if func.namespace != "aten" or not any(_may_overlap(tensor, (args, kwargs)) for tensor in written):
        return None
    with torch._C.DisableTorchFunction(), _disable_current_modes(), torch._C._DisablePythonDispatcher():
        storages: dict[int, torch.Tensor] = {}
        try:
            real_args = [_real(a, storages) for a in args]
            real_kwargs = {k: _real(v, storages) for k, v in kwargs.items()}
        except _CannotMake:
            return None
        try:
            with torch.no_grad():
                func(*real_args, **real_kwargs)
        except Exception as eager:
            return eager.with_traceback(None) if str(eager).startswith(_OVERLAPS) else None
    return None


_OVERLAPS = (
    "unsupported operation: more than one element",
    "unsupported operation: some elements",
)


def _may_overlap(tensor: torch.Tensor, operands: Any) -> bool:
    if type(tensor) is not FakeTensor or tensor.layout is not torch.strided:
        return False
    if any(_number(stride) == 0 and _number(size) != 1 for size, stride in zip(tensor.shape, tensor.stride())):
        return True
    storage = tensor.untyped_storage()._cdata
    others = (t for t in pytree.tree_leaves(operands) if type(t) is FakeTensor and t is not tensor)
    return any(t.layout is torch.strided and t.untyped_storage()._cdata == storage for t in others)


def rest_on_overlap(tensor: torch.Tensor) -> None:
    """Make it a guard that elements of the tensor share memory: with a size of 1 there would have been no error."""
    for size, stride in zip(tensor.shape, tensor.stride()):
        if type(size) is not int and _number(stride) == 0:
            bool(size > 1)


def _number(size: Any) -> Any:
    return size if type(size) is int else size.node.hint


class _CannotMake(Exception):
    """Memory too large to make, or a size that only run time knows."""


def _real(value: Any, storages: dict[int, torch.Tensor] | None = None) -> Any:
    """The argument as eager has it in the example. With `storages`: zeros, in memory that is shared as it is there."""
    if isinstance(value, FakeTensor):
        if value.layout is not torch.strided:
            raise _CannotMake
        shape, stride = _real(tuple(value.shape)), _real(tuple(value.stride()))
        if math.prod(shape) > _LIMIT:
            raise _CannotMake
        if storages is not None:
            return _in_storage(value, shape, stride, storages)
        made = torch.empty_strided(shape, stride, dtype=value.dtype)
        return made.requires_grad_(value.requires_grad)
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        hint = value.node.hint
        if hint is None:
            raise _CannotMake
        return hint
    if type(value) in (list, tuple):
        return type(value)(_real(v, storages) for v in value)
    return value


def _in_storage(value: FakeTensor, shape: Any, stride: Any, storages: dict[int, torch.Tensor]) -> torch.Tensor:
    offset = _real(value.storage_offset())
    needed = 1 + offset + sum((size - 1) * step for size, step in zip(shape, stride)) if math.prod(shape) else 0
    nbytes = _real(value.untyped_storage().nbytes())
    if not isinstance(nbytes, int) or max(nbytes, needed * value.dtype.itemsize) > _LIMIT:
        raise _CannotMake
    key = value.untyped_storage()._cdata
    if key not in storages:
        storages[key] = torch.zeros(max(nbytes, needed * value.dtype.itemsize), dtype=torch.uint8)
    empty = torch.empty(0, dtype=value.dtype)
    return empty.set_(storages[key].untyped_storage(), offset, shape, stride)
