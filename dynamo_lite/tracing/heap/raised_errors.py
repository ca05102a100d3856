"""Errors from before the run that the program raises: each time their traceback grows, their context is another.

No program sees that unless it looks at these. Who only raises and catches leaves no effect.
"""

from __future__ import annotations

from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView


class Raised(FeatureState):
    """The last exception that the program itself raised."""

    stays = "it is asked for in a handler, on the side on which the error was raised"

    def __init__(self, tracer: TracerView) -> None:
        self.last: BaseException | None = None


class LooksAtTracebacks(FeatureState):
    """Whether the program looked at any traceback."""

    stays = "a read on one side counts for the program"

    def __init__(self, tracer: TracerView) -> None:
        self.happened = False


def call_throw(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`throw()` of a generator or coroutine raises an error as the `raise` statement does."""
    for value in args:
        if issubclass(type(value), BaseException):
            tracer.writes.before_raise(value)
    return NOT_HANDLED


def is_seen(tracer: TracerView, change: Change) -> bool:
    """Whether a change that raising makes on an error is one that the program looked for."""
    name = change.part.removeprefix("member ")
    if name == "__traceback__" and tracer.own(LooksAtTracebacks).happened:
        return True
    return ("attr", id(change.owner), name) in tracer.reads.places


RULES: dict[int, Step] = {
    id(kind.__dict__[name]): call_throw
    for kind, name in ((GeneratorType, "throw"), (CoroutineType, "throw"), (AsyncGeneratorType, "athrow"))
}
"""id(callable) → the step before its call."""
