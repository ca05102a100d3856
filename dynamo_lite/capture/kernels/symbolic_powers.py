"""`v ** n` and `n ** v`, n a size or an int of the data, where autograd runs during the trace (torch.func.grad).

What torch computes a power's gradient with asks in C++ whether the number is zero, which a symbolic int has no answer
to (torch 2.13: "NYI SymInt equality"). A tensor with the number gives the same powers, and a gradient without it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch

_POWERS: dict[Any, Any] = {
    torch.ops.aten.pow.Tensor_Scalar: torch.ops.aten.pow.Tensor_Tensor,
    torch.ops.aten.pow.Scalar: torch.ops.aten.pow.Tensor_Tensor,
    torch.ops.aten.pow_.Scalar: torch.ops.aten.pow_.Tensor,
}


def differentiable(mode: AbstractContextManager[Any], func: Any, args: Any) -> tuple[Any, Any]:
    """The operator and its arguments, or those that do the same with a tensor for the number. mode: what records them.

    Not for ints, of which a negative power is an error with a number.
    """
    if func not in _POWERS or all(type(arg) is not torch.SymInt for arg in args):
        return func, args
    tensor = next(arg for arg in args if isinstance(arg, torch.Tensor))
    if not tensor.is_floating_point() and not tensor.is_complex():
        return func, args
    with mode:
        powers = tuple(_as_tensor(arg, tensor.device) if type(arg) is torch.SymInt else arg for arg in args)
    return _POWERS[func], powers


def _as_tensor(number: Any, device: torch.device) -> torch.Tensor:
    return torch.scalar_tensor(number, dtype=torch.int64, device=device)
