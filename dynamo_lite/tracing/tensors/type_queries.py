"""Queries of a tensor's class. Refused if the program has tensors of a subclass, which fake tensors do not show.

capture/fakes/subclasses.py decides which subclasses a program may have, and records them in `Recorder.subclasses`:
results of operators may then be of the class in eager, and the fake tensors are not.
"""

from __future__ import annotations

from types import UnionType
from typing import Any

import torch
from torch import nn

from dynamo_lite.capture.dispatch_modes import FunctionMode
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.program.shapes.size_check import ambiguous
from dynamo_lite.torch_internals._torch_dispatch import (
    _get_current_function_mode_stack,
    _pop_torch_function_stack,
    _push_on_torch_function_stack,
)
from dynamo_lite.torch_internals._torch_pytree import keystr
from dynamo_lite.tracing.assumptions.input_guards import InputGuards
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.policy import compiling_flags
from dynamo_lite.tracing.tensors import side_differences
from dynamo_lite.tracing.vocabulary.symbolic_numbers import real_type
from dynamo_lite.tracing.vocabulary.type_tests import is_fake


def type_of(tracer: TracerView, value: Any) -> None:
    """`type(value)`, `value.__class__`. Raises an error that ends the trace if the answer is not known."""
    side_differences.check_class(tracer, value)
    _guard_class(tracer, value)
    if tracer.recorder.subclasses and is_fake(value) and not tracer.in_library():
        _refuse(tracer)


def instance(tracer: TracerView, value: Any, classes: Any) -> None:
    """`isinstance(value, classes)`. Raises what ends the trace if a tensor of a subclass would answer otherwise."""
    if _names_parameters(classes):
        side_differences.check_class(tracer, value)
        _guard_class(tracer, value)
    if is_fake(value) and any(_distinguishes(cls, classes) for cls in tracer.recorder.subclasses):
        _refuse(tracer)


def call_has_torch_function(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """torch.overrides.has_torch_function and the like: the trace's own function mode is not one of the program."""
    if tracer.interpreted and tracer.vm.frame is not None and tracer.vm.frame.code in tracer.interpreted:
        return _without_modes(fn, args, kwargs)  # the mode would run it natively
    if tracer.in_library():
        answer = compiling_flags.has_torch_function(tracer, lambda: _without_modes(fn, args, kwargs))
        return NOT_HANDLED if answer is None else answer  # torch's own functions come to the mode by it
    if tracer.recorder.subclasses:
        _refuse(tracer)
    return _without_modes(fn, args, kwargs)


def _without_modes(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return eager's answer; NOT_HANDLED if the program has function modes of its own."""
    modes = _get_current_function_mode_stack()
    if not all(isinstance(mode, FunctionMode) for mode in modes):
        return NOT_HANDLED
    for _ in modes:
        _pop_torch_function_stack()
    try:
        return fn(*args, **kwargs)
    finally:
        for mode in modes:
            _push_on_torch_function_stack(mode)


def call_mode_query(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Which function modes are at work? The program's own: eager had none before it, which is a guard of each trace."""
    if tracer.in_library():
        return NOT_HANDLED
    modes = _get_current_function_mode_stack()
    for _ in modes:
        _pop_torch_function_stack()
    own = [mode for mode in modes if not isinstance(mode, FunctionMode)]
    for mode in own:
        _push_on_torch_function_stack(mode)
    try:
        return fn(*args, **kwargs)
    finally:
        for _ in own:
            _pop_torch_function_stack()
        for mode in modes:
            _push_on_torch_function_stack(mode)


def _guard_class(tracer: TracerView, value: Any) -> None:
    """The program tests whether `value` is a parameter: the answer holds for inputs like the example's."""
    number = tracer.recorder.input_number(value) if is_fake(value) else None
    if number is not None and not tracer.in_library() and not ambiguous(tracer.inputs.key_paths):
        name = real_type(value).__name__
        path = f"L{keystr(tracer.inputs.key_paths[number])}"
        tracer.own(InputGuards).add(f"{path}.__class__.__name__ == {name!r}")


def _names_parameters(classes: Any) -> bool:
    """Whether nn.Parameter is among the classes passed to isinstance(). (No class's own hook is called.)"""
    if type(classes) in (tuple, UnionType):
        return any(map(_names_parameters, classes if type(classes) is tuple else classes.__args__))
    return classes is nn.Parameter


def _distinguishes(cls: type, classes: Any) -> bool:
    try:
        return issubclass(cls, classes) != issubclass(torch.Tensor, classes)
    except TypeError:
        return False  # no class: isinstance itself raises


def _refuse(tracer: TracerView) -> None:
    names = ", ".join(sorted(cls.__qualname__ for cls in tracer.recorder.subclasses))
    tracer.refuse("tensor-subclass", name=names)
