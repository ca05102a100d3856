"""A branch on data: both sides are run, one after the other, up to where they join, and become one torch.cond.

The join is the immediate post-dominator of the jump. Where a variable in use cannot be merged there, both sides are run
again to a later join, at which it is not used any more, at most to the function's return: the choice is carried on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from dynamo_lite.capture.graph.level import Level
from dynamo_lite.control_flow.emission import emit_cond
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.growth import HasToGrow
from dynamo_lite.control_flow.lists.unlike import plan_list
from dynamo_lite.control_flow.loops.left_values import fill
from dynamo_lite.control_flow.merge import Differs, Merge
from dynamo_lite.control_flow.notes import line_of
from dynamo_lite.control_flow.places import HeapPlan, plan_frame, plan_heap, write_heap
from dynamo_lite.control_flow.reachable import Used
from dynamo_lite.control_flow.sides import lasting_change, opened, run_side
from dynamo_lite.control_flow.states import (
    CannotMerge,
    FrameState,
    Goes,
    JoinsLater,
    LeftFromWithin,
    OpenLoop,
    Side,
    cannot_merge,
    reported,
)
from dynamo_lite.control_flow.undoing.first_reads import FirstReads
from dynamo_lite.control_flow.undoing.iterators import is_iterator
from dynamo_lite.interpreter.flow import END, FlowGraph, flow_of
from dynamo_lite.interpreter.frames.frame import RETURNED
from dynamo_lite.interpreter.frames.tracebacks import is_own_code
from dynamo_lite.symbolic_shapes.expressions.relations import not_
from dynamo_lite.tracing.vocabulary.exception_handlers import may_be_caught
from dynamo_lite.tracing.vocabulary.process_state import SWITCHES
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

DEPTH = 30
"""How deep sides may lie in one another."""
_CARRIED_ON = 100
"""Up to so many runs of sides a choice is carried on past a join that leaves a variable unmerged."""
_ATTEMPTS = 7
"""Joins that are tried for one branch."""


@dataclass
class Branch:
    """The current jump.

    Attributes:
        predicate: what decides it, a tensor or a SymBool.
        starts: truth → where the side begins.
        kept: (the truth with which the value stays on the stack, the value) for `and` and `or`, else None.
    """

    tracer: Forking
    frame: Any
    predicate: Any
    starts: dict[bool, int]
    kept: tuple[bool, Any] | None

    def __post_init__(self) -> None:
        self.at = self.frame.pc - 1
        self.base = FrameState.of(self.frame)
        self.flow: FlowGraph = flow_of(self.frame.info)
        self.around: OpenLoop | None = self.tracer.loop_of(self.frame)
        env = self.tracer.recorder.env
        self.relation = None if is_tensor(self.predicate) or env is None else env.unwrap(self.predicate)
        self.reads = FirstReads.of(self.tracer.reads)

    def capture(self) -> Any:
        """Run both sides, merge them, and go on behind. Returns what the jump's handler returns."""
        with self.tracer.ways.of(self.tracer, self.frame, self.at):
            return reported(self.tracer.recorder, self._capture)

    def _capture(self) -> Any:
        tracer = self.tracer
        joins = _Joins(self)
        while True:
            sides, merged = {}, None  # those of another join are over: what they hold is looked through again and again
            tracer.joins.append((self.frame, joins.at))
            try:
                with opened(tracer, self.frame, self.base) as base:
                    sides = self.sides(joins.at)
                    raised = [truth for truth in sides if sides[truth].error is not None]
                    if not raised:
                        merged = joins.merged(sides[True], sides[False])
            except JoinsLater as later:
                if later.frame is not self.frame:
                    raise
                joins.at = later.at
                continue
            except HasToGrow as grows:
                if grows.base is not base:
                    raise
                grows.make_grown(tracer)
                continue
            finally:
                tracer.joins.pop()
            if raised:
                return self.assert_not(raised, sides)
            if merged is not None:
                break
        left, right = sides[True], sides[False]
        assert left.reads is not None and right.reads is not None
        self.reads.joined(left.reads, right.reads).put(tracer.reads)
        made = emit_cond(tracer, merged.merge, self.predicate, left, right)
        for switch, value in zip(SWITCHES, left.switches):
            if switch.read() != value:
                switch.write(value)
        merged.merge.fill()
        self._note_going(merged.merge, left, right)
        write_heap(tracer, merged.heap)
        tracer.made_dicts |= left.dicts | right.dicts
        tracer.branches.note(self, joins.at, merged.merge, made)
        return merged.end()

    def _note_going(self, merge: Merge, left: Side, right: Side) -> None:
        """What integers and the sizes of tensors among the results are if the loop around is not left."""
        env = self.tracer.recorder.env
        if self.around is None or env is None or (left.left_at is None) == (right.left_at is None):
            return
        for pair, result in zip(merge.pairs, merge.results):
            goes = pair.left if left.left_at is None else pair.right
            numbers = [(result, goes)] if pair.kind == "int64" else []
            if pair.kind == "tensor":
                numbers = [*zip(result.shape, goes.shape)]
            for number, if_it_goes in numbers:
                if type(number) is torch.SymInt and number is not if_it_goes:
                    self.around.going[env.unwrap(number)] = if_it_goes

    def first_join(self) -> int:
        """The nearest join that is tried."""
        return self.flow.join(self.at)

    def where(self) -> str:
        """The line of the branch, and those of the sides, for a refusal."""
        if is_own_code(self.frame.code):  # a builtin that is written in Python (rules.py)
            return ""
        at, one, other = (line_of(self.frame, index) for index in (self.at, self.starts[True], self.starts[False]))
        return f" (the branch at line {at}: one side goes on at line {one}, the other at line {other})"

    # -- the sides

    def sides(self, join: int) -> dict[bool, Side]:
        """Both sides, run up to `join`."""
        tracer = self.tracer
        tracer.ways.count(tracer)
        if tracer.depth >= DEPTH:
            unrolled = tracer.unrolled or "a loop that is left from within, by return or break, is unrolled"
            why = f"more than {DEPTH} branches lie in one another ({unrolled})"
            tracer.refuse("branch-unsupported", why=why)
        stops = {join} - {END} | (self.around.stops if self.around is not None else set())
        sides: dict[bool, Side] = {}
        for truth in (True, False):
            self.reads.put(tracer.reads)
            known = len(tracer.known)
            if is_tensor(self.predicate):
                tracer.known.append((self.predicate, truth))
            try:
                sides[truth] = run_side(tracer, self.frame, self.base, self.begin(truth), stops, self.assumed(truth))
            finally:
                del tracer.known[known:]
        return sides

    def assumed(self, truth: bool) -> Any:
        return None if self.relation is None else self.relation if truth else not_(self.relation)

    def begin(self, truth: bool) -> Callable[[Level | None], None]:
        """What makes the state of the jump that of a side's beginning."""

        def start(level: Level | None) -> None:
            frame, kept = self.frame, self.kept
            frame.pc = self.starts[truth]
            if kept is not None and truth is not kept[0]:
                frame.stack.pop()  # the jump is not taken: the value goes
            if kept is not None and is_tensor(kept[1]):
                self.tracer.known.append((kept[1], truth))

        return start

    def assert_not(self, raised: list[bool], sides: dict[bool, Side]) -> Any:
        """A side that raises: the program asserts that it is not taken, and goes on with the other."""
        tracer = self.tracer
        error = sides[raised[0]].error
        text = f"{type(error).__name__}: {error}"
        if len(raised) == 2:
            tracer.refuse("branch-unsupported", why=f"both sides raise ({text})")
        if may_be_caught(self.frame):
            tracer.refuse("branch-unsupported", why=f"one side raises what the program may catch ({text})")
        problem = sides[raised[0]].problem
        if problem is not None:
            tracer.refuse(problem.id, **problem.names)
        changed = lasting_change(tracer, sides[raised[0]])
        if changed:
            why = f"the side that raises changes {changed} before, which a call after the error sees ({text})"
            tracer.refuse("branch-unsupported", why=why)
        holds = tracer.predicates.tensor(self.predicate)
        torch._assert_async(torch.logical_not(holds) if raised[0] else holds, text)
        self.reads.put(tracer.reads)
        self.base.put(self.frame)
        self.begin(not raised[0])(None)
        tracer.asserted = tracer.mark(), text
        tracer.branches.note_assertion(self, text)
        return None


@dataclass
class Merged:
    """How two sides become one state; nothing is recorded yet."""

    merge: Merge
    heap: list[HeapPlan]
    end: Callable[[], Any]
    unmergeable: list[int]


class _Joins:
    """The joins of one branch, from the nearest on, until the sides can be merged.

    If no join does, it is the nearest: variables that cannot be merged there are refused when they are read. `problem`
    is what cannot be merged there beside variables.
    """

    def __init__(self, branch: Branch) -> None:
        self.branch = branch
        self.first = self.at = branch.first_join()
        self.problem: CannotMerge | None = None
        self.number = 0
        self.is_last = False

    def merged(self, left: Side, right: Side) -> Merged | None:
        """The merge of two sides that have run to `at`; None if they are to be run to another join."""
        on_stack, unmergeable = False, []
        try:
            merged = merge_sides(self.branch, left, right)
        except CannotMerge as error:
            if self.number == 0:
                self.problem = error
            if self.is_last or self.first == END:
                self._refuse(self.problem or error)
            on_stack = error.on_stack
        else:
            unmergeable = merged.unmergeable
            if not unmergeable or self.is_last or self.first == END or self._is_enough():
                return merged
        self._later(unmergeable, on_stack)
        return None

    def _is_enough(self) -> bool:
        return self.branch.tracer.ways.runs > _CARRIED_ON

    def _later(self, unmergeable: list[int], on_stack: bool) -> None:
        """Join where what differs is not used any more; if that does not help, at the first one again."""
        self.number += 1
        if self.at == END or self.number == _ATTEMPTS or self._is_enough():
            if self.problem is not None:
                self._refuse(self.problem)
            self.at, self.is_last = self.first, True
            return
        flow, at = self.branch.flow, self.at
        passed = [at]
        if not unmergeable and not on_stack:
            passed += flow.joins_after(at)
            self._join_at(END, passed)
            return
        for later in flow.joins_after(at):
            passed.append(later)
            stored = on_stack and takes_value(flow, at)
            at = later
            dead = not on_stack and at != END and not any(flow.live(at) >> index & 1 for index in unmergeable)
            if stored or dead or at == END:
                break
        self._join_at(at, passed)

    def _join_at(self, at: int, passed: list[int]) -> None:
        """Join at `at`, behind `passed`. A branch around, which runs this one to one of these, would miss it."""
        self.at = at
        joins = self.branch.tracer.joins
        frame, around = joins[-1] if joins else (None, END)
        if frame is self.branch.frame and around != at and around in passed:
            raise JoinsLater(frame, at)

    def _refuse(self, problem: CannotMerge) -> None:
        names = problem.names
        if "(the branch at line" not in str(names["why"]):
            names = {**names, "why": f"{names['why']}{self.branch.where()}"}
        self.branch.tracer.refuse(problem.id, **names)


def takes_value(flow: FlowGraph, at: int) -> bool:
    """Whether an instruction takes the value of an expression from the stack, as the end of a statement does."""
    return flow.names[at] in ("STORE_FAST", "POP_TOP")


# -- merging -----------------------------------------------------------------------------------------------------------


def merge_sides(branch: Branch, left: Side, right: Side) -> Merged:
    """The plan of the merge. Raises CannotMerge."""
    for side in (left, right):
        if side.problem is not None:
            raise side.problem
    for switch, one, other in zip(SWITCHES, left.switches, right.switches):
        if one != other:
            cannot_merge("branch-differs", what=switch.name, why=f"{one} on one side, {other} on the other")
    assert left.state is not None and right.state is not None
    merge = Merge(lambda obj: id(obj) in left.young or id(obj) in right.young)
    end, unmergeable = _plan_end(branch, merge, left, right)
    of_list = partial(plan_list, branch.tracer, merge, (left, right))
    used = [Used(branch.tracer, branch.frame, side, side.pc) for side in (left, right)]
    return Merged(merge, plan_heap(branch.tracer, merge, left, right, of_list, used), end, unmergeable)


def _plan_end(branch: Branch, merge: Merge, left: Side, right: Side) -> tuple[Callable[[], Any], list[int]]:
    """Where and with what the frame goes on; the variables in use that could not be merged."""
    frame, around = branch.frame, branch.around
    assert left.state is not None and right.state is not None
    if around is not None and (left.pc != right.pc or left.pc in around.again):
        for side in (left, right):
            as_test(branch.tracer, side, around)
        if left.pc == right.pc and left.pc in around.again:
            if (left.left_at is None) != (right.left_at is None):
                goes, leaves = (left, right) if left.left_at is None else (right, left)
                fill(branch.tracer, around, goes, leaves)
            return _plan_test(frame, merge, left, right, around)
    if left.pc != right.pc:
        if around is not None:
            raise LeftFromWithin
        cannot_merge("branch-unsupported", why="one side returns, or leaves a loop, where the other goes on")
    if left.pc != END:
        return plan_frame(frame, merge, left.state, right.state, left.pc, where=branch.where())
    try:
        result = merge.plan(left.result, right.result)
    except Differs as error:
        what = f"the result of {frame.code.co_name}(){error.what} different"
        cannot_merge("branch-differs", what=what, why=error.why)

    def returned() -> bool:
        frame.result, frame.state = result(), RETURNED
        return True

    return returned, []


def _plan_test(
    frame: Any, merge: Merge, left: Side, right: Side, around: OpenLoop
) -> tuple[Callable[[], Any], list[int]]:
    """Both sides have come to the test of the loop around: whether it goes round is merged as well."""
    assert left.state is not None and right.state is not None
    one, other = left.state.stack.pop(), right.state.stack.pop()
    truths = zip((one.value, *one.left_by), (other.value, *other.left_by))
    test, *left_by = [(lambda a=a: a) if a is b else merge.pair("predicate", a, b) for a, b in truths]  # type: ignore[misc]
    live = 0
    for at in (left.pc, *around.exits):
        live |= flow_of(frame.info).live(at)
    plan = plan_frame(frame, merge, left.state, right.state, left.pc, live)

    def again() -> None:
        plan.put()
        frame.stack.append(Goes(test(), tuple(way() for way in left_by)))

    return again, plan.unmergeable


def as_test(tracer: Forking, side: Side, loop: OpenLoop) -> None:
    """Leaves on the stack whether the loop goes round again (`Goes`): False for a side that has left it."""
    assert side.state is not None
    stack, none = side.state.stack, loop.left_by(None)
    if side.pc == loop.leave:
        side.left_at = side.pc
        stack.append(Goes(False, none))
    elif side.pc in loop.exits:
        above = stack[loop.height :]
        if not all(map(is_iterator, above)) or loop.iterators.setdefault(side.pc, len(above)) != len(above):
            raise LeftFromWithin  # out of a `with`: what is on the stack is used
        side.left_at = side.pc
        stack[loop.height :] = [Goes(False, loop.left_by(side.pc))]
    elif side.pc in loop.again and not (stack and type(stack[-1]) is Goes):
        if loop.next_test is not None:
            stack[-1] = Goes(loop.next_test(), none)
        elif loop.truth_on[side.pc]:
            stack[-1] = Goes(stack[-1], none)
        else:
            with tracer.recorder.levels.resumed(side.level):
                stack[-1] = Goes(tracer.predicates.negated(stack[-1]), none)
    elif side.pc not in loop.again:
        return
    side.pc = min(loop.again)
