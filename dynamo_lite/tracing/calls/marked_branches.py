"""dynamo_lite.branch(pred) where other branches are refused: the trace is made again by a tracer that takes these."""

from __future__ import annotations

from typing import Any, NoReturn

from dynamo_lite.errors import InternalError
from dynamo_lite.tracing.interfaces import TracerView


class Marked(InternalError):
    """The program has marked a branch to be captured."""


def call_branch(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NoReturn:
    """branch(pred) in a trace whose tracer captures none."""
    tracer.abort(Marked("a branch is marked to be captured, which this trace cannot do"))
