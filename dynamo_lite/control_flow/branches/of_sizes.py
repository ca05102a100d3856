"""A branch on the sizes of the inputs, whose sides leave different things: torch.cond, as of a branch on data.

Each side is run under its condition, the one that the example does not take with other sizes in the place of the
example's. What the program asks of sizes on a side holds for it alone: a guard says `not condition or fact`. Numbers and
sizes that the sides give differently are one expression over the condition (tracing/size_branches/choice.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from dynamo_lite.control_flow.branches.branch import Branch
from dynamo_lite.control_flow.states import CannotMerge, Side
from dynamo_lite.tracing.size_branches.choice import Choice


@dataclass
class SizeBranch(Branch):
    """The current jump. Raises CannotMerge where it is no operator: its answer is a guard then."""

    def __post_init__(self) -> None:
        super().__post_init__()
        env: Any = self.tracer.recorder.env
        self.choice = Choice(env, self.relation).one

    def refuse(self, problem: CannotMerge) -> NoReturn:
        raise problem

    def assert_not(self, raised: list[bool], sides: dict[bool, Side]) -> Any:
        """A side that raises: the sizes that take it are no sizes of the program's."""
        raise CannotMerge("branch-unsupported", why="a side raises")

    def _captured_in_caller(self) -> tuple[bool, Any]:
        return False, None
