"""Which exception would eager raise? Asked when an operator fails on stand-ins in a way of their own.

A decomposition may say ValueError where the kernel says RuntimeError, and a program that catches the one would then go
another way. The real operator on empty memory of the same sizes tells.
"""

from __future__ import annotations

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
        except _TooLarge:
            return None
        try:
            func(*real_args, **real_kwargs)
        except Exception as eager:
            return eager.with_traceback(None)
    return None


class _TooLarge(Exception):
    pass


def _real(value: Any) -> Any:
    if isinstance(value, FakeTensor):
        if value.numel() > _LIMIT or value.layout is not torch.strided:
            raise _TooLarge
        made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
        return made.requires_grad_(value.requires_grad)
    if type(value) in (list, tuple):
        return type(value)(_real(v) for v in value)
    return value
