"""The context variables that the program has set: each must have its original value at the end."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from dynamo_lite.run.finished_run import CallRecord, FinishedRun, lose_effect
from dynamo_lite.tracing.calls.run_native import run_native
from dynamo_lite.tracing.effects.descriptions import describe
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.interfaces import FeatureState, TracerView


class ContextValues(FeatureState):
    """The variables that the run has set, with their original values."""

    def __init__(self, tracer: TracerView) -> None:
        self.before: dict[ContextVar[Any], Any] = {}

    def save(self) -> dict[ContextVar[Any], Any]:
        saved, self.before = self.before, {}
        return saved

    def restore(self, saved: dict[ContextVar[Any], Any]) -> None:
        self.before = {**self.before, **saved}

    def changed(self, saved: Any) -> str | None:
        changes = self.changes()
        return f"the context variable {changes[0][0].name!r}" if changes else None

    def changes(self) -> list[tuple[ContextVar[Any], Any, Any]]:
        """The variables that hold another value than before, with both values."""
        rows = ((variable, before, variable.get(MISSING)) for variable, before in self.before.items())
        return [row for row in rows if row[2] is not row[1]]


def call_context_var(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """ContextVar.set: undone at the end of the trace, which must find the variable as it was."""
    variable = args[0]
    if tracer.writes.is_old(variable):
        tracer.own(ContextValues).before.setdefault(variable, variable.get(MISSING))
    else:
        tracer.on_hidden_change(variable)
    token = run_native(fn, args, kwargs)

    def undo() -> None:
        try:
            variable.reset(token)
        except (RuntimeError, ValueError):
            return  # the program used the token itself, or set the variable in a context of its own

    tracer.journal.on_rollback(undo)
    return token


def check_restored(run: FinishedRun, call: CallRecord) -> None:
    """The program leaves each variable as it was."""
    for variable, before, now in run.tracer.own(ContextValues).changes():
        lose_effect(
            run, "setting", f"the context variable {variable.name!r}", describe(before), describe(now), "global-state"
        )
