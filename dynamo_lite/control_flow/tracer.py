"""The tracer that captures branches on data: what it adds to `Tracer` are the interpreter's questions about jumps."""

from __future__ import annotations

from typing import Any

from dynamo_lite.capture.kernels import functorch
from dynamo_lite.capture.may_share import MayShare
from dynamo_lite.control_flow import rules
from dynamo_lite.control_flow.branches import Branch
from dynamo_lite.control_flow.loops.counted import Counter
from dynamo_lite.control_flow.loops.data_loop import DataLoop
from dynamo_lite.control_flow.notes import Notes
from dynamo_lite.control_flow.predicates import Predicates
from dynamo_lite.control_flow.reachable import reaches
from dynamo_lite.control_flow.states import LeftFromWithin, OpenLoop, State
from dynamo_lite.interpreter.flow import flow_of
from dynamo_lite.interpreter.flow.loops import Loop, loop_at
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.heap.journal import Journal
from dynamo_lite.tracing.sizes import runtime_values
from dynamo_lite.tracing.tracer import Tracer
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


class ForkingTracer(Tracer):
    """A tracer that captures branches on data (interfaces.py has what its parts see of it)."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.loops: list[OpenLoop] = []
        self.forked = self.depth = 0
        self.journals: list[Journal] = []
        self.known: list[tuple[Any, bool]] = []
        self.predicates = Predicates(self.recorder)
        self.branches = Notes(self)
        self.recorder.may_share = MayShare(reaches(self))
        rules.attach(self.rules)

    def loop_of(self, frame: Any) -> OpenLoop | None:
        """The innermost loop of `frame` whose body is being captured."""
        return next((loop for loop in reversed(self.loops) if loop.frame is frame), None)

    # ---- the observer's methods

    def on_branch(self, frame: Any, value: Any, jumps_if: bool, target: int, keeps: bool) -> Any:
        if functorch.active() or not self.predicates.depends_on_data(value) or self._is_known(value):
            return NOT_HANDLED
        if runtime_values.is_assertion(frame):
            return NOT_HANDLED
        predicate, at = self.predicates.of(value), frame.pc - 1
        around = self.loop_of(frame)
        loop = None if keeps else loop_at(flow_of(frame.info), at, around.stops if around is not None else set())
        if loop is not None:
            before = State.of(frame)
            try:
                DataLoop(self, frame, predicate, loop).capture()
                return None
            except LeftFromWithin:
                before.put(frame)  # unrolled, if it comes to an end
        starts = {jumps_if: target, not jumps_if: at + 1}
        return Branch(self, frame, predicate, starts, (jumps_if, value) if keeps else None).capture()

    def on_for(self, frame: Any, iterator: Any, target: int) -> Any:
        if type(iterator) is not Counter:
            return NOT_HANDLED
        at = frame.pc - 1
        test = iterator.at < iterator.of.stop
        if type(test) is bool or test.node.has_hint():
            self.refuse("data-dependent-value", what="a loop over range()")
        loop = Loop(at + 1, target, frozenset({at}), flow_of(frame.info).join(at))
        try:
            DataLoop(self, frame, test, loop, iterator).capture()
        except LeftFromWithin:
            self.refuse("branch-unsupported", why="the loop is left from within (return, or break past an else)")
        return None

    def on_not(self, value: Any) -> Any:
        if not self.predicates.depends_on_data(value):
            return NOT_HANDLED
        return self.predicates.truth(self.predicates.negated(value))

    def on_truth(self, value: Any) -> Any:
        if is_tensor(value):
            for tensor, truth in reversed(self.known):
                if tensor is value:
                    return truth
        return super().on_truth(value)

    def on_identity(self, left: Any, right: Any) -> bool:
        if is_tensor(left) and is_tensor(right):
            one, other = (self.recorder.known_stand_in(t) for t in (left, right))
            if one is not other and _may_be_one(self.recorder.may_share, one, other):
                self.refuse("branch-unsupported", why="whether two tensors are one depends on which side was taken")
        return super().on_identity(left, right)

    def on_unbound(self, frame: Any, index: int) -> None:
        for number, why in (frame.unmerged or {}).items():
            if number == index or index < 0:
                self.refuse("branch-differs", what=f"{frame.info.names[number]!r} different", why=why)

    def _is_known(self, value: Any) -> bool:
        return is_tensor(value) and any(tensor is value for tensor, _ in self.known)


def _may_be_one(may_share: MayShare | None, one: Any, other: Any) -> bool:
    return may_share is not None and may_share.may_be(one, other)
