"""The context variables that the program has set."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from dynamo_lite.tracing.interfaces import State, Trace


class ContextValues(State):
    """The variables that the run has set, and what they held before."""

    def __init__(self, tracer: Trace) -> None:
        self.before: dict[ContextVar[Any], Any] = {}
