"""Where prints, warnings and logs go: to the process's own streams, or to an object whose state the program reads."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from types import FunctionType, MethodType, ModuleType
from typing import Any

from dynamo_lite.interpreter.datamodel.trampoline_code import original_code
from dynamo_lite.tracing.interfaces import FeatureState, TracerView

_STATE = (list, dict, set)


class Listeners(FeatureState):
    """Where the output of the process goes when the run begins."""

    def __init__(self, tracer: TracerView) -> None:
        tracer.journal.on_rollback(self.restore_filters)
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
        if not self._heard:
            return None
        owners = {owner for _, owner, _ in places}
        entries = {(owner, key) for how, owner, key in places if how == "item"}
        for listener in self._heard.values():
            ids, names = state_of(listener)
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


def state_of(listener: Any) -> tuple[set[int], set[tuple[int, str]]]:
    """Where the state of a listener is: ids of objects, and (id of a module's globals, name) of its variables."""
    ids, names = {id(listener)}, set()
    todo = [listener.__func__, listener.__self__] if isinstance(listener, MethodType) else [listener]
    for part in todo:
        ids.add(id(part))
        ids |= {id(value) for value in getattr(part, "__dict__", {}).values() if issubclass(type(value), _STATE)}
        functions = [part] if isinstance(part, FunctionType) else []
        for cls in type(part).__mro__ if not functions else ():
            if not is_logging(cls) and cls.__module__ not in sys.stdlib_module_names:
                functions += [value for value in vars(cls).values() if isinstance(value, FunctionType)]
        for function in functions:
            ids |= {id(cell) for cell in function.__closure__ or ()}
            ids |= {id(cell.cell_contents) for cell in function.__closure__ or () if _is_state(cell.cell_contents)}
            for name in original_code(function.__code__).co_names:
                if _is_state(value := function.__globals__.get(name)):
                    names.add((id(function.__globals__), name))
                    ids.add(id(value))
    return ids, names


def _is_state(value: Any) -> bool:
    return value is not None and not issubclass(type(value), (ModuleType, FunctionType, type))


def is_logging(part: Any) -> bool:
    """Whether a function or a class is the standard library's."""
    return str(getattr(part, "__module__", "")).partition(".")[0] in ("logging", "asyncio", "concurrent")
