"""The context variables that the program has set."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from dynamo_lite.tracing.calls.run_native import run_native
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.interfaces import FeatureState, TracerView


class ContextValues(FeatureState):
    """The variables that the run has set, and what they held before."""

    def __init__(self, tracer: TracerView) -> None:
        self.before: dict[ContextVar[Any], Any] = {}


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
