"""Which class is this tensor? Refused where the program has tensors of a subclass, which stand-ins do not tell.

capture/fakes/subclasses.py says which subclasses a program may have, and notes them in `Recorder.subclasses`: results
of operators may then be of the class in eager, and the stand-ins are not.
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.capture.dispatch_modes import FunctionMode
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_dispatch import (
    _get_current_function_mode_stack,
    _pop_torch_function_stack,
    _push_on_torch_function_stack,
)
from dynamo_lite.tracing.interfaces import Trace
from dynamo_lite.tracing.policy import compiling_flags
from dynamo_lite.tracing.vocabulary.type_tests import is_fake


def type_of(tracer: Trace, value: Any) -> None:
    """`type(value)`, `value.__class__`. Raises what ends the trace if the answer is not known."""
    if tracer.recorder.subclasses and is_fake(value) and not tracer.in_library():
        _refuse(tracer)


def instance(tracer: Trace, value: Any, classes: Any) -> None:
    """`isinstance(value, classes)`. Raises what ends the trace if a tensor of a subclass would answer otherwise."""
    if is_fake(value) and any(_distinguishes(cls, classes) for cls in tracer.recorder.subclasses):
        _refuse(tracer)


def call_has_torch_function(tracer: Trace, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """torch.overrides.has_torch_function and its kin: the trace's own function mode is none of the program's."""
    if tracer.interpreted and tracer.vm.frame is not None and tracer.vm.frame.code in tracer.interpreted:
        return _without_modes(fn, args, kwargs)  # the mode would run it natively
    if tracer.in_library():
        answer = compiling_flags.has_torch_function(tracer, lambda: _without_modes(fn, args, kwargs))
        return NOT_HANDLED if answer is None else answer  # torch's own functions come to the mode by it
    if tracer.recorder.subclasses:
        _refuse(tracer)
    return _without_modes(fn, args, kwargs)


def _without_modes(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What eager answers; NOT_HANDLED where the program has function modes of its own."""
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


def _distinguishes(cls: type, classes: Any) -> bool:
    try:
        return issubclass(cls, classes) != issubclass(torch.Tensor, classes)
    except TypeError:
        return False  # no class: isinstance itself raises


def _refuse(tracer: Trace) -> None:
    names = ", ".join(sorted(cls.__qualname__ for cls in tracer.recorder.subclasses))
    tracer.refuse("tensor-subclass", name=names)
