"""Callables that torch has wrapped (torch.compile, torch.compiler.disable, checkpoint): the inner one is called."""

from __future__ import annotations

import sys
from typing import Any

import torch

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.policy.native_modules import is_trusted_module
from dynamo_lite.tracing.tensors import autograd_nodes
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


def call_checkpoint(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """torch.utils.checkpoint.checkpoint(function, *args): the program is that of function(*args)."""
    if not args:
        return NOT_HANDLED
    own = (
        *("use_reentrant", "context_fn", "determinism_check", "debug", "preserve_rng_state", "early_stop"),
        "respect_saved_tensors_hooks",  # since torch 2.14
    )
    others = {k: v for k, v in kwargs.items() if k not in own}
    tracer.note("torch.utils.checkpoint was captured as a plain call")
    tensors = [arg for arg in args[1:] if is_tensor(arg)]
    # The reentrant one is an autograd.Function, whose results require grad only if a tensor that it is given does.
    if kwargs.get("use_reentrant") is False or not torch.is_grad_enabled():
        return tracer.vm.call(args[0], args[1:], others)
    if others:
        return NOT_HANDLED  # an error in eager
    if any(autograd_nodes.requires_grad(tracer, tensor) for tensor in tensors):
        return tracer.vm.call(args[0], args[1:], {})
    with torch.no_grad():
        return tracer.vm.call(args[0], args[1:], {})


def plan_dynamo_wrapper(tracer: TracerView, fn: Any) -> Step | None:
    """The step of a call plan for a function that torch.compile or torch.compiler.disable wraps another in."""
    name = fn.__globals__.get("__name__")
    if name not in _WRAPS or fn.__globals__ is not vars(sys.modules.get(name, sys)):
        return None
    return call_dynamo_wrapper


_WRAPS = ("torch._dynamo.eval_frame", "torch._dynamo.external_utils")


def call_dynamo_wrapper(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """A function that torch.compile or torch.compiler.disable wrapped: the program is the function's own. (Its author
    excludes it from TorchDynamo, which is not used here.)"""
    original = fn.__dict__.get("_torchdynamo_orig_callable")
    if original is None:
        return NOT_HANDLED
    if not (fn.__dict__.get("_torchdynamo_disable") and _is_torchs(original)):
        name = getattr(original, "__qualname__", str(original))
        tracer.note(f"torch.compile or torch.compiler.disable around {name} was ignored")
    return tracer.vm.call(original, args, kwargs)


def _is_torchs(function: Any) -> bool:
    author = str(getattr(function, "__module__", ""))
    return is_trusted_module(author) or author.partition(".")[0] == "torch"


def call_compiled(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """A module that torch.compile wrapped: the module itself is exported."""
    return tracer.vm.call(args[0]._orig_mod, args[1:], kwargs)


def table() -> dict[int, Step]:
    """Return id(callable) → rule, for loaded modules."""
    rows: dict[int, Step] = {}
    checkpoint = sys.modules.get("torch.utils.checkpoint")
    if checkpoint is not None:
        rows[id(checkpoint.checkpoint)] = call_checkpoint
    frames = sys.modules.get("torch._dynamo.eval_frame")
    if frames is not None:
        rows[id(frames.OptimizedModule.__call__)] = call_compiled
    return rows
