"""Rules for tensor methods other than operators (requires_grad_, _is_view), torch._assert and inference_mode."""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.capture import layout_sources
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_tensors import TensorBase
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.tensors import autograd_nodes, toggled_flags
from dynamo_lite.tracing.tensors.attributes import TensorWrites, check_around
from dynamo_lite.tracing.vocabulary.type_tests import is_fake, is_tensor, is_wrapped


def call_assert(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """torch._assert(condition, message) of a tensor: each call of the program checks it, as torch.export has it."""
    condition, *rest = (*args, *kwargs.values())
    if set(kwargs) - {"message"} or len(rest) != 1 or not is_tensor(condition) or condition.numel() != 1:
        return NOT_HANDLED
    if condition.dim():
        condition = condition.reshape(())
    return tracer.vm.call(torch._assert_async, (condition, str(rest[0])), {})


def call_requires_grad(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Tensor.requires_grad_: not an operator. On an older tensor it is a change that stays."""
    tensor = args[0]
    wanted = args[1] if len(args) > 1 else kwargs.get("requires_grad", True)
    if is_tensor(tensor) and not is_wrapped(tensor) and wanted is (not tensor.requires_grad):
        if not is_fake(tensor) or tracer.recorder.is_input(tensor):
            if toggled_flags.toggle(tracer, tensor):
                return NOT_HANDLED
            tracer.refuse("tensor-attribute", name="requires_grad")
        check_around(tracer, tensor, "sets requires_grad of a tensor")
        tracer.recorder.layout.matters(tensor, "changed")
        writes = tracer.own(TensorWrites)
        writes.made_leaf = writes.made_leaf or tracer.mark()
    return NOT_HANDLED


def call_is_view(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Tensor._is_view: autograd does not know that a result from memory is one (capture/fakes/static_cache.py)."""
    if not is_tensor(args[0]) or tracer.in_library():
        return NOT_HANDLED
    number = tracer.recorder.input_number(args[0])
    if number is not None:
        return autograd_nodes.is_view(tracer, number)
    layout_sources.asked_for_base(tracer.recorder, args[0])
    return True if "_dynamo_lite_base" in vars(args[0]) else NOT_HANDLED


def enter_inference_mode(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """`with torch.inference_mode():`; run/end_passes.py may refuse tensors that the program makes in it."""
    writes = tracer.own(TensorWrites)
    writes.inference = writes.inference or tracer.mark()
    return NOT_HANDLED


def table() -> dict[int, Step]:
    """id(callable) → rule."""
    return {
        id(torch._assert): call_assert,
        id(TensorBase.requires_grad_): call_requires_grad,
        id(TensorBase._is_view): call_is_view,
        id(torch.inference_mode.__enter__): enter_inference_mode,
    }
