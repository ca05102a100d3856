"""Who would have received a warning or a log that was skipped: an object whose state the program may read."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from types import FunctionType, MethodType, ModuleType
from typing import Any

from dynamo_lite.interpreter.datamodel.trampoline_code import original_code
from dynamo_lite.run.finished_run import CallRecord, FinishedRun, lose_effect
from dynamo_lite.tracing.interfaces import FeatureState, TracerView

_STATE = (list, dict, set)


class Listeners(FeatureState):
    """The filters of warnings when the run begins, and the receivers of skipped output."""

    stays = "who would have received what was skipped on a side may have received it"

    from_the_start = True

    def __init__(self, tracer: TracerView) -> None:
        tracer.journal.on_rollback(self.restore_filters)
        self._filters = list(warnings.filters)
        self._heard: dict[int, Any] = {}

    def heard_by(self, listener: Any) -> None:
        """Record a handler, a filter, ... other than the standard library's that skipped output would have reached."""
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


def check_unread(run: FinishedRun, call: CallRecord) -> None:
    """Check that the program reads no receiver's state after skipped output, and leaves the filters unchanged."""
    tracer = run.tracer
    listener = tracer.own(Listeners).read_by(tracer.reads.places)
    if listener is not None:
        kind = getattr(listener, "__qualname__", type(listener).__qualname__)
        raise tracer.graph_break("outside-object", what=f"what {kind} keeps of the logs and warnings that it gets")
    rows = tracer.own(Listeners).changed_filters()
    if any(row is not None and row[0] == "error" for row in rows):
        lose_effect(run, "setting", "the filters of warnings", "without", "with one that raises", "global-state")
    elif rows:
        tracer.note("the filters of warnings are changed; the program does not change them")


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
