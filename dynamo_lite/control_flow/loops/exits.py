"""Loops that iterations leave by `return`, or past the `else`: the program continues where the last iteration left it.

Each exit is an instruction (interpreter/flow/loops.py) at which an iteration stops, and a bool that the loop carries.
After the loop these are branches: on the side of an exit the frame is at it, as the last iteration left it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dynamo_lite.capture.graph.level import Level
from dynamo_lite.control_flow.branches.branch import Branch
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.states import OpenLoop


@dataclass
class _Exit(Branch):
    """Whether a loop was left by the first of its exits; then by the `others`.

    `loop` is it, and `jump` the instruction that it is tested at.
    """

    loop: OpenLoop
    jump: int
    others: Sequence[tuple[int, Any]]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.at = self.jump

    def begin(self, truth: bool) -> Callable[[Level | None], None]:
        def start(level: Level | None) -> None:
            self.frame.pc = self.starts[truth]
            if truth:
                self.frame.stack += [iter(()) for _ in range(self.loop.iterators[self.starts[True]])]
            elif self.others:
                _go_on(self.tracer, self.frame, self.loop, self.jump, self.others)

        return start


def left_from_within(tracer: Forking, loop: Any, ways: Sequence[Any]) -> Any:
    """Continue after a DataLoop by the exit through which it was left. ways: a bool tensor for each exit. Returns the
    result of the handler of a jump."""
    exits = [(exit, way) for exit, way in zip(loop.open.exits, ways) if exit in loop.open.iterators]
    return _go_on(tracer, loop.frame, loop.open, loop.at, exits) if exits else None


def _go_on(tracer: Forking, frame: Any, loop: OpenLoop, jump: int, exits: Sequence[tuple[int, Any]]) -> Any:
    (exit, way), *others = exits
    starts = {True: exit, False: frame.pc}
    return _Exit(tracer, frame, way, starts, None, loop, jump, others).capture()
