"""Which sizes varied, and their relations: rows of numbers, one for each place, one column for each call.

Two places are one dimension if their sizes were equal in every call; a place follows another if its size was a*s + b (a
at least 1) at three different sizes s or more. Any two points are on a line whatever the program does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

POINTS = 3
"""How many different sizes a relation has to have been seen at."""

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Line:
    """a*root + b; `root` is the number of the row that it follows (its own, with a = 1 and b = 0, if none)."""

    root: int
    a: int = 1
    b: int = 0


def relations(rows: Sequence[Sizes]) -> list[Line | None]:
    """Return for each row the one that it follows; None if its size was the same in every call."""
    kinds = list(dict.fromkeys(row for row in rows if len(set(row)) > 1))
    first = {kind: rows.index(kind) for kind in kinds}
    roots: list[Sizes] = []
    lines: dict[Sizes, Line] = {}
    # The one that grows least comes first: 2*s follows s, and s is not a multiple of 2*s.
    for kind in sorted(kinds, key=lambda kind: (max(kind) - min(kind), first[kind])):
        line = next(_lines(kind, roots, first), None)
        if line is None:
            roots.append(kind)
            line = Line(first[kind])
        lines[kind] = line
    return [lines.get(row) for row in rows]


def _lines(kind: Sizes, roots: Sequence[Sizes], first: dict[Sizes, int]) -> Iterator[Line]:
    for root in roots:
        line = through(root, kind)
        if line is not None:
            yield Line(first[root], *line)


def through(xs: Sizes, ys: Sizes) -> tuple[int, int] | None:
    """Return (a, b) with y = a*x + b in each column, if there is such a line with a >= 1, and enough points."""
    if len(set(xs)) < POINTS:
        return None
    (x0, y0), (x1, y1) = (xs[0], ys[0]), next((x, y) for x, y in zip(xs, ys) if x != xs[0])
    a, rest = divmod(y1 - y0, x1 - x0)
    b = y0 - a * x0
    holds = rest == 0 and a >= 1 and all(y == a * x + b for x, y in zip(xs, ys))
    return (a, b) if holds else None
