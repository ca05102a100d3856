"""Calls of the program that strict refuses, seen by a profile function while CPython runs it.

The tables are strict's own (tracing/policy/skipped_calls.py, tracing/callables/). A call is judged by its name alone;
it has
happened, and its result goes into the program as a constant.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import CodeType, FrameType, FunctionType
from typing import Any, Protocol

from dynamo_lite.interpreter.datamodel.callees import callee_key
from dynamo_lite.nonstrict.frames import is_program
from dynamo_lite.nonstrict.identity_checks import Question, kinds_asked, questions
from dynamo_lite.tracing.policy import skipped_calls
from dynamo_lite.tracing.policy.classify import name_of, verdict_of
from dynamo_lite.tracing.policy.native_modules import in_library
from dynamo_lite.tracing.policy.verdicts import CallKind
from dynamo_lite.tracing.vocabulary.type_tests import LruCacheWrapper
from dynamo_lite.undoing import changed

_CONSTANT = "{name}() gives another answer in each call; the one of the export is a constant of the program"
_WORLD = "{name}() reaches outside of the process; what it gave during the export is a constant of the program"
_RNG = "{name}() changes a random number generator; the program does not"
_PROCESS = "{name}() changes a setting of the process; the program does not, and export does not undo it"
_UNKNOWN = "{name}() is in no table: what it reads and changes is not known"

_STATE = "{name}() uses an outer object whose state no snapshot shows; it stays as the export leaves it"
_WITH_STATE = (CallKind.OPAQUE, CallKind.LOCK)

_TABLES: tuple[tuple[tuple[str, ...], str], ...] = (
    (skipped_calls.UNRECORDABLE, _CONSTANT),
    (skipped_calls.GLOBAL_RNG, _RNG),
    (skipped_calls.PROCESS_STATE, _PROCESS),
    (skipped_calls.OUTSIDE_WORLD, _WORLD),
)
_KINDS: dict[CallKind, str] = {
    CallKind.UNRECORDABLE: _CONSTANT,
    CallKind.WORLD: _WORLD,
    CallKind.RNG: _RNG,
    CallKind.PROCESS: _PROCESS,
    CallKind.UNKNOWN: _UNKNOWN,
}


_STATISTICS = tuple(LruCacheWrapper.__dict__[name] for name in ("cache_info", "cache_clear"))
_WRAPPERS = ("torch._compile", "torch._dynamo", "contextlib")


class ProgramListener(Protocol):
    """Receives the events of the program."""

    def unsound(self, text: str) -> None:
        """A call that strict refuses."""

    def is_outside(self, value: Any) -> bool:
        """Whether an object was there before the run."""

    def first_run(self, frame: FrameType) -> None:
        """A function of the program is about to run for the first time."""

    def failed(self, fn: Any) -> None:
        """A function written in C has raised an error."""

    def questions(self, kinds: set[str]) -> None:
        """A function has checked the identity or the type of fake tensors or symbolic sizes."""


@contextmanager
def watched(listener: ProgramListener) -> Iterator[ProfileHook | None]:
    """A context in which `listener` receives the events of this thread. Yields None if another profiler is active."""
    if sys.getprofile() is not None:
        listener.unsound("a profiler is on: calls whose answer differs from call to call (time, random) are not seen")
        yield None
        return
    watch = ProfileHook(listener)
    with changed(partial(sys.setprofile, None)):
        sys.setprofile(watch)
        yield watch


class unwatched:
    """A block that runs none of the program's code: the hook is off, because each observed call costs time."""

    __slots__ = ("_watch",)

    def __enter__(self) -> None:
        self._watch = sys.getprofile()
        if type(self._watch) is ProfileHook:
            sys.setprofile(None)

    def __exit__(self, *_: object) -> None:
        if type(self._watch) is ProfileHook:
            sys.setprofile(self._watch)


class ProfileHook:
    """The profile function. `printing` is not 0 while print() and the like make texts."""

    def __init__(self, listener: ProgramListener) -> None:
        self._listener = listener
        self.printing = 0
        self._python: dict[int, str] = {}  # id of a code object → text
        # Functions called by the garbage collector, at arbitrary times, are not calls of the program.
        self._collector = {getattr(callback, "__code__", None) for callback in gc.callbacks}
        self._native: dict[int, str] = {}  # id of a C callable → text
        self._callers: dict[int, tuple[CodeType, bool]] = {}
        self._asking: dict[int, tuple[Question, ...]] = {}  # id of a code object → its checks
        for names, template in _TABLES:
            for name in names:
                fn = loaded(name)
                text = template.format(name=name.replace(":", "."))
                if type(fn) is FunctionType:
                    self._python[id(inspect.unwrap(fn).__code__)] = text  # torch wraps some for TorchDynamo
                elif fn is not None:
                    self._native[id(callee_key(fn, ())[0])] = text

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if event == "c_call":
            if self._is_program(frame) and code not in self._collector:
                self._c_call(arg)
        elif event == "call":
            if id(code) not in self._callers:
                self._first_call(frame)
            if id(code) in self._python:
                self._python_call(frame)
        elif event == "return":
            if id(code) in self._asking:
                self._listener.questions(kinds_asked(self._asking[id(code)], frame))
        elif self.printing and arg is print:
            self.printing -= 1
        if event == "c_exception" and self._is_program(frame):
            self._listener.failed(arg)

    def _first_call(self, frame: FrameType) -> None:
        if not self._is_program(frame):
            return
        self._listener.first_run(frame)
        found = questions(frame.f_code)
        if found:
            self._asking[id(frame.f_code)] = found

    def _python_call(self, frame: FrameType) -> None:
        caller = frame.f_back
        while caller is not None and str(caller.f_globals.get("__name__", "")).startswith(_WRAPPERS):
            caller = caller.f_back
        if caller is not None and self._is_program(caller):
            self._listener.unsound(self._python[id(frame.f_code)])

    def _c_call(self, fn: Any) -> None:
        if fn is print:
            self.printing += 1
            return
        key = callee_key(fn, ())[0]
        text = self._native.get(id(key))
        if key in _STATISTICS and self._listener.is_outside(fn.__self__):
            text = f"{fn.__name__}() of an outer lru_cache: the run has used the cache, the program does not"
        kind = verdict_of(key).kind
        template = (
            _STATE
            if kind in _WITH_STATE and self._listener.is_outside(getattr(fn, "__self__", None))
            else _KINDS.get(kind)
        )
        if text is None and template is not None:
            text = template.format(name=str(name_of(key)).replace(":", ".").removeprefix("builtins."))
        if text is not None:
            self._listener.unsound(text)

    def _is_program(self, frame: FrameType) -> bool:
        """Whether the frame runs the program's own code; libraries use ids and clocks for their own purposes."""
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
    """The object named by "module:qualified.name"; None if the module is not loaded."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found
