"""nn.Module.__call__: keeps the module stack, and calls `forward` where the module has no hooks."""

from __future__ import annotations

from typing import Any

from torch import nn

from dynamo_lite.features.tracebacks import hidden_frames
from dynamo_lite.interpreter import datamodel
from dynamo_lite.tracing.interfaces import Step, TracerView


def call_module(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """nn.Module.__call__: keeps the module stack; without hooks a call is `forward` (saves some 60 instructions)."""
    module, vm = args[0], tracer.vm

    def run() -> Any:
        if whole:
            return vm.interpret_function(fn, args, kwargs)
        if _has_hooks(module):
            return vm.call(nn.Module._call_impl, args, kwargs)
        tracer.reads.read("hooks", module)
        return vm.call(datamodel.getattr_(vm, module, "forward"), args[1:], kwargs)

    whole = hidden_frames.are_interpreted(tracer)
    with tracer.modules.entered(module), tracer.own(hidden_frames.ModuleCalls):
        signatures = tracer.modules.signatures
        return run() if signatures is None else signatures.call(tracer.modules.called, args[1:], kwargs, run)


def _has_hooks(module: nn.Module) -> bool:
    everywhere = nn.modules.module
    return bool(
        module._backward_hooks
        or module._backward_pre_hooks
        or module._forward_hooks
        or module._forward_pre_hooks
        or everywhere._global_backward_pre_hooks
        or everywhere._global_backward_hooks
        or everywhere._global_forward_hooks
        or everywhere._global_forward_pre_hooks
    )


RULES: dict[int, Step] = {id(nn.Module._wrapped_call_impl): call_module}
