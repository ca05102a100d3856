"""The private torch API for dispatch keys and modes.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
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
from torch.jit._state import _try_get_jit_cached_function as _try_get_jit_cached_function
from torch.overrides import _get_current_function_mode_stack as _get_current_function_mode_stack
from torch.utils._python_dispatch import TorchDispatchMode as TorchDispatchMode
from torch.utils._python_dispatch import _disable_current_modes as _disable_current_modes
from torch.utils._python_dispatch import is_traceable_wrapper_subclass_type as is_traceable_wrapper_subclass_type

from dynamo_lite.symbolic_shapes.torch_versions import Symbol


def class_in_cpp(method: Any) -> str | None:
    """The class of the object whose method a torch.ScriptMethod is, if C++ has registered it (torch.classes)."""
    name = str(method.raw_owner._type().qualified_name()).removeprefix("__torch__.")
    return name if name.startswith("torch.classes.") else None


@contextmanager
def uncompiled(method: Any) -> Iterator[Any]:
    """A method of a ScriptModule as it is before its first call: TorchScript's executor has compiled nothing for it.

    It has no `__wrapped__`, the Python function that torch would call, with a wrong `self`, given stand-ins.
    """
    method = method.owner._get_method(method.name)
    method._debug_flush_compilation_cache()
    try:
        yield method
    finally:
        method._debug_flush_compilation_cache()


@contextmanager
def uncompiled_function(function: Any) -> Iterator[Any]:
    """The same for a function that torch.jit.script or torch.jit.trace has made: it takes all arguments by position.

    During an export torch would call the Python function that it was made from.
    """
    was, torch.compiler._is_exporting_flag = torch.compiler._is_exporting_flag, False
    try:
        yield _C._create_function_from_graph(function.name, function.inlined_graph.copy())
    finally:
        torch.compiler._is_exporting_flag = was


def scripted_from(function: Any) -> Any:
    """The Python function that torch.jit.script made a function from; None if torch.jit.trace made it."""
    original = getattr(function, "_torchdynamo_inline", None)
    cached = None if original is None else _try_get_jit_cached_function(original)
    return original if cached is not None and cached.qualified_name == function.qualified_name else None


DISABLES = "every export and trace"
"""What does not work if one of these is missing."""

SYMBOLS = (
    Symbol(
        "torch:_C",
        "settings of the process by name (tracing/vocabulary/process_state.py), each of which may be missing",
    ),
    Symbol("torch._C:DisableTorchFunction", "function modes off while the tracer itself works"),
    Symbol(
        "torch._C:DisableTorchFunctionSubclass",
        "__torch_function__ of subclasses off while the tracer itself works",
    ),
    Symbol("torch._C:DispatchKey", "keys of the dispatcher"),
    Symbol("torch._C:DispatchKeySet", "keys of a tensor"),
    Symbol("torch._C:_AutoDispatchBelowAutograd", "a kernel without autograd"),
    Symbol("torch._C:ScriptMethod._debug_flush_compilation_cache", "TorchScript runs as if for the first time"),
    Symbol("torch._C:ScriptMethod.raw_owner", "a method of an object of C++ is told from one of TorchScript's"),
    Symbol("torch._C:ScriptModule._get_method", "a method of TorchScript without the Python function it is made from"),
    Symbol(
        "torch._C:_create_function_from_graph",
        "a function of TorchScript without the Python function it is made from",
    ),
    Symbol("torch._C:_autograd", "hooks on saved tensors; the state of the profiler"),
    Symbol("torch._C:_disabled_torch_function_impl", "which subclasses take no part in __torch_function__"),
    Symbol("torch._C:_DisablePythonDispatcher", "real tensors are made natively during a trace"),
    Symbol(
        "torch._C:_DisableTorchDispatch",
        "a wrapper subclass's inner tensors are reached below its __torch_dispatch__",
    ),
    Symbol(
        "torch._C:_dispatch_has_kernel_for_dispatch_key",
        "whether an operator has a kernel of its own (autocast, autograd)",
    ),
    Symbol(
        "torch._C:_dispatch_tls_is_dispatch_key_excluded",
        "which state of the dispatcher a memory of results depends on",
    ),
    Symbol(
        "torch._C:_dispatch_tls_is_dispatch_key_included",
        "which state of the dispatcher a memory of results depends on",
    ),
    Symbol("torch._C:_ExcludeDispatchKeyGuard", "autocast off for an operator that runs a second time"),
    Symbol("torch._C:_get_dispatch_mode", "whether a make_fx tracer is active"),
    Symbol("torch._C:_len_torch_dispatch_stack", "modes of the program's own, which are refused"),
    Symbol("torch._C:_len_torch_function_stack", "modes of the program's own"),
    Symbol("torch._C:_pop_torch_function_stack", "modes of the program's own are entered and left in the interpreter"),
    Symbol(
        "torch._C:_push_on_torch_function_stack",
        "modes of the program's own are entered and left in the interpreter",
    ),
    Symbol("torch._C:_TorchDispatchModeKey", "which mode is asked for"),
    Symbol("torch.jit._state:_try_get_jit_cached_function", "whether a function of TorchScript was scripted or traced"),
    Symbol("torch.overrides:_get_current_function_mode_stack", "modes of the program's own"),
    Symbol("torch.utils._python_dispatch:TorchDispatchMode", "the class of modes"),
    Symbol("torch.utils._python_dispatch:_disable_current_modes", "real tensors are made below all modes"),
    Symbol(
        "torch.utils._python_dispatch:is_traceable_wrapper_subclass_type",
        "subclasses made of inner tensors (DTensor, ...)",
    ),
)

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
    "class_in_cpp",
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
    "uncompiled",
]
