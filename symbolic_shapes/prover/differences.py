"""Chains of differences: x <= y + a, y <= z + b give x <= z + a + b. Shortest paths in the graph of two-term forms."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dynamo_lite.symbolic_shapes.expressions.expr import Atom, Int
from dynamo_lite.symbolic_shapes.proofs.proof import Step

if TYPE_CHECKING:
    from dynamo_lite.symbolic_shapes.prover.knowledge import Knowledge

POPS = 200
"""How many nodes one query may visit."""


def pair(p: Int) -> tuple[Atom, Atom] | None:
    """(x, y) if p is x - y + constant for two different atoms."""
    if len(p.terms) != 2:
        return None
    plus = [m[0] for m, c in p.terms.items() if c == 1 and len(m) == 1]
    minus = [m[0] for m, c in p.terms.items() if c == -1 and len(m) == 1]
    return (plus[0], minus[0]) if plus and minus else None


def edges(known: Knowledge, x: Atom) -> Iterator[tuple[Atom, int, Step]]:
    """(y, w, step) for each known x - y <= w."""
    for form in known.forms_near(x):
        ends = pair(form)
        if ends is None:
            continue
        if ends[0] is x:
            bound = known.upper.get(form)
            if bound:
                yield ends[1], bound.value, bound.step
        elif ends[1] is x:
            bound = known.lower.get(form)
            if bound:  # form == y - x >= v  <=>  x - y <= -v
                yield ends[0], -bound.value, bound.step


def prove_by_chain(known: Knowledge, p: Int) -> Step | None:
    """A step for x - y + c <= 0 from a chain of known differences."""
    ends = pair(p)
    if ends is None:
        return None
    source, target = ends
    if not _connected(known, source, target):
        return None
    best: dict[Atom, int] = {source: 0}
    via: dict[Atom, tuple[Atom, Step]] = {}
    queue = deque([source])
    for _ in range(POPS):
        if not queue:
            break
        known.steps += 1
        x = queue.popleft()
        for y, weight, step in edges(known, x):
            distance = best[x] + weight
            if y is not source and (y not in best or distance < best[y]):
                best[y] = distance
                via[y] = (x, step)
                queue.append(y)
        if target in best and best[target] + p.const <= 0:
            return _path(via, source, target, -(best[target] + p.const))
    return None


def _connected(known: Knowledge, source: Atom, target: Atom) -> bool:
    """Whether some chain leads from source to target: looked for from both ends in turn, so that a question about the
    newest of many sizes ends as soon as nothing leads to it."""
    seen: tuple[set[Atom], set[Atom]] = ({source}, {target})
    frontiers = (deque([source]), deque([target]))
    for turn in range(2 * POPS):
        mine, other = seen[turn % 2], seen[1 - turn % 2]
        frontier = frontiers[turn % 2]
        if not frontier:
            return False
        known.steps += 1
        x = frontier.popleft()
        for y in _neighbours(known, x, forward=turn % 2 == 0):
            if y in other:
                return True
            if y not in mine:
                mine.add(y)
                frontier.append(y)
    return False


def _neighbours(known: Knowledge, x: Atom, *, forward: bool) -> Iterator[Atom]:
    """The y with a known x - y <= w (forward), or y - x <= w."""
    for form in known.forms_near(x):
        ends = pair(form)
        if ends is None:
            continue
        first = ends[0] is x
        if form in (known.upper if first == forward else known.lower):
            yield ends[1] if first else ends[0]


def _path(via: dict[Atom, tuple[Atom, Step]], source: Atom, target: Atom, slack: int) -> Step | None:
    steps: list[Step] = []
    node = target
    while node is not source:
        node, step = via[node]
        steps.append(step)
        if len(steps) > POPS:
            return None  # a negative cycle: the facts contradict each other, which elimination will show
    return Step("linear", tuple(steps), ((1,) * len(steps), slack))
