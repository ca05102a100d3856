"""print(), warnings.warn() and logging: skipped with a note, unless the program itself reads the output.

A program that captures its output (contextlib.redirect_stdout, warnings.catch_warnings(record=True),
print(file=buffer)) may read it again: then it cannot be skipped.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

from dynamo_lite.features.output.listeners import Listeners
from dynamo_lite.features.tracebacks import hidden_frames
from dynamo_lite.interpreter import datamodel
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.output_streams import OutputStreams
from dynamo_lite.tracing.policy import native_modules
from dynamo_lite.tracing.strings.deferred_str import read_all
from dynamo_lite.tracing.strings.nondeterministic import Unrecordable, refuse_use

WARNINGS = ("warnings:warn", "warnings:warn_explicit", "_warnings:warn", "_warnings:warn_explicit")
_TEXT = ("__str__", "__repr__", "__format__")


def call_print(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """print(...) to the process's own streams is skipped; texts that the program's classes make are still made."""
    if not _is_right(kwargs):
        return NOT_HANDLED  # an error in eager
    if not tracer.own(OutputStreams).is_stream(kwargs.get("file")):
        stream = sys.stdout if kwargs.get("file") is None else kwargs["file"]
        if tracer.writes.is_old(stream):
            tracer.refuse("outside-object", what="print() into a stream")
        tracer.on_hidden_change(stream)
        read_all((*args, *kwargs.values()))
        return NOT_HANDLED
    make_texts(tracer, args)
    tracer.note("builtins.print was skipped")
    return None


def _is_right(kwargs: dict[str, Any]) -> bool:
    texts = (kwargs.get("sep"), kwargs.get("end"))
    return kwargs.keys() <= {"sep", "end", "file", "flush"} and all(x is None or isinstance(x, str) for x in texts)


def make_texts(tracer: TracerView, args: tuple[Any, ...]) -> None:
    """The texts that the program's own classes make of themselves for something that is skipped: with effects."""
    for arg in args:
        makes_text = any(type(datamodel.type_lookup(type(arg), name)) is _FUNCTION for name in _TEXT)
        if makes_text and _is_program(tracer, arg):
            datamodel.str_(tracer.vm, arg)


_FUNCTION = type(call_print)


def call_print_exception(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """traceback.print_exception, and print_exc through it: as print()."""
    stream = args[4] if len(args) > 4 else kwargs.get("file")
    stream = sys.stderr if stream is None else stream
    if not tracer.own(OutputStreams).is_stream(stream):
        if tracer.writes.is_old(stream):
            tracer.refuse("outside-object", what="a stream that a traceback is printed into")
        tracer.on_hidden_change(stream)
        return hidden_frames.call_traceback(tracer, fn, args, kwargs)
    tracer.note("traceback.print_exception was skipped")
    return None


def _is_program(tracer: TracerView, value: Any) -> bool:
    """Whether the text of `value` is made by the program's own code: it may have effects."""
    return not native_modules.in_library(str(type(value).__module__))


def call_warn(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A warning is skipped, unless a filter makes it an exception or the program catches it."""
    if tracer.own(OutputStreams).warnings_are_caught():
        tracer.refuse("outside-object", what=_CAUGHT)
    if len(args) > 5 or kwargs.get("registry") is not None:
        tracer.refuse("outside-object", what="a registry of warnings of its own")
    if any(row[0] == "error" for row in warnings.filters):
        read_all((*args, *kwargs.values()))
        return NOT_HANDLED
    if getattr(warnings.showwarning, "__module__", "") not in ("warnings", "_py_warnings"):  # 3.14 has the latter
        tracer.own(Listeners).heard_by(warnings.showwarning)
    tracer.note(f"{fn.__module__}.{fn.__name__} was skipped")
    return None


def call_catch_warnings(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """warnings.catch_warnings.__enter__: a list of caught warnings would include those of C++ and torch's Python. The
    program may hold it, and is refused if it looks into it."""
    catcher = args[0]
    if not getattr(catcher, "_record", False) or tracer.in_library():
        return NOT_HANDLED
    if not tracer.sees_python:
        tracer.refuse("outside-object", what=_CAUGHT)
    catcher._record = False
    try:
        tracer.vm.call(fn, args, kwargs)
    finally:
        catcher._record = True
    return CaughtWarnings(_CAUGHT, lambda what: tracer.refuse("outside-object", what=what))


_CAUGHT = "warnings that it catches itself"


class CaughtWarnings(Unrecordable):
    """The list of warnings that were caught."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return super().__getattr__(name) if name.startswith("__") else refuse_use(self)

    def __getitem__(self, key: Any) -> Any:
        return refuse_use(self)
