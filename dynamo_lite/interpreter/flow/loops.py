"""Loops that a jump decides about: `while test:`, whose test CPython writes twice, and `while True:` with a break."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dynamo_lite.interpreter.flow.graph import END, TESTS, FlowGraph


class Loop(NamedTuple):
    """A loop from the view of a jump.

    `again` is the target of the jump if the loop continues, `leave` the target if not; `tests` are the jumps with the
    same two targets (CPython writes the test of a `while` twice), and `beyond` is where all paths meet.
    """

    again: int
    leave: int
    tests: frozenset[int]
    beyond: int

    def goes_if(self, flow: FlowGraph, test: int) -> bool:
        """The truth value for which this jump begins another iteration."""
        taken = flow.names[test].endswith("_TRUE")
        return taken if flow.end_of_jumps(flow.args[test]) == self.again else not taken


def loop_at(flow: FlowGraph, branch: int, avoiding: set[int]) -> Loop | None:
    """The loop whose next iteration `branch` decides, or None. avoiding: the tests of enclosing loops."""
    if flow.names[branch] not in TESTS:
        return None
    both = flow.targets(branch)
    blocked = avoiding | open_fors(flow, branch) | {flow.join(branch)}
    for again, leave in (both, both[::-1]):
        if again in blocked:
            continue
        within = flow.reach(again, (blocked | {leave}) - {branch})
        tests = {j for j in within if flow.names[j] in TESTS and set(flow.targets(j)) == {again, leave}}
        if tests:
            return Loop(again, leave, frozenset(tests), flow.join(branch))
    return None


def exits_of(flow: FlowGraph, again: int, tests: Iterable[int], leave: int, avoiding: set[int]) -> tuple[int, ...]:
    """The exits from the body of a loop other than by its test: `return`, `break` past an `else`.

    Each is the first instruction from which no iteration continues, unless all its paths reach `leave`. (The body: the
    instructions between `again` and a test that lead to a test; avoiding: the tests of enclosing loops.)
    """
    heads = {*tests}
    body = _body(flow, again, heads, leave, avoiding)
    out = {other for index in body - heads for other in flow.successors[index]} - body - {leave, END}
    return tuple(sorted(e for e in out if e in flow.returning and not _comes_to(flow, e, leave)))


def has_further_test(flow: FlowGraph, loop: Loop, avoiding: set[int]) -> bool:
    """Whether another jump than its tests may end a loop: the program may know how that one goes."""
    body = _body(flow, loop.again, {*loop.tests}, loop.leave, avoiding)
    return any(other not in body for index in body - loop.tests for other in flow.successors[index])


def _body(flow: FlowGraph, again: int, heads: set[int], leave: int, avoiding: set[int]) -> set[int]:
    within = flow.reach(again, (avoiding | {leave}) - heads)
    body, todo = set(heads), [*heads]
    while todo:
        for index in flow.predecessors.get(todo.pop(), ()):
            if index in within and index not in body:
                body.add(index)
                todo.append(index)
    return body


def _comes_to(flow: FlowGraph, at: int, place: int) -> bool:
    return place != END and (flow.end_of_jumps(at) == place or place in flow.joins_after(at))


def open_fors(flow: FlowGraph, at: int) -> set[int]:
    """The FOR_ITERs of the loops that `at` is in: their iterators are on the stack."""
    found = set()
    for index, name in enumerate(flow.names):
        if name == "FOR_ITER" and index != at:
            body = flow.reach(index + 1, {flow.successors[index][1], index})
            if at in body and any(index in flow.successors[other] for other in body):
                found.add(index)
    return found


__all__ = ["END", "Loop", "exits_of", "has_further_test", "loop_at", "open_fors"]
