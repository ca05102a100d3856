"""Functions that the user has annotated (opaque.py), and those that torch.compiler's decorators mark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import torch

from dynamo_lite.opaque import USER_ANNOTATIONS, Treatment, UserAnnotation, key_of
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

MARK = "_dynamo_marked_constant"
"""The attribute set by torch.compiler.assume_constant_result (torch 2.13, torch/_dynamo/decorators.py)."""


def table() -> dict[int, Any]:
    """Return id(callable) → rule, for all annotated callables; annotations made here override those known to torch."""
    rows = {id(said.fn): said for said in registered()} | USER_ANNOTATIONS
    return {key: _RULES[said.treatment](said) for key, said in rows.items()}


def is_marked_constant(fn: FunctionType) -> bool:
    """Whether torch.compiler.assume_constant_result marks `fn`."""
    return getattr(fn, MARK, False) is True


def plan(tracer: TracerView, fn: Any) -> Step | None:
    """The step of a call plan for a marked function."""
    return call_constant if MARK in fn.__dict__ and is_marked_constant(fn) else None


def call_constant(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `fn` outside of the recording; its result is a constant. It gets the example's data of an input."""
    name = getattr(fn, "__qualname__", None) or type(fn).__qualname__
    args, kwargs = pytree.tree_map_only(torch.Tensor, lambda leaf: _real(tracer, leaf), (args, kwargs))
    if any(is_fake(leaf) or type(leaf) in SYMBOLIC for leaf in pytree.tree_leaves((args, kwargs))):
        tracer.refuse("data-dependent-value", what=f"{name}(), whose result is assumed to be constant,")
    tracer.note(f"the result of {name}() was assumed to be constant")
    with tracer.suspended(), torch.no_grad():
        return fn(*args, **kwargs)


def _real(tracer: TracerView, tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy of the example's tensor for an input's fake tensor, if no tensor has been changed yet."""
    number = tracer.recorder.input_number(tensor) if is_fake(tensor) else None
    if number is None or tracer.recorder.has_changed_something():
        return tensor
    with tracer.suspended(), torch.no_grad():
        return tracer.inputs.leaves[number].clone()


def _allowed(said: UserAnnotation) -> Any:
    def rule(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        trampolines = tracer.vm.trampolines
        if type(fn) is not FunctionType:
            return trampolines.call(fn, args, kwargs)
        was, trampolines.open = trampolines.open, False
        try:
            return fn(*args, **kwargs)
        finally:
            trampolines.open = was

    return rule


def _constant(said: UserAnnotation) -> Any:
    return call_constant


def _substituted(said: UserAnnotation) -> Any:
    def rule(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = getattr(said.fn, "__qualname__", None) or type(said.fn).__qualname__
        tracer.note(f"{getattr(said.instead, '__qualname__', 'a substitute')}() was traced in the place of {name}()")
        return tracer.vm.call(said.instead, args, kwargs)

    return rule


_RULES = {Treatment.ALLOWED: _allowed, Treatment.CONSTANT: _constant, Treatment.SUBSTITUTED: _substituted}


# Functions to trace in place of others, registered with torch.compiler.substitute_in_graph.
#
# The registry is TorchDynamo's own and is looked at only if TorchDynamo is loaded, which the decorator does. Its own
# entries (Python versions of built-in functions) are left alone: here the built-in functions themselves are called.
# Checked against torch 2.13.0 (torch/_dynamo/decorators.py, substitute_in_graph).

_REGISTRY = "torch._dynamo.variables.functions"
_INSTEAD = "__torch_dynamo_polyfill__"


def registered() -> Iterator[UserAnnotation]:
    """One row for each function that a user has registered, and for the wrapper that the decorator returned."""
    module = sys.modules.get(_REGISTRY)
    holder = getattr(module, "PolyfilledFunctionVariable", None)
    if holder is None:
        return
    for fn, wrapper in holder._get_polyfill_handlers().items():
        instead: Any = getattr(wrapper, _INSTEAD, None)
        if instead is not None and not str(getattr(instead, "__module__", "")).startswith("torch."):
            yield UserAnnotation(key_of(fn), Treatment.SUBSTITUTED, instead)
