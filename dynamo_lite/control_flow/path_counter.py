"""The number of paths through a program: how often sides are run, and whether that multiplies.

Branches one after another cost a run of each side. A branch that is carried on to the return has the next one on both
sides, and so on: in an unrolled loop each iteration doubles the runs. Such a program is rejected after a few of these
iterations, not after the maximum number of runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

MOST = 500
"""How often sides are run in one trace; more is refused."""
_GROWS = 1.8
"""A level that takes so many times the runs of the one within it has it on both sides."""
_LEVELS = 3
"""So many levels, one after the other, have to grow like that."""


class PathCounter:
    """Counts the runs of one trace.

    `runs` is how often two sides were run. For a branch that is nested in itself (another iteration, a recursive call),
    `_taken` has the number of runs at each level, outermost first.
    """

    def __init__(self) -> None:
        self.runs = 0
        self._open: list[tuple[Any, int]] = []
        self._taken: dict[tuple[Any, int], dict[int, int]] = {}

    @contextmanager
    def of(self, tracer: Any, frame: Any, at: int) -> Iterator[None]:
        """Around the capture of a branch, at the instruction `at`. Refuses it if its runs multiply: if each of its last
        levels took about twice as many as the next one, and with the levels around it there would be too many."""
        branch = frame.code, at
        level, before = self._open.count(branch), self.runs
        taken = self._taken.setdefault(branch, {})
        for deeper in [n for n in taken if n > level]:
            del taken[deeper]  # of another branch at this level
        self._open.append(branch)
        try:
            yield
        finally:
            self._open.pop()
            taken[level] = self.runs - before
        expected = _expected(taken, level)
        if expected > 2 * MOST:
            why = f"its paths multiply, and {MOST} runs of sides are allowed: the branch is nested in {level} others "
            why += f"like it, and each of the last took twice as many as the one within it (this one {taken[level]})"
            tracer.refuse("branch-unsupported", why=why)

    def count(self, tracer: Any) -> None:
        """Two sides are about to be run."""
        self.runs += 1
        if self.runs > MOST:
            tracer.refuse("branch-unsupported", why=f"there are more than {MOST} paths through the program")


def _expected(taken: dict[int, int], level: int) -> float:
    """How many runs the outermost level takes, if those around `level` grow as the last ones did; 0 if these do not."""
    last = [taken.get(level + n, 0) for n in range(_LEVELS + 1)]
    if not all(more >= _GROWS * fewer > 0 for more, fewer in pairwise(last)):
        return 0
    growth: float = last[0] / last[1]
    return float("inf") if level > 64 else last[0] * growth**level
