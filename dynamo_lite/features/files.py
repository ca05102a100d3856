"""Files and properties of the process that the program reads: constants of the program, with a guard.

Like an attribute or an environment variable, a file is read once, when the program is traced. The guard identifies the
file (its size, its time, its number). A directory that the program makes for a cache is not made: this has no effect
until the program looks there, which is refused.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.calls.run_native import run_native
from dynamo_lite.tracing.feature import Feature, NamedRules
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView

QUESTIONS: tuple[str, ...] = (
    *(f"genericpath:{name}" for name in ("exists", "isfile", "isdir", "getsize", "getmtime")),
    *(f"posixpath:{name}" for name in ("lexists", "islink")),
    *(f"pathlib:Path.{name}" for name in ("exists", "is_file", "is_dir")),
)
READS: tuple[str, ...] = ("pathlib:Path.read_text", "pathlib:Path.read_bytes", "pathlib:Path.open")


class Files(FeatureState):
    """guards: the guards' functions, by their query; unmade: directories that eager would have made."""

    stays = "a side's queries are guards in any case; a directory that it leaves out is only refused later"

    def __init__(self, tracer: TracerView) -> None:
        self._tracer = tracer
        self.guards: dict[Any, Callable[[], Any]] = {}
        self.unmade: list[str] = []

    def condition(self, key: Any, name: str, read: Callable[[], Any]) -> None:
        """Make the result of `read` a condition of the program."""
        if key not in self.guards:

            def query() -> Any:
                return read()

            query.__name__ = name
            self.guards[key] = query
            self._tracer.reads.switches.setdefault(query, self._tracer.reads.site())

    def path(self, value: Any, function: str) -> str | None:
        """The path that a call is given, if it is one by name; refuses one within an unmade directory."""
        if not isinstance(value, (str, Path)):
            return None
        path = os.path.abspath(value)
        if any(path == made or path.startswith(made + os.sep) for made in self.unmade):
            self._tracer.refuse("outside-world", function=function)
        return path


def question(name: str) -> Step:
    """Whether a path is there, and the like."""
    function = name.rpartition(".")[2]

    def rule(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        files = tracer.own(Files)
        path = files.path(args[0], name) if args else None
        if tracer.in_library() or path is None or len(args) > 1 or kwargs:
            return NOT_HANDLED
        files.condition((function, path), f"{function}({path!r})", lambda: fn(*args))
        return run_native(fn, args, kwargs)

    return rule


def read(name: str) -> Step:
    """A file that is opened for reading, or read as a whole."""

    def rule(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if tracer.in_library() or not args:
            return NOT_HANDLED
        files = tracer.own(Files)
        path = files.path(args[0], name)
        mode = kwargs.get("mode", args[1] if len(args) > 1 else "r") if name.endswith("open") else "r"
        is_file = path is not None and (os.path.isfile(path) or not os.path.lexists(path))
        if path is None or mode not in _FOR_READING or not is_file or "opener" in kwargs:
            return tracer.refuse("outside-world", function=name)
        files.condition(("file", path), f"the file {path}", lambda: _version(path))
        return run_native(fn, args, kwargs)

    return rule


_FOR_READING = frozenset({"r", "rt", "rb"})


def _version(path: str) -> tuple[int, ...] | None:
    """Which version of a file this is; None if it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def make_directory(name: str) -> Step:
    """os.makedirs(path, exist_ok=True), Path.mkdir: of a directory that is there, nothing; else it is left out."""

    def rule(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        files = tracer.own(Files)
        path = files.path(args[0], name) if args else None
        if tracer.in_library() or path is None:
            return NOT_HANDLED
        may_exist = kwargs.get("exist_ok") is True
        asked = any((question, path) in files.guards for question in ("exists", "isdir", "is_dir"))
        if os.path.isdir(path) and may_exist:
            files.condition(("isdir", path), f"isdir({path!r})", lambda: os.path.isdir(path))
        elif not os.path.lexists(path) and (may_exist or asked):
            files.unmade.append(path)
            tracer.note(f"{name} was skipped: the program does not make {path}")
        else:
            tracer.refuse("outside-world", function=name)
        return None

    return rule


def call_isatty(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Whether one of the process's streams is a terminal."""
    stream = args[0] if args else None
    names = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name, None) is stream]
    if tracer.in_library() or not names or len(args) > 1:
        return NOT_HANDLED
    name = names[0]
    tracer.own(Files).condition((name, "isatty"), f"sys.{name}.isatty()", lambda: getattr(sys, name).isatty())
    return run_native(fn, args, kwargs)


def call_cpu_count(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The number of processors."""
    if tracer.in_library() or args or kwargs:
        return NOT_HANDLED
    tracer.own(Files).condition("cpu_count", "os.cpu_count()", os.cpu_count)
    return run_native(fn, args, kwargs)


def table() -> dict[int, Step]:
    """id(callable) → rule."""
    kinds = (io.IOBase, io.TextIOWrapper, io.BufferedWriter, io.BufferedReader, io.FileIO)
    return {
        id(open): read("builtins.open"),
        id(os.cpu_count): call_cpu_count,
        id(os.makedirs): make_directory("os.makedirs"),
        id(os.mkdir): make_directory("os.mkdir"),
        **{id(kind.isatty): call_isatty for kind in kinds},
    }


FEATURE = Feature(
    name="files",
    state=(Files,),
    rules=table,
    named=(
        NamedRules(QUESTIONS, question),
        NamedRules(READS, read),
        NamedRules(("pathlib:Path.mkdir",), make_directory),
    ),
    graph_breaks=("outside-world",),
)
