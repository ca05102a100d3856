"""Calls that are left by both sides of a branch: which frame has made a call, and how it continues after it.

A frame calls another through functions of the interpreter and of the tracer. If these are known only to pass the result
on, the frame can be run on with the result that one side of a branch has. When the sides are merged, `ContinueIn`
leaves the calls, and the frame continues where its sides have joined.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any, Final, NamedTuple

from dynamo_lite.control_flow.branches import extremes, sorting
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.items import consumed
from dynamo_lite.features.modules.calls import call_module
from dynamo_lite.features.size_branches import call_squeeze
from dynamo_lite.interpreter.code.decode import PLAIN
from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.frames import generators
from dynamo_lite.interpreter.lookasides import forwarding
from dynamo_lite.interpreter.opcodes.fused import moves
from dynamo_lite.interpreter.vm import Interpreter


def _functions_of(module: Any) -> Iterator[CodeType]:
    todo = [value.__code__ for value in vars(module).values() if type(value) is FunctionType]
    while todo:
        code = todo.pop()
        yield code
        todo += (const for const in code.co_consts if isinstance(const, CodeType))


_RUN: Final = Interpreter.run.__code__
_LOOPS: Final = {_RUN, Interpreter.run_until.__code__}
_HAND_ON: Final[set[CodeType]] = {
    Interpreter._run_observed.__code__,
    Interpreter.interpret_function.__code__,
    Interpreter.call.__code__,
    Interpreter._call_other.__code__,
    Interpreter._call_instance.__code__,
    moves.__code__,
    call_module.__code__,
    call_squeeze.__code__,
    *(const for const in call_module.__code__.co_consts if isinstance(const, CodeType)),
    *(
        const
        for part in (extremes, sorting)
        for const in part.rule_for.__code__.co_consts
        if isinstance(const, CodeType)
    ),
    *(forwarding.TABLE[callee].__code__ for callee in (functools.partial.__call__, staticmethod.__call__)),
    *(HANDLERS[name].__code__ for name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX")),
}
"""Functions that a call of the program goes through, all of which return what it returns. Handlers push it, last."""


_HOLD_NONE: Final[set[CodeType]] = {
    generators.resume.__code__,
    generators._drive.__code__,
    *(HANDLERS[name].__code__ for name in ("FOR_ITER", "SEND", "BEFORE_WITH")),
    *_functions_of(consumed),
}
"""Functions that ask a generator for its next item, and hold no earlier one but in a frame."""


class Caller(NamedTuple):
    """The frame of the caller, and the number of module calls in between (their stack is in metadata)."""

    frame: Any
    modules: int


def caller_of(tracer: Forking, frame: Any) -> Caller | None:
    """Return the frame that gets the result of `frame` as the value of an expression. None if there is none, or if it
    is not known that nothing else is done after the call."""
    caller = frame.back
    if caller is None or tracer.vm.frees or frame.info.kind != PLAIN or caller.info.kind != PLAIN:
        return None
    if frame.proxy is not None or caller.namespace is not None or tracer.modules.signatures is not None:
        return None
    codes = [*_codes_between(caller, frame)]
    known = _HAND_ON | _observers(tracer)
    return Caller(caller, codes.count(call_module.__code__)) if known.issuperset(codes) else None


def hold_unseen(tracer: Forking, frames: Iterable[Any]) -> bool:
    """Whether one of the frames that run was called by what may hold values which no frame and no object of the program
    leads to: C code that collects what a generator or a function gives (`list(map(f, rows))`), an unpacking."""
    known = _HAND_ON | _HOLD_NONE | _observers(tracer)
    callers = ((frame.back, frame) for frame in frames if frame.back is not None)
    return not all(known.issuperset(_codes_between(caller, frame)) for caller, frame in callers)


def _observers(tracer: Forking) -> set[CodeType]:
    observers: list[Any] = [cls for cls in type(tracer).__mro__ if "before_call" in vars(cls)]
    return {cls.before_call.__code__ for cls in observers}


def _codes_between(caller: Any, frame: Any) -> Iterator[CodeType | None]:
    """The code of CPython's frames between the loops that run the two frames; None where one is not found."""
    at: FrameType | None = sys._getframe(1)
    while at is not None and not (at.f_code is _RUN and at.f_locals["frame"] is frame):
        at = at.f_back
    while at is not None:
        at = at.f_back
        if at is not None and at.f_code in _LOOPS and at.f_locals["frame"] is caller:
            return
        yield None if at is None else at.f_code
