"""What became of each branch on data: a note with its line, and a row of the log `control_flow`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamo_lite.control_flow.merge import Merge
from dynamo_lite.interpreter.flow import END

Listener = Callable[[str], None]


class Notes:
    """The notes of one run. Branches within a side are noted when their own operators are made."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer
        self.listeners: list[Listener] = []

    def note(self, branch: Any, join: int, merge: Merge, made: str) -> None:
        """A branch became an operator. join: where its sides met."""
        where = self._line(branch.frame, branch.at)
        behind = "the return" if join == END else f"line {self._line(branch.frame, join + 1)}"
        self._add(f"the branch on data at line {where} is captured, up to {behind}: {made}{_kinds(merge)}")

    def note_assertion(self, branch: Any, text: str) -> None:
        """A side raises."""
        self._add(f"the branch on data at line {self._line(branch.frame, branch.at)} is an assertion: {text}")

    def note_loop(self, loop: Any, carried: Any) -> None:
        """A loop became an operator."""
        count = 1 + len(carried.merge.pairs) + len(carried.inplace)
        at = self._line(loop.frame, loop.at)
        self._add(f"the loop on data at line {at} is captured: torch while_loop with {count} carried values")

    def _add(self, text: str) -> None:
        self._tracer.note(text)
        for listener in self.listeners:
            listener(text)

    @staticmethod
    def _line(frame: Any, index: int) -> Any:
        positions = frame.info.positions_at(frame.code, min(index, len(frame.info.ops) - 1))
        return positions.lineno


def _kinds(merge: Merge) -> str:
    kinds = [pair.kind for pair in merge.pairs]
    return f" ({', '.join(f'{kinds.count(kind)} {kind}' for kind in dict.fromkeys(kinds))})" if kinds else ""
