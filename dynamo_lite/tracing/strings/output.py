"""print(), warnings.warn() and logging: skipped with a note, while nobody in the program listens.

A program that catches what it says (contextlib.redirect_stdout, warnings.catch_warnings(record=True),
print(file=buffer)) reads it again: then it is no mere talk.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import Any

from dynamo_lite.interpreter import datamodel
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import Trace
from dynamo_lite.tracing.policy import native_modules
from dynamo_lite.tracing.strings.deferred_str import read_all

_TEXT = ("__str__", "__repr__", "__format__")


class Listeners:
    """Where the process's talk goes when the run begins."""

    def __init__(self) -> None:
        self.streams = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
        self._warnings = _shown_by()
        self._filters = list(warnings.filters)
        self._heard: dict[int, Any] = {}

    def is_stream(self, stream: Any) -> bool:
        """Whether `stream` is one of the process's own (None: wherever print() writes)."""
        stream = sys.stdout if stream is None else stream
        return any(stream is known for known in self.streams)

    def warnings_are_caught(self) -> bool:
        """Whether the program itself has taken over what becomes of warnings."""
        return self._warnings != _shown_by() or not self.is_stream(sys.stderr)

    def heard_by(self, listener: Any) -> None:
        """What was skipped would have reached a handler, a filter, ... that is not the standard library's."""
        self._heard.setdefault(id(listener), listener)

    def read_by(self, places: Iterable[tuple[str, int, Any]]) -> Any:
        """The first such listener whose state is in one of these places, which the program has read; else None."""
        from dynamo_lite.tracing.strings import log_calls

        if not self._heard:
            return None
        owners = {owner for _, owner, _ in places}
        entries = {(owner, key) for how, owner, key in places if how == "item"}
        for listener in self._heard.values():
            ids, names = log_calls.state_of(listener)
            if ids & owners or names & entries:
                return listener
        return None

    def changed_filters(self) -> list[Any]:
        """The rows of warnings.filters that the run has added and not taken away; None for one that is gone."""
        now = list(warnings.filters)
        if now == self._filters:
            return []
        return [row for row in now if row not in self._filters] or [None]

    def restore_filters(self) -> None:
        if list(warnings.filters) != self._filters:
            warnings.filters[:] = self._filters  # type: ignore[index]
            warnings._filters_mutated()  # type: ignore[attr-defined]


def _shown_by() -> tuple[Any, ...]:
    return warnings.showwarning, getattr(warnings, "_showwarnmsg_impl", None)


def call_print(tracer: Trace, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """print(...) to the process's own streams is skipped; texts that the program's classes make are still made."""
    if not _is_right(kwargs):
        return NOT_HANDLED  # an error in eager
    if not tracer.listeners.is_stream(kwargs.get("file")):
        if tracer.writes.is_old(sys.stdout if kwargs.get("file") is None else kwargs["file"]):
            tracer.refuse("outside-object", what="print() into an object from outside")
        read_all((*args, *kwargs.values()))
        return NOT_HANDLED
    make_texts(tracer, args)
    tracer.note("builtins.print was skipped")
    return None


def _is_right(kwargs: dict[str, Any]) -> bool:
    texts = (kwargs.get("sep"), kwargs.get("end"))
    return kwargs.keys() <= {"sep", "end", "file", "flush"} and all(x is None or isinstance(x, str) for x in texts)


def make_texts(tracer: Trace, args: tuple[Any, ...]) -> None:
    """The texts that the program's own classes make of themselves for something that is skipped: with effects."""
    for arg in args:
        makes_text = any(type(datamodel.type_lookup(type(arg), name)) is _FUNCTION for name in _TEXT)
        if makes_text and _is_program(tracer, arg):
            datamodel.str_(tracer.vm, arg)


_FUNCTION = type(call_print)


def call_print_exception(tracer: Trace, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """traceback.print_exception, and print_exc through it: as print()."""
    stream = args[4] if len(args) > 4 else kwargs.get("file")
    stream = sys.stderr if stream is None else stream
    if not tracer.listeners.is_stream(stream):
        if tracer.writes.is_old(stream):
            tracer.refuse("outside-object", what="a traceback printed into an object from outside")
        return NOT_HANDLED
    tracer.note("traceback.print_exception was skipped")
    return None


def _is_program(tracer: Trace, value: Any) -> bool:
    """Whether the text of `value` is made by the program's own code: it may have effects."""
    return not native_modules.in_library(str(type(value).__module__))


def call_warn(tracer: Trace, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A warning is skipped, unless a filter makes it an exception or the program catches it."""
    if tracer.listeners.warnings_are_caught():
        tracer.refuse("outside-object", what="warnings that it catches itself")
    if len(args) > 5 or kwargs.get("registry") is not None:
        tracer.refuse("outside-object", what="a registry of warnings of its own")
    if any(row[0] == "error" for row in warnings.filters):
        read_all((*args, *kwargs.values()))
        return NOT_HANDLED
    if str(getattr(warnings.showwarning, "__module__", "")) != "warnings":
        tracer.listeners.heard_by(warnings.showwarning)
    tracer.note(f"{fn.__module__}.{fn.__name__} was skipped")
    return None


def call_catch_warnings(tracer: Trace, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """warnings.catch_warnings.__enter__: a list of what is caught would hold what C++ and torch's Python warn of."""
    if getattr(args[0], "_record", False) and not tracer.in_library():
        tracer.refuse("outside-object", what="warnings that it catches itself")
    return NOT_HANDLED
