"""range() of a number that only run time knows, where a `for` statement goes over it."""

from __future__ import annotations

from typing import Any

from dynamo_lite.control_flow.interfaces import Forking


class CountedRange:
    """What `range(start, stop, step)` gives such a loop: its next instruction asks for the iterator."""

    def __init__(self, tracer: Forking, start: Any, stop: Any, step: int) -> None:
        self.tracer, self.start, self.stop, self.step = tracer, start, stop, step

    def __iter__(self) -> Counter:
        return Counter(self)


class Counter:
    """Its iterator: `at` is the number that comes next."""

    def __init__(self, of: CountedRange) -> None:
        self.of, self.at = of, of.start

    def __iter__(self) -> Counter:
        return self

    def __next__(self) -> Any:
        self.of.tracer.refuse("data-dependent-value", what="a loop over range()")
