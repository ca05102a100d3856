"""The protocol of the interpreter for its parts.

Opcodes, frames, the data model and lookasides take the interpreter as their first argument, with this interface. None
of them imports vm.py, which imports all of them.
"""

from __future__ import annotations

from collections.abc import Container
from types import FunctionType, TracebackType
from typing import Any, Protocol

from dynamo_lite.interpreter.observer import HookTable


class VM(HookTable, Protocol):
    """The interpreter (vm.Interpreter)."""

    observer: Any
    entries: Any

    trampolines: Any
    """The trampolines that native code enters the program by (datamodel/trampolines.py)."""

    frame: Any
    """The running frame (frames/frame.py), or None."""

    handled: Any
    """The exception that is being handled (frames/frame.py, `Handled`)."""

    native_handled: BaseException | None
    inherits_handled: bool
    clean_traceback: TracebackType | None
    native_frame: Any
    made_dicts: set[int] | None
    generators: list[Any] | None
    frees: bool
    retired: bool
    depth: int
    recursion_limit: int

    def enter(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...

    def call(self, fn: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any: ...

    def interpret_function(
        self, fn: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> Any: ...

    def run(self, frame: Any) -> Any: ...

    def run_until(self, frame: Any, stops: Container[int]) -> int | None: ...

    def getattr(self, obj: Any, name: str, default: Any = ...) -> Any: ...

    def set_recursion_limit(self, limit: int) -> None: ...
