"""Rules for what makes tensors of subclasses: Tensor.__new__, _make_subclass, as_subclass, parameters, wrappers."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from dynamo_lite.capture.fakes import subclasses, wrapper_subclasses
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_tensors import TensorBase, _make_subclass, _make_wrapper_subclass
from dynamo_lite.tracing.calls import native_calls
from dynamo_lite.tracing.calls.run_native import run_native
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.tensors.attributes import TensorWrites


def call_as_subclass(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Tensor.as_subclass: a fake tensor is of a subclass already."""
    cls = args[1] if len(args) > 1 else kwargs.get("cls")
    tracer.refuse("tensor-subclass", name=getattr(cls, "__qualname__", str(cls)))


def call_new_subclass(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Tensor.__new__ and _make_subclass: C makes the memory as a fake tensor, which cannot be of the class as well."""
    if args and isinstance(args[0], type) and subclasses.is_subclass(args[0]):
        tracer.refuse("tensor-subclass", name=args[0].__qualname__)
    return native_calls.before_call(tracer, fn, args, kwargs)


def call_new_parameter(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """nn.Parameter.__new__ and nn.Buffer.__new__: a mark makes a fake tensor a parameter, not a user's class."""
    cls = args[0] if args else None
    if isinstance(cls, type) and subclasses.is_subclass(cls):
        tracer.refuse("tensor-subclass", name=cls.__qualname__)
    return NOT_HANDLED


def call_make_wrapper(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Tensor._make_wrapper_subclass: a tensor around others. Its class may give it attributes
    (capture/fakes/wrapper_subclasses.py)."""
    made = run_native(fn, args, kwargs)
    if not wrapper_subclasses.is_wrapper(made):
        tracer.refuse("tensor-subclass", name=type(made).__qualname__)
    tracer.own(TensorWrites).wrappers[id(made)] = made
    return made


def table() -> dict[int, Step]:
    """id(callable) → rule."""
    return {
        id(TensorBase.as_subclass): call_as_subclass,
        id(_make_wrapper_subclass): call_make_wrapper,
        id(_make_subclass): call_new_subclass,
        id(torch.Tensor.__new__): call_new_subclass,
        id(nn.Parameter.__new__): call_new_parameter,
        id(nn.Buffer.__new__): call_new_parameter,
    }
