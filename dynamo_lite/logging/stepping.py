"""`bytecode`, `trace_source` and `calls`: the program as it runs.

The interpreter's hooks are wrapped for one run, so that logs that are off cost nothing.
"""

from __future__ import annotations

import logging
import re
from typing import Any

from dynamo_lite.errors import UserFrame
from dynamo_lite.interpreter import Interpreter
from dynamo_lite.interpreter.code.sentinels import NULL
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.logging.settings import is_on, log
from dynamo_lite.logging.values import short

_STACK_SHOWN = 6
_VARIABLE = re.compile(r"_(FAST|DEREF)$")


def attach(vm: Interpreter) -> None:
    """Log the steps of `vm` from now on, as far as the artifacts are on."""
    if is_on("locals"):
        UserFrames(vm)
    if is_on("bytecode") or is_on("trace_source"):
        _Steps(vm)
    if is_on("calls"):
        _log_calls(vm)


class UserFrames:
    """Wraps `vm.on_instruction`, to know the last frame that ran and is not a library's."""

    latest: UserFrames | None = None
    """Of the interpreter that began last."""

    def __init__(self, vm: Interpreter) -> None:
        self._before = vm.on_instruction
        self._users: dict[int, tuple[Any, bool]] = {}
        self._last: Any = None
        vm.on_instruction = self._step
        UserFrames.latest = self

    def _step(self, frame: Any, operation: Any) -> None:
        known = self._users.get(id(frame.code))
        if known is None:
            at = UserFrame(frame.code.co_filename, 1, frame.code.co_name)
            known = self._users[id(frame.code)] = (frame.code, not (at.is_library or at.is_installed))
        if known[1]:
            self._last = frame
        if self._before is not None:
            self._before(frame, operation)

    def log_locals(self) -> None:
        """Log the variables of that frame, one record."""
        if self._last is None:
            return
        rows = [f"  {name} = {short(value)}" for name, value in self._last.f_locals().items()]
        code = self._last.code
        log("locals", "\n".join([f"{code.co_filename}:{self._last.lineno} in {code.co_name}", *rows]))


class _Steps:
    """Wraps `vm.on_instruction`."""

    def __init__(self, vm: Interpreter) -> None:
        self._vm = vm
        self._before = vm.on_instruction
        self._line: tuple[Any, int] | None = None
        self._libraries: dict[int, tuple[Any, bool]] = {}
        vm.on_instruction = self._step

    def _step(self, frame: Any, operation: Any) -> None:
        level = logging.DEBUG if self._is_library(frame.code) else logging.INFO
        if is_on("trace_source", level):
            self._show_line(frame, level)
        if is_on("bytecode", level):
            handler, argument = operation
            self._show_instruction(frame, handler, argument, level)
        if self._before is not None:
            self._before(frame, operation)

    def _show_line(self, frame: Any, level: int) -> None:
        line = (frame.code, frame.lineno)
        if line != self._line:
            self._line = line
            at = UserFrame(frame.code.co_filename, frame.lineno, frame.code.co_name)
            log("trace_source", f"{at.filename}:{at.lineno} in {at.name}: {at.source}", level)

    def _show_instruction(self, frame: Any, handler: Any, argument: Any, level: int) -> None:
        stack = ["NULL" if value is NULL else short(value) for value in frame.stack[-_STACK_SHOWN:]]
        more = "... " if len(frame.stack) > _STACK_SHOWN else ""
        name = handler.__name__.upper()
        if _VARIABLE.search(name) and type(argument) is int:
            shown = str(frame.info.names[argument])
        else:
            shown = "" if argument is None else short(argument)
        log("bytecode", f"{frame.code.co_name}:{frame.lineno} {name} {shown}  [{more}{', '.join(stack)}]", level)

    def _is_library(self, code: Any) -> bool:
        known = self._libraries.get(id(code))
        if known is None:
            known = self._libraries[id(code)] = (code, UserFrame(code.co_filename, 1, code.co_name).is_library)
        return known[1]


def _log_calls(vm: Interpreter) -> None:
    before = vm.before_call

    def before_call(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        frame = vm.frame
        if frame is not None:
            at = UserFrame(frame.code.co_filename, frame.lineno, frame.code.co_name)
            level = logging.DEBUG if at.is_library else logging.INFO
            if is_on("calls", level):
                given = [*map(short, args), *(f"{name}={short(value)}" for name, value in kwargs.items())]
                text = f"{short(fn)}({', '.join(given)})"
                log("calls", f"{at.filename}:{at.lineno} in {at.name}: {'  ' * (vm.depth - 1)}{text}", level)
        return before(fn, args, kwargs) if before is not None else NOT_HANDLED

    vm.before_call = before_call
