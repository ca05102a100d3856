"""Frames that a call of a module has in eager and a trace leaves out: those of torch.nn.Module's own functions.

`call_module` (features/modules/calls.py) calls `forward` directly. A program that looks at its stack, or at the
traceback of an error that passed through a module's call, would see that: the run is made again with the functions
interpreted.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any

from torch import nn

from dynamo_lite.interpreter.datamodel.trampoline_code import original_code
from dynamo_lite.interpreter.frames.exceptions import ContinueIn
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.diagnostics import RunAgain
from dynamo_lite.tracing.heap.raised_errors import LooksAtTracebacks
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView

_CALL: Any = nn.Module._wrapped_call_impl
_LOOKING = frozenset({inspect.__name__, traceback.__name__})
"""The modules of the standard library that look at frames for the program."""
_PRINTS = (traceback.print_exception,)
"""Has a rule in features/output, which calls `call_traceback` if the program reads the output."""
_OF_TRACEBACKS = frozenset({"tb_next", "tb_frame"})


class HiddenFrames(RunAgain):
    """The program looks at frames that this run does not have: it is made again with `interpreted`."""

    def __init__(self, interpreted: frozenset[CodeType]) -> None:
        super().__init__("the program looks at the frames of a module's call")
        self.interpreted = interpreted

    def changed(self, request: Any) -> Any:
        return replace(request, interpreted=request.interpreted | self.interpreted)


class ModuleCalls(FeatureState):
    """How many calls of modules are running without their own frames, and whether an error has left one."""

    stays = "calls are left as they are entered, and an error may have left one for good"

    def __init__(self, tracer: TracerView) -> None:
        self.at_work = 0
        self.left_by_error = False

    def __enter__(self) -> None:
        self.at_work += 1

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.at_work -= 1
        self.left_by_error = self.left_by_error or kind not in (None, ContinueIn)


def are_interpreted(tracer: TracerView) -> bool:
    """Whether this run interprets nn.Module's own functions."""
    return bool(tracer.interpreted) and original_code(_CALL.__code__) in tracer.interpreted


def call_stack(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """sys._getframe()."""
    if tracer.own(ModuleCalls).at_work and _is_for_the_program(tracer):
        _again(tracer)
    return NOT_HANDLED


def call_traceback(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of the traceback module, which runs natively."""
    if not tracer.in_library():
        tracer.own(LooksAtTracebacks).happened = True
        if tracer.own(ModuleCalls).left_by_error:
            _again(tracer)
    return NOT_HANDLED


def read_traceback(tracer: TracerView, owner: Any, key: str, value: Any) -> Any:
    """An attribute of a traceback."""
    if key in _OF_TRACEBACKS and _is_for_the_program(tracer):
        tracer.own(LooksAtTracebacks).happened = True
        if tracer.own(ModuleCalls).left_by_error:
            _again(tracer)
    return NOT_HANDLED


def rules() -> dict[int, Step]:
    """Return id(callable) → the step before its call."""
    functions: list[Any] = [inspect.trace, inspect.getinnerframes]
    functions += [fn for fn in vars(traceback).values() if isinstance(fn, FunctionType) and fn not in _PRINTS]
    functions += [traceback.TracebackException.__init__, traceback.TracebackException.from_exception.__func__]  # type: ignore[attr-defined]
    return {id(sys._getframe): call_stack, **{id(fn): call_traceback for fn in functions}}


def _is_for_the_program(tracer: TracerView) -> bool:
    frame = tracer.vm.frame
    return not tracer.in_library() or (frame is not None and frame.globals.get("__name__") in _LOOKING)


def _again(tracer: TracerView) -> None:
    if not are_interpreted(tracer):
        tracer.abort(HiddenFrames(frozenset({original_code(_CALL.__code__)})))
