"""The private torch API for dispatch keys and modes, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

from torch import _C as _C
from torch._C import DisableTorchFunction as DisableTorchFunction
from torch._C import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from torch._C import DispatchKey as DispatchKey
from torch._C import DispatchKeySet as DispatchKeySet
from torch._C import _AutoDispatchBelowAutograd as _AutoDispatchBelowAutograd
from torch._C import _autograd as _autograd
from torch._C import _disabled_torch_function_impl as _disabled_torch_function_impl
from torch._C import _DisablePythonDispatcher as _DisablePythonDispatcher
from torch._C import _DisableTorchDispatch as _DisableTorchDispatch
from torch._C import _dispatch_has_kernel_for_dispatch_key as _dispatch_has_kernel_for_dispatch_key
from torch._C import _dispatch_tls_is_dispatch_key_excluded as _dispatch_tls_is_dispatch_key_excluded
from torch._C import _dispatch_tls_is_dispatch_key_included as _dispatch_tls_is_dispatch_key_included
from torch._C import _ExcludeDispatchKeyGuard as _ExcludeDispatchKeyGuard
from torch._C import _get_dispatch_mode as _get_dispatch_mode
from torch._C import _len_torch_dispatch_stack as _len_torch_dispatch_stack
from torch._C import _len_torch_function_stack as _len_torch_function_stack
from torch._C import _pop_torch_function_stack as _pop_torch_function_stack
from torch._C import _push_on_torch_function_stack as _push_on_torch_function_stack
from torch._C import _TorchDispatchModeKey as _TorchDispatchModeKey
from torch.overrides import _get_current_function_mode_stack as _get_current_function_mode_stack
from torch.utils._python_dispatch import TorchDispatchMode as TorchDispatchMode
from torch.utils._python_dispatch import _disable_current_modes as _disable_current_modes
from torch.utils._python_dispatch import is_traceable_wrapper_subclass_type as is_traceable_wrapper_subclass_type

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "DispatchKey",
    "DispatchKeySet",
    "TorchDispatchMode",
    "_AutoDispatchBelowAutograd",
    "_C",
    "_DisablePythonDispatcher",
    "_DisableTorchDispatch",
    "_ExcludeDispatchKeyGuard",
    "_TorchDispatchModeKey",
    "_autograd",
    "_disable_current_modes",
    "_disabled_torch_function_impl",
    "_dispatch_has_kernel_for_dispatch_key",
    "_dispatch_tls_is_dispatch_key_excluded",
    "_dispatch_tls_is_dispatch_key_included",
    "_get_current_function_mode_stack",
    "_get_dispatch_mode",
    "_len_torch_dispatch_stack",
    "_len_torch_function_stack",
    "_pop_torch_function_stack",
    "_push_on_torch_function_stack",
    "is_traceable_wrapper_subclass_type",
]
