"""Where both sides of a branch have come to a join: how the two states become one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from dynamo_lite.control_flow.interfaces import Forked, Forking
from dynamo_lite.control_flow.lists.unequal import plan_list
from dynamo_lite.control_flow.loops.left_values import fill
from dynamo_lite.control_flow.merge import Differs, Merge
from dynamo_lite.control_flow.places import HeapPlan, plan_frame, plan_heap
from dynamo_lite.control_flow.reachable import Used
from dynamo_lite.control_flow.replaced import Replaced
from dynamo_lite.control_flow.states import LeftFromWithin, LoopTest, OpenLoop, Side, cannot_merge
from dynamo_lite.control_flow.undoing.iterators import is_copied, is_iterator, runs_at_its_end
from dynamo_lite.interpreter.flow import END, flow_of
from dynamo_lite.interpreter.frames.frame import RETURNED
from dynamo_lite.tracing.feature_state import MergedState
from dynamo_lite.tracing.vocabulary.process_state import SWITCHES


@dataclass
class Merged:
    """How two sides become one state; nothing is recorded yet."""

    merge: Merge
    heap: list[HeapPlan]
    end: Callable[[], Any]
    unmergeable: list[int]
    features: list[MergedState]

    @property
    def difference(self) -> str:
        """The part of a feature's state that no operator gives, if there is one."""
        return next((state.difference for state in self.features if state.difference), "")


def merge_sides(branch: Forked, left: Side, right: Side, carries_sizes: bool = False) -> Merged:
    """The plan of the merge. Raises CannotMerge. carries_sizes: as of `Merge`."""
    for side in (left, right):
        if side.problem is not None:
            raise side.problem
    if left.over != right.over:
        cannot_merge("branch-unsupported", why="a generator that waits within `try` or `with` ends on one side of it")
    _check_held(left, right)
    for switch, one, other in zip(SWITCHES, left.switches, right.switches):
        if one != other:
            cannot_merge("branch-differs", what=switch.name, why=f"{one} on one side, {other} on the other")
    assert left.state is not None and right.state is not None
    merge = Merge(lambda obj: id(obj) in left.new or id(obj) in right.new)
    merge.choice = branch.choice
    merge.carries_sizes = carries_sizes and branch.choice is None
    over = [callee for callee, _ in branch.callees]
    used = [Used(branch.tracer, branch.frame, side, side.pc, over) for side in (left, right)]
    merge.replaced = Replaced(branch.tracer, (left, right), used)
    end, unmergeable = _plan_end(branch, merge, left, right)
    of_list = partial(plan_list, branch.tracer, merge, (left, right))
    features = _plan_features(merge, left, right)
    heap = plan_heap(branch.tracer, merge, left, right, of_list, used)
    merge.replaced = None  # it holds what the sides leave, which has to die when nothing of the program holds it
    return Merged(merge, heap, end, unmergeable, features)


def _plan_features(merge: Merge, left: Side, right: Side) -> list[MergedState]:
    return [state.merge(merge, one, other) for (state, one), (_, other) in zip(left.features, right.features)]


def _check_held(left: Side, right: Side) -> None:
    """A variable that is not used any more lets go of a generator only at the end of the function."""
    assert left.state is not None and right.state is not None
    for one, other in zip(left.state.locals, right.state.locals):
        if one is not other and any(is_copied(value) and any(runs_at_its_end(value)) for value in (one, other)):
            cannot_merge("branch-unsupported", why="one side keeps a generator that waits within `try` or `with`")


def _plan_end(branch: Forked, merge: Merge, left: Side, right: Side) -> tuple[Callable[[], Any], list[int]]:
    """Plan where and with which state the frame continues; return also the live variables that could not be merged."""
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

    handled = left.state.handled  # a return has left all handlers, on the other side as well

    def returned() -> bool:
        frame.result, frame.state = result(), RETURNED
        frame.vm.handled.value = handled
        return True

    return returned, []


def _plan_test(
    frame: Any, merge: Merge, left: Side, right: Side, around: OpenLoop
) -> tuple[Callable[[], Any], list[int]]:
    """Plan the merge of two sides that reached the test of the enclosing loop; the test is merged as well."""
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
        frame.stack.append(LoopTest(test(), tuple(way() for way in left_by)))

    return again, plan.unmergeable


def as_test(tracer: Forking, side: Side, loop: OpenLoop) -> None:
    """Push whether the loop continues (`LoopTest`): False for a side that has left it."""
    assert side.state is not None
    stack, none = side.state.stack, loop.left_by(None)
    if side.pc == loop.leave:
        side.left_at = side.pc
        stack.append(LoopTest(False, none))
    elif side.pc in loop.exits:
        above = stack[loop.height :]
        if not all(map(is_iterator, above)) or loop.iterators.setdefault(side.pc, len(above)) != len(above):
            raise LeftFromWithin  # out of a `with`: what is on the stack is used
        side.left_at = side.pc
        stack[loop.height :] = [LoopTest(False, loop.left_by(side.pc))]
    elif side.pc in loop.again and not (stack and type(stack[-1]) is LoopTest):
        if loop.next_test is not None:
            stack[-1] = LoopTest(loop.next_test(), none)
        elif loop.truth_on[side.pc]:
            stack[-1] = LoopTest(stack[-1], none, stack[-1], True)
        else:
            with tracer.recorder.levels.resumed(side.level):
                stack[-1] = LoopTest(tracer.predicates.negated(stack[-1]), none, stack[-1], False)
    elif side.pc not in loop.again:
        return
    side.pc = min(loop.again)
