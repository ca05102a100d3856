"""The outcome of each branch on data: a note with its line, and a row of the log `control_flow`."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

from dynamo_lite.control_flow.merge import Merge, Pair
from dynamo_lite.interpreter.flow import END
from dynamo_lite.tracing.vocabulary.program_points import Mark

Listener = Callable[[str], None]


class BranchNotes:
    """The notes of one run. Branches within a side are noted when their own operators are made."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer
        self.listeners: list[Listener] = []

    def note(self, branch: Any, join: int, merge: Merge, made: str) -> None:
        """A branch became an operator. join: where its sides met."""
        fork = branch.fork()
        where = f"{line_of(fork.frame, fork.at)}{text_of(fork.frame, fork.at)}"
        behind = "the return" if join == END else f"line {line_of(branch.frame, join + 1)}"
        if branch.callees:
            behind += f" of the caller, {branch.frame.code.co_name}()"
        kinds = _kinds(merge.pairs, 0)
        what = "sizes" if branch.of_sizes else "data"
        self._add(f"the branch on {what} at line {where} is captured, up to {behind}: {made}{kinds}", fork)

    def note_assertion(self, branch: Any, text: str) -> None:
        """A side raises."""
        fork = branch.fork()
        self._add(f"the branch on data at line {line_of(fork.frame, fork.at)} is an assertion: {text}", fork)

    def note_loop(self, loop: Any, carried: Any) -> None:
        """A loop became an operator."""
        count = (not carried.is_scan) + len(carried.merge.pairs) + len(carried.inplace)
        at = f"{line_of(loop.frame, loop.at)}{text_of(loop.frame, loop.at)}"
        made = f"torch {'scan' if carried.is_scan else 'while_loop'} with {_count(count, 'carried value')}"
        added = sum(len(growth.added) for growth in carried.growths)
        stacked = f", and {added} stacked from all iterations" if added else ""
        kinds = _kinds(carried.merge.pairs, len(carried.inplace))
        self._add(f"the loop on data at line {at} is captured: {made}{stacked}{kinds}", loop)

    def note_counted(self, loop: Any) -> None:
        """A loop is run twice."""
        at = f"{line_of(loop.frame, loop.at)}{text_of(loop.frame, loop.at)}"
        self._add(f"the loop on data at line {at} is run once before, for the number of its iterations", loop)

    def _add(self, text: str, place: Any) -> None:
        """`place`: the branch or the loop, which the note shows the line of."""
        self._tracer.note(text, _mark_of(self._tracer.mark(), place.frame, place.at))
        for listener in self.listeners:
            listener(text)


def _mark_of(mark: Mark, frame: Any, at: int) -> Mark:
    """The point of instruction `at` of a frame that runs at `mark`; `mark` itself where it does not."""
    below = next((i for i, (code, _, _) in enumerate(mark) if code is frame.code), None)
    return mark if below is None else ((frame.code, frame.info, at + 1), *mark[below + 1 :])


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _kinds(pairs: list[Pair], changed: int) -> str:
    parts = [f"{pair.place}: {pair.kind}" for pair in pairs]
    if changed:
        parts.append(f"{changed} changed in place")
    return f" ({', '.join(parts)})" if parts else ""


def line_of(frame: Any, index: int) -> Any:
    """The line of an instruction of the frame's code; of one that the compiler has added, that of the one before it."""
    last = min(index, len(frame.info.ops) - 1)
    lines = (frame.info.positions_at(frame.code, at).lineno for at in range(last, -1, -1))
    return next((line for line in lines if line is not None), None)


def text_of(frame: Any, index: int) -> str:
    """The line itself, without white space around, in a form for a note; empty if its source is not there."""
    line = line_of(frame, index)
    text = linecache.getline(frame.code.co_filename, line).strip() if line else ""
    return f" `{text}`" if text else ""
