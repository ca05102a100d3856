"""Calls of the program that strict refuses, seen by a profile function while CPython runs it.

The tables are strict's own (tracing/skipped.py, tracing/callables/). A call is judged by its name alone; it has
happened, and its result goes into the program as a constant.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType
from typing import Any

from dynamo_lite.interpreter.vm import callee_key
from dynamo_lite.nonstrict.frames import is_program
from dynamo_lite.tracing import skipped
from dynamo_lite.tracing.callables.classify import name_of, verdict_of
from dynamo_lite.tracing.callables.verdicts import Kind
from dynamo_lite.tracing.rules import in_library

_CONSTANT = "{name}() gives another answer in each call; the one of the export is a constant of the program"
_WORLD = "{name}() reaches outside of the process; what it gave during the export is a constant of the program"
_RNG = "{name}() changes a random number generator; the program does not"
_PROCESS = "{name}() changes a setting of the process; the program does not, and export does not undo it"
_UNKNOWN = "{name}() is in no table: what it reads and changes is not known"

_STATE = "{name}() uses an object from outside whose state no snapshot shows; it stays as the export leaves it"
_WITH_STATE = (Kind.OPAQUE, Kind.LOCK)

_TABLES: tuple[tuple[tuple[str, ...], str], ...] = (
    (skipped.UNRECORDABLE, _CONSTANT),
    (skipped.GLOBAL_RNG, _RNG),
    (skipped.PROCESS_STATE, _PROCESS),
    (skipped.OUTSIDE_WORLD, _WORLD),
)
_KINDS: dict[Kind, str] = {
    Kind.UNRECORDABLE: _CONSTANT,
    Kind.WORLD: _WORLD,
    Kind.RNG: _RNG,
    Kind.PROCESS: _PROCESS,
    Kind.UNKNOWN: _UNKNOWN,
}


_WRAPPERS = ("torch._compile", "torch._dynamo", "contextlib")


@contextmanager
def watched(unsound: Callable[[str], None], is_outside: Callable[[Any], bool]) -> Iterator[None]:
    """While inside, `unsound` is told of each call that strict refuses, in this thread.

    is_outside: whether an object was there before the run.
    """
    if sys.getprofile() is not None:
        unsound("a profiler is on: calls whose answer differs from call to call (time, random) are not seen")
        yield
        return
    sys.setprofile(Watch(unsound, is_outside))
    try:
        yield
    finally:
        sys.setprofile(None)


class Watch:
    """The profile function."""

    def __init__(self, unsound: Callable[[str], None], is_outside: Callable[[Any], bool]) -> None:
        self._unsound = unsound
        self._is_outside = is_outside
        self._python: dict[int, str] = {}  # id of a code object → text
        # What the garbage collector calls, whenever it runs, is no call of the program.
        self._collector = {getattr(callback, "__code__", None) for callback in gc.callbacks}
        self._native: dict[int, str] = {}  # id of a C callable → text
        self._callers: dict[int, tuple[CodeType, bool]] = {}
        for names, template in _TABLES:
            for name in names:
                fn = loaded(name)
                text = template.format(name=name.replace(":", "."))
                if type(fn) is FunctionType:
                    self._python[id(inspect.unwrap(fn).__code__)] = text  # torch wraps some for TorchDynamo
                elif fn is not None:
                    self._native[id(callee_key(fn, ())[0])] = text

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_call":
            if self._is_program(frame) and frame.f_code not in self._collector:
                self._c_call(arg)
        elif event == "call" and id(frame.f_code) in self._python:
            caller = frame.f_back
            while caller is not None and str(caller.f_globals.get("__name__", "")).startswith(_WRAPPERS):
                caller = caller.f_back
            if caller is not None and self._is_program(caller):
                self._unsound(self._python[id(frame.f_code)])

    def _c_call(self, fn: Any) -> None:
        key = callee_key(fn, ())[0]
        text = self._native.get(id(key))
        kind = verdict_of(key).kind
        template = (
            _STATE if kind in _WITH_STATE and self._is_outside(getattr(fn, "__self__", None)) else _KINDS.get(kind)
        )
        if text is None and template is not None:
            text = template.format(name=str(name_of(key)).replace(":", ".").removeprefix("builtins."))
        if text is not None:
            self._unsound(text)

    def _is_program(self, frame: FrameType) -> bool:
        """Whether the frame is the program's own code; libraries ask for ids and clocks for their own ends."""
        known = self._callers.get(id(frame.f_code))
        if known is None:
            name = str(frame.f_globals.get("__name__", ""))
            known = frame.f_code, _is_own(frame, name)
            self._callers[id(frame.f_code)] = known
        return known[1]


def _is_own(frame: FrameType, name: str) -> bool:
    """Neither a library's nor the body of a module that is being imported."""
    return is_program(frame, name) and not in_library(name) and frame.f_code.co_name != "<module>"


def loaded(name: str) -> Any:
    """What "module:qualified.name" names; None if the module is not loaded."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found
