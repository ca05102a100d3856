"""torch.vmap, torch.func.grad, vjp, jvp, ...: what they come down to is recorded, operator by operator.

functorch keeps a stack of transforms. An operator on wrapped tensors enters at its innermost transform, which turns it
into operators on what is wrapped, one layer further out, until plain tensors are left. The recorder's key (PreDispatch)
comes before functorch's own, so it sees the operator at each of these steps. It lets wrapped tensors pass, and
records the last step: plain ATen operators on the program's tensors. Nothing of functorch is left in the program,
and autograd differentiates the program as it would the transform (each recorded operator is above autograd).

Checked against torch 2.13.0 (aten/src/ATen/functorch/DynamicLayer.cpp).
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_FRONT = torch._C.DispatchKey.FuncTorchDynamicLayerFrontMode
_PRE_DISPATCH = torch._C.DispatchKeySet(torch._C.DispatchKey.PreDispatch)


def active(args: Any, kwargs: Any) -> bool:
    """Whether an operator with these arguments is to be handled by a functorch transform first."""
    return _enters_stack() or _any_wrapped(args) or bool(kwargs and _any_wrapped(kwargs.values()))


def _enters_stack() -> bool:
    included = torch._C._dispatch_tls_is_dispatch_key_included(_FRONT)
    return bool(included and not torch._C._dispatch_tls_is_dispatch_key_excluded(_FRONT))


def _any_wrapped(values: Any) -> bool:
    for value in values:
        if isinstance(value, torch.Tensor):
            if torch._C._functorch.is_functorch_wrapped_tensor(value):
                return True
        elif isinstance(value, (list, tuple)) and _any_wrapped(value):
            return True
    return False


def lower(mode: TorchDispatchMode, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Hands an operator to functorch, with the recorder still watching for what it makes of it."""
    with mode:
        if _enters_stack():
            return func._op_dk(_FRONT, *args, **kwargs)
        with torch._C._ExcludeDispatchKeyGuard(_PRE_DISPATCH):  # functorch restores the keys when it goes further out
            return func(*args, **kwargs)
