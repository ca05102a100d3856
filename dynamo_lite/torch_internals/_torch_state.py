"""The private torch API for switches of the process, and for what torch keeps for each thread (`ThreadState`).

Checked with torch 2.13.0, 2.14.1 and 2.15.0; ThreadState with 2.13.0 alone.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import _GLOBAL_DEVICE_CONTEXT as _GLOBAL_DEVICE_CONTEXT
from torch._C import _get_fp32_precision_getter as _get_fp32_precision_getter
from torch._C import _get_sdp_priority_order as _get_sdp_priority_order
from torch._C import _set_deterministic_algorithms as _set_deterministic_algorithms
from torch._C import _set_fp32_precision_setter as _set_fp32_precision_setter
from torch._C import _set_grad_enabled as _set_grad_enabled
from torch._C import _set_sdp_priority_order as _set_sdp_priority_order
from torch._C._functorch import get_dynamic_layer_stack_depth as _transforms
from torch._C._functorch import pop_dynamic_layer_stack_and_undo_to_depth as _leave_transforms
from torch._guards import _TLS as _compiling
from torch._ops import mode_stack_state_for_pre_dispatch

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

_PYTHON_DISPATCHER = torch._C.DispatchKey.PythonDispatcher
_PRE_DISPATCH_MODES = range(2)
_left: list[Any] = []
"""Guards that are entered and kept alive: each would restore the earlier state when it is destroyed."""


class ThreadState:
    """The state of this thread when this was made."""

    def __init__(self) -> None:
        self._modes = _modes()
        self._functions = _function_modes()
        self._functions_on = torch._C._get_torch_function_state()  # type: ignore[attr-defined]
        self._keys = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
        stack = mode_stack_state_for_pre_dispatch()
        self._pre_dispatch = [stack.get(index) for index in _PRE_DISPATCH_MODES]
        self._schema_check = stack._schema_check_mode
        self._transforms = _transforms()
        self._dual_level = torch.autograd.forward_ad._current_level
        self._inference = torch.is_inference_mode_enabled()
        self._lifts_cpu_only = torch._C._only_lift_cpu_tensors()
        self._tracing = getattr(_compiling, "tracing_context", None)
        self._compile = getattr(_compiling, "compile_context", None)

    def restore(self) -> None:
        """Put it back. It may be interrupted, and called again."""
        while torch.autograd.forward_ad._current_level > self._dual_level:
            torch.autograd.forward_ad.exit_dual_level()
        if _transforms() > self._transforms:
            _leave_transforms(self._transforms)
        self._put_modes()
        self._put_keys()
        torch._C._set_torch_function_state(self._functions_on)  # type: ignore[attr-defined]
        torch._C._set_only_lift_cpu_tensors(self._lifts_cpu_only)
        _compiling.tracing_context = self._tracing
        _compiling.compile_context = self._compile

    def _put_modes(self) -> None:
        if not _are_same(_modes(), self._modes):
            while torch._C._len_torch_dispatch_stack():
                torch._C._pop_torch_dispatch_stack(None)
            for mode in self._modes:
                torch._C._push_on_torch_dispatch_stack(mode)
        if not _are_same(_function_modes(), self._functions):
            while torch._C._len_torch_function_stack():
                torch._C._pop_torch_function_stack()
            for mode in self._functions:
                torch._C._push_on_torch_function_stack(mode)
        stack = mode_stack_state_for_pre_dispatch()
        for index, mode in zip(_PRE_DISPATCH_MODES, self._pre_dispatch):
            stack.set(index, mode)
        stack._schema_check_mode = self._schema_check

    def _put_keys(self) -> None:
        if torch.is_inference_mode_enabled() is not self._inference:
            _enter_for_good(torch._C._InferenceMode(self._inference))
        was_on = self._keys[0].has(_PYTHON_DISPATCHER)
        if torch._C._dispatch_tls_local_include_set().has(_PYTHON_DISPATCHER) is not was_on:
            _enter_for_good(torch._C._EnablePythonDispatcher() if was_on else torch._C._DisablePythonDispatcher())
        if (torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()) != self._keys:
            _enter_for_good(torch._C._ForceDispatchKeyGuard(*self._keys))


def _modes() -> list[Any]:
    return [torch._C._get_dispatch_stack_at(index) for index in range(torch._C._len_torch_dispatch_stack())]


def _function_modes() -> list[Any]:
    return [torch._C._get_function_stack_at(index) for index in range(torch._C._len_torch_function_stack())]


def _are_same(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(one is other for one, other in zip(some, others))


def _enter_for_good(guard: Any) -> None:
    _left.append(guard)
    guard.__enter__()


DISABLES = "every export and trace"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch:_GLOBAL_DEVICE_CONTEXT", "whether a default device was set, which a guard asks at each check"),
    Symbol("torch._C:_get_fp32_precision_getter", "the precision of float32 operators is put back after a run"),
    Symbol("torch._C:_get_sdp_priority_order", "the order of attention kernels is put back after a run"),
    Symbol("torch._C:_set_deterministic_algorithms", "the setting is put back after a run"),
    Symbol("torch._C:_set_fp32_precision_setter", "the precision of float32 operators is put back after a run"),
    Symbol("torch._C:_set_grad_enabled", "grad mode is put back after a run, without a guard of its own"),
    Symbol("torch._C:_set_sdp_priority_order", "the order of attention kernels is put back after a run"),
    Symbol("torch._C:_DisablePythonDispatcher", "the state of a thread is put back"),
    Symbol("torch._C:_EnablePythonDispatcher", "the state of a thread is put back"),
    Symbol("torch._C:_ForceDispatchKeyGuard", "the state of a thread is put back"),
    Symbol("torch._C:_InferenceMode", "the state of a thread is put back"),
    Symbol("torch._C:_dispatch_tls_local_exclude_set", "the state of a thread is put back"),
    Symbol("torch._C:_dispatch_tls_local_include_set", "the state of a thread is put back"),
    Symbol("torch._C:_get_dispatch_stack_at", "the state of a thread is put back"),
    Symbol("torch._C:_get_function_stack_at", "the state of a thread is put back"),
    Symbol("torch._C:_get_torch_function_state", "the state of a thread is put back"),
    Symbol("torch._C:_only_lift_cpu_tensors", "the state of a thread is put back"),
    Symbol("torch._C:_pop_torch_dispatch_stack", "the state of a thread is put back"),
    Symbol("torch._C:_push_on_torch_dispatch_stack", "the state of a thread is put back"),
    Symbol("torch._C:_set_only_lift_cpu_tensors", "the state of a thread is put back"),
    Symbol("torch._C:_set_torch_function_state", "the state of a thread is put back"),
    Symbol("torch._C._functorch:get_dynamic_layer_stack_depth", "functorch's levels that are left open"),
    Symbol("torch._C._functorch:pop_dynamic_layer_stack_and_undo_to_depth", "functorch's levels that are left open"),
    Symbol("torch._guards:_TLS", "contexts of a compiler that are left open"),
    Symbol("torch._ops:mode_stack_state_for_pre_dispatch", "modes that are left at the PreDispatch key"),
    Symbol("torch.autograd.forward_ad:_current_level", "levels of forward AD that are left open"),
)

__all__ = [
    "ThreadState",
    "_GLOBAL_DEVICE_CONTEXT",
    "_get_fp32_precision_getter",
    "_get_sdp_priority_order",
    "_set_deterministic_algorithms",
    "_set_fp32_precision_setter",
    "_set_grad_enabled",
    "_set_sdp_priority_order",
]
