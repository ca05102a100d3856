"""Which exception would eager raise? Asked when an operator fails on stand-ins in a way of their own.

A decomposition may say ValueError where the kernel says RuntimeError, and a program that catches the one would then go
another way. The real operator on empty memory of the same sizes tells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
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


class _CannotMake(Exception):
    """Memory too large to make, or a size that only run time knows."""


def _real(value: Any) -> Any:
    """The argument as eager has it in the example."""
    if isinstance(value, FakeTensor):
        if value.layout is not torch.strided:
            raise _CannotMake
        shape, stride = _real(tuple(value.shape)), _real(tuple(value.stride()))
        if math.prod(shape) > _LIMIT:
            raise _CannotMake
        made = torch.empty_strided(shape, stride, dtype=value.dtype)
        return made.requires_grad_(value.requires_grad)
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        hint = value.node.hint
        if hint is None:
            raise _CannotMake
        return hint
    if type(value) in (list, tuple):
        return type(value)(_real(v) for v in value)
    return value
