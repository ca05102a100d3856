"""logging: a record is skipped with a note, unless code of the program takes part in making or handling it.

Handlers, filters and formatters that are not the standard library's are the process's (Sentry's, pytest's): their
effects are not the program's, unless the program reads their state. That is known when the run is over
(`Listeners.read_by` in listeners.py).
"""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

from dynamo_lite.features.output.listeners import Listeners, is_logging
from dynamo_lite.features.output.printing import make_texts
from dynamo_lite.interpreter.datamodel.trampoline_code import original_code
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.output_streams import OutputStreams
from dynamo_lite.tracing.strings.deferred_str import UnreadText

_METHODS = ("debug", "info", "warning", "error", "exception", "critical", "log")
NAMES = (
    *(f"logging:Logger.{name}" for name in (*_METHODS, "warn", "_log")),
    *(f"logging:LoggerAdapter.{name}" for name in ("debug", "info", "warning", "error", "log")),
    *(f"logging:{name}" for name in ("debug", "info", "warning", "error", "critical", "log")),
)
_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "exception": logging.ERROR,
    "critical": logging.CRITICAL,
}
_OF_A_LOGGER = ("_log", "makeRecord", "handle", "callHandlers", "isEnabledFor", "getEffectiveLevel", "findCaller")
_OF_AN_ADAPTER = ("process", "log", "isEnabledFor", "_log")


def rule(name: str) -> Step:
    """The rule for the function or method of logging with this name ("logging.Logger.info")."""
    level = _LEVELS.get(name.rpartition(".")[2])

    def call(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not _binds(fn, args, kwargs):
            return NOT_HANDLED  # an error in eager
        owner = args[0] if "." in name.removeprefix("logging.") else logging.root
        if isinstance(owner, logging.LoggerAdapter):
            if type(owner) is not logging.LoggerAdapter and _overrides(owner, _OF_AN_ADAPTER):
                return tracer.vm.interpret_function(fn, args, kwargs)
            owner = owner.logger
        elif _overrides(owner, _OF_A_LOGGER):
            if fn is logging.Logger._log:
                tracer.refuse("outside-object", what=f"the logger {owner.name!r}, whose class handles records itself")
            return tracer.vm.interpret_function(fn, args, kwargs)
        if isinstance(owner, logging.Logger):
            _handle_record(tracer, owner, level, args[1:] if owner is not logging.root else args)
        tracer.note(f"{name} was skipped")
        return None

    return call


def only_logs(function: Any, values: list[Any]) -> bool:
    """Whether all that a function can do with a logger and these values, texts of which one is not read, is to log
    them: `warning_once` of transformers and of torch._logging. It names nothing but the methods of loggers."""
    if type(function) is not FunctionType or not {*map(type, values)} <= {str, UnreadText}:
        return False
    code = original_code(function.__code__)
    is_log = not code.co_freevars and set(code.co_names) <= _LEVELS.keys()
    return is_log and UnreadText in map(type, values)


def _binds(fn: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    code = original_code(fn.__code__)
    if len(args) >= code.co_argcount - len(fn.__defaults__ or ()):
        return True
    try:
        inspect.signature(fn).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _overrides(owner: Any, names: tuple[str, ...]) -> bool:
    """Whether the class of a logger or an adapter has one of these methods of its own."""
    cls = type(owner)
    if cls.__module__ == "logging":
        return False
    return any(not is_logging(getattr(cls, name, logging.Logger.handle)) for name in names)


def _handle_record(tracer: TracerView, logger: logging.Logger, level: int | None, args: tuple[Any, ...]) -> None:
    """A record that is made: who handles it, and the texts that the program's classes make for it."""
    if level is None and args and type(args[0]) is int:
        level = args[0]
    if level is not None and not logger.isEnabledFor(level):
        return
    handlers = list(_handlers(logger))
    if not handlers and not tracer.own(OutputStreams).is_stream(sys.stderr):
        tracer.refuse("outside-object", what="a log that it catches itself")
    make_texts(tracer, args)
    parts: list[Any] = [*logger.filters, *handlers, logging.getLogRecordFactory()]
    for handler in handlers:
        parts += [*handler.filters, handler.formatter, getattr(handler, "stream", None)]
    for part in parts:
        if part is not None and not tracer.own(OutputStreams).is_stream(part):
            cls = part if isinstance(part, (type, FunctionType, MethodType)) else type(part)
            if not is_logging(cls):
                tracer.own(Listeners).heard_by(part)


def _handlers(logger: logging.Logger) -> Iterator[logging.Handler]:
    at: logging.Logger | None = logger
    while at is not None:
        yield from at.handlers
        at = at.parent if at.propagate else None
