"""Loops that only an exception ends: `while test: ...` and then `raise` asserts its test in each iteration.

Each assertion is one of the program's, and the trace continues as if it held: without a bound it would not terminate.
"""

from __future__ import annotations

import collections
from typing import Any

from dynamo_lite.interpreter.flow import flow_of
from dynamo_lite.tracing.interfaces import FeatureState, TracerView

_ROUNDS, _ROUNDS_OF_OTHERS = 500, 10_000
"""How often one jump of a call may be an assertion: where the call cannot return from it, and elsewhere."""


class AssertedJumps(FeatureState):
    """How often a jump was an assertion, by (id(frame), the instruction)."""

    stays = "it counts the iterations of one frame, in whichever side they are"

    def __init__(self, tracer: TracerView) -> None:
        self.counts: collections.Counter[tuple[int, int]] = collections.Counter()


def check(tracer: TracerView, frame: Any) -> None:
    """The current jump is about to be recorded as an assertion. Refuses a loop that would not end."""
    at = frame.pc - 1
    counts = tracer.own(AssertedJumps).counts
    counts[id(frame), at] += 1
    count = counts[id(frame), at]
    if count > _ROUNDS_OF_OTHERS or (count > _ROUNDS and at not in flow_of(frame.info).returning):
        tracer.refuse("branch-unsupported", why="a loop on data has no end but an exception")
