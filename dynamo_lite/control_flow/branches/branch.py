"""A branch on data: both sides are run, one after the other, up to where they join, and become one torch.cond.

A branch on the sizes of inputs is captured too if its sides differ. Each side is run under its condition; the side that
the example does not take uses other sizes than the example's. A size question decided on a side holds for that side
alone: the guard is `not condition or fact`. Numbers and sizes that differ between the sides become one expression over
the condition (tracing/size_branches/choice.py).

The join is the immediate post-dominator of the jump. If a live variable cannot be merged there, both sides are run
again to a later join at which the variable is dead: the choice is carried on. If it is carried on to the function's
return and the results cannot be merged, the sides continue in the caller (`_InCaller`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NoReturn

import torch

from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.may_share import version_of
from dynamo_lite.control_flow.branches.calls import caller_of
from dynamo_lite.control_flow.branches.joins import IN_CALLER, Joins, takes_value
from dynamo_lite.control_flow.branches.side_ends import Merged
from dynamo_lite.control_flow.emission import emit_cond
from dynamo_lite.control_flow.facts import FactsOfSides
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.growth import HasToGrow
from dynamo_lite.control_flow.merge import Merge
from dynamo_lite.control_flow.notes import line_of
from dynamo_lite.control_flow.places import write_heap
from dynamo_lite.control_flow.sides import lasting_change, opened, run_side
from dynamo_lite.control_flow.states import (
    DEPTH,
    CannotMerge,
    FrameState,
    Join,
    JoinsLater,
    NoJoin,
    OpenLoop,
    Side,
    reported,
)
from dynamo_lite.control_flow.undoing.first_reads import FirstReads
from dynamo_lite.control_flow.undoing.iterators import is_copied, runs_at_its_end
from dynamo_lite.interpreter.flow import END, FlowGraph, flow_of
from dynamo_lite.interpreter.frames.exceptions import ContinueIn
from dynamo_lite.interpreter.frames.frame import RETURNED, RUNNING
from dynamo_lite.interpreter.frames.generators import frame_of, give_up
from dynamo_lite.interpreter.frames.tracebacks import is_own_code
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import not_
from dynamo_lite.tracing.size_branches.choice import ConditionalValue
from dynamo_lite.tracing.size_branches.compared_sides import ComparedSides
from dynamo_lite.tracing.strings.deferred_str import known_words, texts_in
from dynamo_lite.tracing.vocabulary.exception_handlers import may_be_caught
from dynamo_lite.tracing.vocabulary.process_state import SWITCHES
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC, items_of
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


@dataclass
class Branch:
    """The current jump.

    Attributes:
        choice: merges two numbers into one expression, for a branch on the sizes of inputs; else None.
        frame: the frame in which the sides join: the one that jumps, except for `_InCaller`.
        predicate: the tensor or SymBool that decides the branch.
        starts: truth → the instruction at which the side begins.
        of_sizes: whether the sizes of inputs decide it.
        condition: the predicate as a relation, if it is a tensor that is known to hold a symbolic number.
        kept: (the truth with which the value stays on the stack, the value) for `and` and `or`, else None.
    """

    tracer: Forking
    frame: Any
    predicate: Any
    starts: dict[bool, int]
    kept: tuple[bool, Any] | None
    of_sizes: bool = field(default=False, kw_only=True)
    condition: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.tracer.own(ComparedSides).end_open()
        self.at = self.frame.pc - 1
        self.callees = self.calls_between()
        self.base = FrameState.of(self.frame, self.callees)
        self.run_sides: list[Side] = []
        self.goes_on_in: Any = None  # the frame, if it is a caller's
        self.raises: BaseException | None = None  # what both sides raise
        self.flow: FlowGraph = flow_of(self.frame.info)
        self.around: OpenLoop | None = self.tracer.loop_of(self.frame)
        env = self.tracer.recorder.env
        self.relation: Any = None if is_tensor(self.predicate) or env is None else env.unwrap(self.predicate)
        self.reads = FirstReads.of(self.tracer.reads)
        self.choice: Callable[[Any, Any], Any] | None = None
        if self.of_sizes and self.relation is not None:
            self.choice = self._chooser(ConditionalValue(env, self.relation).one)

    def _chooser(self, one: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Return a function that merges two numbers into one expression; into None where a side has made one of them:
        the operator gives that."""
        env: Any = self.tracer.recorder.env
        before = set(env.core.symbols.values())

        def chosen(left: Any, right: Any) -> Any:
            symbols = {s for n in (left, right) if type(n) in SYMBOLIC for s in symbols_of(env.unwrap(n))}
            return one(left, right) if symbols <= before else None

        return chosen

    def capture(self) -> Any:
        """Run both sides, merge them, and continue after the join. Returns the result of the jump's handler."""
        try:
            with self.tracer.path_counter.of(self.tracer, self.frame, self.at):
                answer = reported(self.tracer.recorder, self._capture)
        finally:
            if not self.of_sizes:  # else the frame may be put back to `base` (of_sizes.py)
                self.let_go()
        if self.raises is not None:
            raise self.raises
        if self.goes_on_in is not None:
            raise ContinueIn(self.goes_on_in)
        return answer

    def let_go(self) -> None:
        """End the branch: objects that it kept alive may die when the program drops them."""
        self.base.let_go()
        for side in self.run_sides:
            side.let_go()

    def go_on(self, merged: Merged) -> Any:
        """Let the frame continue with the merged state. Returns the result of the jump's handler."""
        return merged.end()

    def refuse(self, problem: CannotMerge) -> NoReturn:
        """The sides can be merged nowhere. The example's answer to a branch on sizes becomes a guard then."""
        if self.choice is not None:
            raise problem
        self.tracer.refuse(problem.id, **problem.names)

    def _capture(self) -> Any:
        tracer = self.tracer
        joins = Joins(self)
        if joins.last_time == IN_CALLER:
            done, answer = self._captured_in_caller()
            if done:
                return answer
            joins.last_time = None
        while True:
            # The sides of another join are over: what they hold is looked through again and again.
            sides: dict[bool, Side] = {}
            raised: list[bool] = []
            merged: Merged | None = None
            facts = FactsOfSides(tracer)
            try:
                with opened(tracer, self.frame, self.base) as base:
                    sides = self._sides_to(Join(self.frame, joins.at, joins.stays))
                    raised = [truth for truth in sides if sides[truth].error is not None]
                    if not raised:
                        merged = joins.merged(sides[True], sides[False])
            except JoinsLater as later:
                if later.frame is not self.frame:
                    raise
                joins.move(later)
                facts.forget()
                if not later.in_caller:
                    continue
            except HasToGrow as grows:
                if grows.base is not base:
                    raise
                facts.forget()
                grows.make_grown(tracer)
                continue
            if raised:
                return self.assert_not(raised, sides)
            if merged is not None:
                break
            facts.forget()
            if joins.difference is not None:
                done, answer = self._captured_in_caller()
                if done:
                    joins.note_merged(IN_CALLER)
                    return answer
                joins.stay()
        joins.note_merged(joins.at)
        joins.check_around()
        self._put_merged(joins.at, merged, sides)
        return self.go_on(merged)

    def _sides_to(self, join: Join) -> dict[bool, Side]:
        self.tracer.joins.append(join)
        try:
            return self.sides(join.at)
        finally:
            self.tracer.joins.pop()

    def _put_merged(self, at: int, merged: Merged, sides: dict[bool, Side]) -> None:
        """Record the operator, and write the merged values."""
        tracer, left, right = self.tracer, sides[True], sides[False]
        assert left.reads is not None and right.reads is not None
        self.reads.joined(left.reads, right.reads).put(tracer.reads)
        made = emit_cond(tracer, merged.merge, self.predicate, left, right)
        for switch, value in zip(SWITCHES, left.switches):
            if switch.read() != value:
                switch.write(value)
        merged.merge.fill()
        self._note_going(merged.merge, left, right)
        write_heap(tracer, merged.heap)
        for state in merged.features:
            state.put()
        tracer.made_dicts |= left.dicts | right.dicts
        for value in self.base.values() if left.over else ():
            for generator in runs_at_its_end(value) if is_copied(value) else ():
                frame = frame_of(generator)
                if frame is not None and id(frame) in left.over:
                    give_up(frame)  # each side has run what it runs at its end
        for copy in (*left.copies, *right.copies) if tracer.watches else ():
            tracer.watches[-1].on_made(copy)  # in a variable from here on; a side around may move it on
        tracer.branches.note(self, at, merged.merge, made)

    def _captured_in_caller(self) -> tuple[bool, Any]:
        """Run both sides on in the caller of this frame, with the call's result on each.

        (False, None) if it is not known how that frame continues, or if that does not help; nothing is recorded then.
        """
        tracer = self.tracer
        caller = None if self.around is not None else caller_of(tracer, self.frame)
        if caller is None:
            return False, None
        around = tracer.joins[-1] if tracer.joins else None
        if around is not None and around.frame in (self.frame, *(callee for callee, _ in self.callees)):
            if around.stays:
                return False, None
            raise JoinsLater(around.frame, END, in_caller=True)
        at = self.predicate, self.starts, self.kept
        outer = _InCaller(tracer, caller.frame, *at, self, caller.modules, of_sizes=self.of_sizes)
        outer.condition = self.condition
        facts = FactsOfSides(tracer)
        try:
            with tracer.path_counter.of(tracer, outer.frame, outer.at):
                answer = outer._capture()
        except NoJoin:
            facts.forget()
            return False, None
        finally:
            outer.let_go()
        self.goes_on_in, self.raises = outer.goes_on_in, outer.raises
        return True, answer

    def _note_going(self, merge: Merge, left: Side, right: Side) -> None:
        """Record the values that integers and tensor sizes among the results have if the enclosing loop continues."""
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

    def fork(self) -> Branch:
        """The branch of the frame that jumps."""
        return self

    def calls_between(self) -> Sequence[tuple[Any, int]]:
        """The calls from the one that jumps to one that `frame` has made: (frame, modules) of each (states.Callee)."""
        return ()

    def first_join(self) -> int:
        """The nearest join that is tried."""
        return self.flow.join(self.at)

    def where(self) -> str:
        """Return the line of the branch and those of the sides, for an error message."""
        frame, at = self.fork().frame, self.fork().at
        if is_own_code(frame.code):  # a builtin that is written in Python (rules.py)
            return ""
        at, one, other = (line_of(frame, index) for index in (at, self.starts[True], self.starts[False]))
        return f" (the branch at line {at}: one side goes on at line {one}, the other at line {other})"

    # -- the sides

    def sides(self, join: int) -> dict[bool, Side]:
        """Both sides, run up to `join`."""
        tracer = self.tracer
        tracer.path_counter.count(tracer)
        if tracer.depth >= DEPTH:
            unrolled = tracer.unrolled or "a loop that is left from within, by return or break, is unrolled"
            why = f"more than {DEPTH} branches are nested ({unrolled})"
            tracer.refuse("branch-unsupported", why=why)
        stops = {join} - {END} | (self.around.stops if self.around is not None else set())
        sides: dict[bool, Side] = {}
        for truth in (True, False):
            self.reads.put(tracer.reads)
            known = len(tracer.known)
            if is_tensor(self.predicate):
                tracer.known.append((self.predicate, truth, version_of(self.predicate)))
            try:
                begin, assumed = self.begin(truth), self.assumed(truth)
                merges = not self.of_sizes
                sides[truth] = run_side(tracer, self.frame, self.base, begin, stops, assumed, merges=merges)
            finally:
                del tracer.known[known:]
            self.run_sides.append(sides[truth])
        return sides

    def assumed(self, truth: bool) -> Any:
        relation = self.condition if self.relation is None else self.relation
        return None if relation is None else relation if truth else not_(relation)

    def begin(self, truth: bool) -> Callable[[Level | None], None]:
        """Return a function that sets the state of the jump to that at the beginning of a side."""

        def start(level: Level | None) -> None:
            frame, kept = self.frame, self.kept
            frame.pc = self.starts[truth]
            if kept is not None and truth is not kept[0]:
                frame.stack.pop()  # the jump is not taken: the value goes
            if kept is not None and is_tensor(kept[1]):
                self.tracer.known.append((kept[1], truth, version_of(kept[1])))

        return start

    def _texts_of(self, side: Side) -> list[str]:
        """Return the classes and messages of the errors of a side: those that it asserts not to raise, and the last."""
        asserted = [node.args[1] for node in side.level.graph.nodes if node.target is torch.ops.aten._assert_async.msg]
        known = [text for error, text in self.tracer.raised_on_both if error is side.error]
        assert side.error is not None
        return [*asserted, *(known or [f"{type(side.error).__name__}: {_words(side.error, self.frame)}"])]

    def assert_not(self, raised: list[bool], sides: dict[bool, Side]) -> Any:
        """Handle a side that raises: the program asserts that it is not taken, and continues with the other."""
        tracer = self.tracer
        if self.choice is not None:
            raise CannotMerge("branch-unsupported", why="a side raises")
        error = sides[raised[0]].error
        assert error is not None
        texts = [text for truth in raised for text in self._texts_of(sides[truth])]
        text = ", or ".join(dict.fromkeys(texts))
        if len(raised) == 2 and not tracer.depth:
            tracer.refuse("branch-unsupported", why=f"both sides raise ({text})")
        if may_be_caught(self.fork().frame):
            tracer.refuse("branch-unsupported", why=f"one side raises what the program may catch ({text})")
        for truth in raised:
            problem = sides[truth].problem
            if problem is not None:
                tracer.refuse(problem.id, **problem.names)
            changed = lasting_change(tracer, sides[truth])
            if changed:
                why = f"the side that raises changes {changed} before, which a call after the error sees ({text})"
                tracer.refuse("branch-unsupported", why=why)
        if len(raised) == 2:  # as `raise Error("bad" + ("s" if n > 1 else ""))` does: the side around raises
            self.raises = error
            tracer.raised_on_both.append((error, text))
            return None
        holds = tracer.predicates.tensor(self.predicate)
        torch._assert_async(torch.logical_not(holds) if raised[0] else holds, text)
        self.reads.put(tracer.reads)
        self.base.put(self.frame)
        self.begin(not raised[0])(None)
        tracer.asserted = tracer.mark(), text
        tracer.branches.note_assertion(self, text)
        return None


def _words(error: Any, frame: Any) -> str:
    """Return the message of an error of the program, without running its code or reading texts that depend on data."""
    text = ""
    if _rests_on_data(error.args):
        text = next((value for value in error.args if type(value) is str), "")
    elif unread := texts_in(error.args):
        text = known_words(unread[0])
        text = text if text.strip(" .") else ""
    else:
        text = BaseException.__str__(error) if type(type(error).__str__) is FunctionType else str(error)
    return text or f"raised in {frame.code.co_name}"


def _rests_on_data(value: Any, depth: int = 8) -> bool:
    items = items_of(value) if depth else None
    return type(value) in SYMBOLIC or is_tensor(value) or any(_rests_on_data(item, depth - 1) for item in items or ())


@dataclass
class _InCaller(Branch):
    """`inner` again; its sides run to the end of the enclosing call, and on in `frame`, the caller."""

    inner: Branch
    modules: int

    def calls_between(self) -> Sequence[tuple[Any, int]]:
        return (*self.inner.callees, (self.inner.frame, self.modules))

    def fork(self) -> Branch:
        return self.inner.fork()

    def begin(self, truth: bool) -> Callable[[Level | None], None]:
        return self.inner.begin(truth)

    def first_join(self) -> int:
        """Return the instruction after the one that takes the value of the expression that the call is part of."""
        at = super().first_join()
        while at != END and not takes_value(self.flow, at):
            at = self.flow.join(at)
        return self.flow.join(at) if at != END else END

    def refuse(self, problem: CannotMerge) -> NoReturn:
        raise NoJoin(problem.id, **problem.names)

    def go_on(self, merged: Merged) -> Any:
        frame = self.goes_on_in = self.frame
        merged.end()
        if frame.state == RETURNED:
            frame.stack[:], frame.state, frame.result = [frame.result], RUNNING, None
            frame.pc = self.flow.names.index("RETURN_VALUE")
