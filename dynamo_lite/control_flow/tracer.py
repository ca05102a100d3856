"""The tracer that captures branches on data: it adds the interpreter's hooks for jumps to `Tracer`."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType, GeneratorType
from typing import Any, NoReturn

import torch

from dynamo_lite.capture import CaptureError
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.kernels import functorch
from dynamo_lite.capture.may_share import MayShare, SharedWrite, version_of
from dynamo_lite.control_flow import rules
from dynamo_lite.control_flow.branches import choices, demands, of_sizes, sorting, while_sizes
from dynamo_lite.control_flow.branches.branch import Branch
from dynamo_lite.control_flow.differences import same_memory
from dynamo_lite.control_flow.items import computed
from dynamo_lite.control_flow.lists import uses, varying
from dynamo_lite.control_flow.loops import bounded, counting, fixed, heads
from dynamo_lite.control_flow.loops.bounded import Bounded
from dynamo_lite.control_flow.loops.counted import Counter, Iterations, LaterIterations
from dynamo_lite.control_flow.loops.data_loop import DataLoop
from dynamo_lite.control_flow.notes import BranchNotes, line_of
from dynamo_lite.control_flow.path_counter import PathCounter
from dynamo_lite.control_flow.predicates import ChosenNumbers, Predicates
from dynamo_lite.control_flow.reachable import reaches
from dynamo_lite.control_flow.states import (
    Base,
    BeginsAgain,
    CannotMerge,
    FirstIterationDiffers,
    FrameState,
    Join,
    LeftFromWithin,
    OpenLoop,
)
from dynamo_lite.control_flow.undoing.iterators import Watch
from dynamo_lite.control_flow.undoing.new_objects import Points
from dynamo_lite.errors import DynamoLiteError
from dynamo_lite.interpreter.flow import flow_of
from dynamo_lite.interpreter.flow.loops import Loop, has_further_test, loop_at, open_fors
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.diagnostics import Abort, RunAgain
from dynamo_lite.tracing.heap.iterator_types import ITERATORS, is_c_iterator
from dynamo_lite.tracing.heap.journal import Journal
from dynamo_lite.tracing.size_branches.compared_sides import ComparedSides
from dynamo_lite.tracing.sizes import builtin_calls, runtime_values
from dynamo_lite.tracing.tensors.autograd_nodes import GraphNodes
from dynamo_lite.tracing.tracer import Tracer
from dynamo_lite.tracing.vocabulary.program_points import Mark
from dynamo_lite.tracing.vocabulary.symbolic_numbers import concrete, items_of
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


class ForkingTracer(Tracer):
    """A tracer that captures branches on data (interfaces.py has what its parts see of it)."""

    makes_lists = True
    """Whether `[x] * n` and `list(range(n))` are lists of a length that varies."""
    made_list = False
    """Whether there has been such a list."""
    unrolls_for_gradients = False
    """Whether loops that have no gradient as operators are unrolled, if they come to an end."""
    has_lost_gradients = False
    """Whether there has been such a loop that was captured without its gradient."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.loops: list[OpenLoop] = []
        self.path_counter = PathCounter()
        self.asserted: tuple[Mark, str] | None = None
        self.raised_on_both: list[tuple[BaseException, str]] = []
        self.depth = 0
        self.demands: frozenset[demands.Place] = frozenset()
        self.vm.on_call_at = None  # few runs have such calls
        self.sorts: frozenset[sorting.Place] = frozenset()
        self.layouts_differ = False
        self.unrolled = ""
        self.given_up: list[tuple[Any, int]] = []  # loops that are unrolled: the frame, where an iteration begins
        self.joins: list[Join] = []
        self.merged_at: dict[Any, int] = {}
        self.bases: list[Base] = []
        self.points = Points()
        self.caught: BeginsAgain | None = None
        self.journals: list[Journal] = []
        self.watches: list[Watch] = []
        self.moved: list[Any] = []  # iterators without copies that a side, undone since, has moved on
        self.known: list[tuple[Any, bool, int | None]] = []
        self.predicates = Predicates(self.recorder)
        self.chosen = ChosenNumbers(self.recorder)
        self.branches = BranchNotes(self)
        self._sizes = self.own(ComparedSides)
        self._sizes.forks = True
        self.of_sizes = 0  # how many branches on sizes are captured
        self.hands_out_copies = False
        """Whether a result is a copy that in eager is an input, or another result, as a branch on sizes went."""
        self.left_to_example: set[tuple[Any, int]] = set()  # (code, instruction) of branches on sizes, not captured
        self.recorder.may_share = MayShare(self.recorder, self.recorder.levels, reaches(self))
        rules.attach(self.rules, self.makes_lists)

    def fork_calls(self, places: frozenset[demands.Place]) -> None:
        """Fork before these calls, on the numbers of data that they are given."""
        self.demands = places
        self.vm.on_call_at = self.on_call_at

    def undecided(self, error: Any) -> NoReturn:
        again = sorting.sorts_data(self) or demands.demanded(self, self.demands)
        if again is not None:
            self.abort(again)
        super().undecided(error)

    def refused(self, error: CaptureError) -> DynamoLiteError:
        again: RunAgain | None = sorting.sorts_data(self) if error.id in _OF_TRUTH else None
        if again is None and error.id in _OF_NUMBERS:
            again = demands.demanded(self, self.demands)
        if isinstance(error, SharedWrite) and error.could_tell:
            again = same_memory.ToBeTold()
        return super().refused(error) if again is None else again

    def rollback(self, keep: set[int]) -> None:
        for journal in (self.journal, *reversed(self.journals)):  # of parts of the run that were interrupted
            journal.rollback(keep)

    def loop_of(self, frame: Any) -> OpenLoop | None:
        """The innermost loop of `frame` whose body is being captured."""
        return next((loop for loop in reversed(self.loops) if loop.frame is frame), None)

    def check_outputs(self, tensors: Sequence[Any]) -> None:
        may_share = self.recorder.may_share
        if may_share is None or not self.of_sizes:
            return
        fakes = [self.recorder.known_fake(tensor) for tensor in tensors]
        outside = set(map(storage_key, self.recorder.from_outside()))
        for index, fake in enumerate(fakes):
            seen = outside | {storage_key(other) for other in (*fakes[:index], *fakes[index + 1 :])}
            self.hands_out_copies |= bool(may_share.others(fake) & seen)

    def check_raised(self, error: Exception) -> None:
        super().check_raised(error)
        if self.asserted is not None and self.broken is None:
            mark, text = self.asserted
            own = f"{type(error).__name__}: {error}"
            if own != text:
                why = f"one side raises ({text}), and where it is not taken the program raises something else ({own})"
                raise self.graph_break("branch-unsupported", mark, why=why) from error

    # ---- the observer's methods

    def before_call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.watches:
            self._check_iterators((*args, *kwargs.values()))
        answer = super().before_call(fn, args, kwargs)
        if answer is NOT_HANDLED and (type(fn) is not FunctionType or self.runs_natively(fn)):
            uses.check_call(self, fn, args, kwargs)
            if type(fn) is FunctionType and demands.has_flags(args, kwargs):
                return demands.call_natively(self, self.demands, fn, args, kwargs)
        return answer

    def after_native_call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        answer = super().after_native_call(fn, args, kwargs, result)
        if not self.watches or any(result is arg for arg in args):
            return answer
        if is_c_iterator(type(result)) or id(result) in self.writes.new_objects:
            self.watches[-1].on_made(result)
        return answer

    def on_native_result(self, fn: FunctionType, result: Any) -> Any:
        if self.watches:
            self._check_iterators((result,))  # the C code that called `__iter__` advances it
        return super().on_native_result(fn, result)

    def on_caught(self, error: BaseException) -> None:
        if isinstance(error, BeginsAgain):
            self.caught = error
        super().on_caught(error)

    def on_hidden_change(self, owner: Any, does: str = "") -> None:
        if self.watches and not self.watches[-1].may_change(owner):
            does = does or f"changes a {type(owner).__qualname__}"
            self.refuse("branch-unsupported", why=f"it {does} that is older than the branch")

    def on_look(self, how: str, owner: Any, key: Any = None) -> None:
        if self.watches and is_c_iterator(type(owner)):
            self._check_iterators((owner,))
        super().on_look(how, owner, key)

    def before_write(self, kind: str, owner: Any, key: Any, value: Any) -> bool | None:
        if kind == "inplace":
            uses.check_in_place(owner, value)
        if kind == "attr":
            uses.check_item(self, owner, "given an attribute")
        return super().before_write(kind, owner, key, value)

    def on_read(self, how: str, owner: Any, key: Any, value: Any) -> Any:
        if how == "attr":
            uses.check_attribute(self, owner, key)
        return super().on_read(how, owner, key, value)

    def _check_iterators(self, values: tuple[Any, ...]) -> None:
        """Refuses to use iterators that are older than the current side: it cannot be undone."""
        for value in values:
            held = items_of(value) if type(value) in (list, tuple, dict) else (value,)
            older = next((item for item in held or () if not self.watches[-1].may_use(item)), None)
            if older is not None:
                kind = type(older)
                what = "an iterator" if kind in ITERATORS else f"a {kind.__qualname__}"
                self.refuse("branch-unsupported", why=f"it uses {what} that is older than the branch")

    def on_branch(self, frame: Any, value: Any, jumps_if: bool, target: int, keeps: bool) -> Any:
        if not keeps and (answer := while_sizes.on_branch(self, frame, value)) is not NOT_HANDLED:
            return answer
        if (relation := self._sizes.undecided(value)) is not None:
            return of_sizes.on_branch(self, self._sizes, frame, value, relation, (jumps_if, target, keeps))
        kept, value = value, uses.truth_of(value)
        if functorch.active() or not self.predicates.depends_on_data(value) or self.known_truth(value) is not None:
            return NOT_HANDLED
        if runtime_values.is_assertion(frame):
            return NOT_HANDLED
        at, around = frame.pc - 1, self.loop_of(frame)
        starts = {jumps_if: target, not jumps_if: at + 1}
        if around is not None and not keeps:
            counting.note_bound(self, flow_of(frame.info), around, at, value, starts)
        loop = None if keeps else loop_at(flow_of(frame.info), at, around.stops if around is not None else set())
        if loop is None and self.predicates.is_constant(value):
            return NOT_HANDLED
        predicate = self.predicates.of(value)
        problem: CannotMerge | None = None
        if loop is not None and (frame, loop.again) not in self.given_up:
            before = bounded.Before(self, frame)
            try:
                return self._captured(frame, predicate, loop)
            except LeftFromWithin:  # unrolled, if it comes to an end
                before.state.put(frame)
            except CannotMerge as error:
                problem = error
                before.put()
            if self.predicates.is_constant(value):
                return NOT_HANDLED
        for held in reversed(frame.stack):
            if type(held) is Bounded:
                held.rest.is_due = True  # a branch of this iteration may have ended it
                break
        condition = self.predicates.condition(value)
        made = Branch(self, frame, predicate, starts, (jumps_if, kept) if keeps else None, condition=condition)
        return made.capture() if problem is None or loop is None else self._unrolled(made, loop, problem)

    def on_iter(self, value: Any) -> Any:
        if not fixed.is_fixed(value) and (rows := heads.rows_of(self, value)) is not None:
            return iter(rows)
        iterator: Any = bounded.bounded(self, self.vm.frame, value)
        if iterator is None and fixed.is_fixed(value):
            iterator = iter(value.items(value.count))
        if iterator is None and type(value) is range and self.watches:
            iterator = iter(value)  # the collector does not track it
            self.watches[-1].on_made(iterator)
        return NOT_HANDLED if iterator is None else iterator

    def on_extend(self, target: list[Any], value: Any) -> Any:
        return uses.extended(self, target, value) if self.makes_lists else NOT_HANDLED

    def on_for(self, frame: Any, iterator: Any, target: int) -> Any:
        if type(iterator) is GeneratorType:
            iterator = computed.begun(self, frame, iterator)
            if iterator is None:
                return NOT_HANDLED
        if type(iterator) is Bounded:
            return self._on_bounded(frame, iterator, target)
        if type(iterator) is not Counter:
            if self.watches and self.watches[-1].moves_again(iterator, self.moved):
                self._check_iterators((iterator,))
            return NOT_HANDLED
        at = frame.pc - 1
        test = torch.full((), iterator.of.count, dtype=torch.int64) > 0  # as a SymBool it would become a guard
        flow = flow_of(frame.info)
        loop = Loop(at + 1, flow.at(target), frozenset({at}), flow.join(at))
        before = FrameState.of(frame)
        try:
            return DataLoop(self, frame, test, loop, iterator).capture()
        except LeftFromWithin:
            why = "an outer loop is left, or a block of `with` or `try`"
            problem = CannotMerge("branch-unsupported", why=why)
        except FirstIterationDiffers:
            before.put(frame)
            self._run_first_iteration(frame, iterator.of)
            frame.pc = at + 1
            return None
        except CannotMerge as error:
            problem = error
        if not iterator.of.count.node.has_hint():
            self.refuse(problem.id, **problem.names)
        before.put(frame)
        self._unroll(frame, iterator.of, str(problem.names["why"]))
        frame.pc = at
        return None

    def on_subscript(self, frame: Any, container: Any, key: Any) -> Any:
        if functorch.active():
            return NOT_HANDLED
        key = frame.stack[-1] = uses.with_tensors(container, key)
        answer = demands.subscript(self, frame, container, key)
        if answer is not NOT_HANDLED:
            return answer
        key = frame.stack[-1]
        return choices.subscript(self, frame, container, key)

    def on_call_at(self, frame: Any) -> Any:
        if (frame.code, frame.pc - 1) not in self.demands or functorch.active():
            return NOT_HANDLED
        return demands.call(self, frame)

    def on_store_key(self, container: Any, key: Any) -> Any:
        return uses.with_tensors(container, key)

    def on_repeat(self, left: Any, right: Any) -> Any:
        return varying.repeated(self, left, right) if self.makes_lists else NOT_HANDLED

    def _captured(self, frame: Any, predicate: Any, loop: Loop) -> Any:
        """A loop that data end, as an operator. Raises CannotMerge if it may come to an end unrolled, and refuses what
        would not."""
        flow = flow_of(frame.info)
        may_end = has_further_test(flow, loop, open_fors(flow, frame.pc - 1))
        try:
            return DataLoop(self, frame, predicate, loop, may_end=may_end).capture()
        except CannotMerge as error:
            if may_end:
                raise
            self.refuse(error.id, **error.names)

    def _unrolled(self, test: Branch, loop: Loop, problem: CannotMerge) -> Any:
        """Unroll a loop that data end, or whose test the program may know, and that cannot be an operator; if the loop
        does not terminate, its own error is raised."""
        self.given_up.append((test.frame, loop.again))
        try:
            return test.capture()
        except Abort:
            self.refuse(problem.id, **problem.names)
        finally:
            self.given_up.pop()

    def _on_bounded(self, frame: Any, iterator: Bounded, target: int) -> Any:
        """Capture a loop of known length as an operator, if data end it; else run the next iteration."""
        if bounded.is_due(iterator):
            at, flow = frame.pc - 1, flow_of(frame.info)
            loop = Loop(at + 1, flow.at(target), frozenset({at}), flow.join(at))
            made = DataLoop(self, frame, torch.full((), True), loop, bounded.counter_of(iterator))
            done, answer = bounded.captured(self, made, iterator)
            if done:
                return answer
            if iterator.rest.given_up:
                line = line_of(frame, at)
                self.unrolled = f"the loop at line {line} is unrolled: {iterator.rest.given_up}"
        iterator.step(frame, target)
        return None

    def _run_first_iteration(self, frame: Any, iterations: Iterations) -> None:
        """Run the first iteration outside of the loop: the frame continues in it and returns to the other ones."""
        if not iterations.count >= 1:  # the comparison makes it a guard, if it is not a fact yet
            self.refuse("branch-unsupported", why="a loop over a size has no first iteration")
        self.note(f"the first iteration of the loop at line {line_of(frame, frame.pc - 1)} is run before the loop")
        frame.stack[-1] = iter(LaterIterations(iterations))
        frame.stack.append(iterations.item(0))

    def _unroll(self, frame: Any, iterations: Iterations, why: str) -> None:
        """A loop over a size of the inputs that is not captured: it fixes the size."""
        with builtin_calls.needs_number(self, f"a loop on data that cannot be captured ({why}): range"):
            count = concrete(torch.sym_max(iterations.count, 0))
        self.note(f"the loop at line {line_of(frame, frame.pc - 1)} is unrolled, not captured: {why}")
        frame.stack[-1] = iter(iterations.rest(count, 0))

    def on_not(self, value: Any) -> Any:
        value = uses.truth_of(value)
        if (known := self.known_truth(value)) is not None:
            return not known
        if not self.predicates.depends_on_data(value):
            return NOT_HANDLED
        return self.predicates.truth(self.predicates.negated(value))

    def on_truth(self, value: Any) -> Any:
        known = self.known_truth(value)
        return super().on_truth(value) if known is None else known

    def known_truth(self, value: Any) -> bool | None:
        """The truth of a tensor, if the current side depends on it."""
        known = reversed(self.known)
        return next((truth for one, truth, at in known if one is value and version_of(one) == at), None)

    def on_identity(self, left: Any, right: Any) -> Any:
        if is_tensor(left) and is_tensor(right):
            one, other = (self.recorder.known_fake(t) for t in (left, right))
            if one is not other and _may_be_one(self.recorder.may_share, one, other):
                return same_memory.are_one(self, one, other)
            if one is not other and uses.is_item(self, right):
                uses.check_item(self, left, "compared with another by identity")
        elif {id(left), id(right)} <= self.own(GraphNodes).by_id.keys() and _merges(self.recorder.may_share):
            self.refuse("autograd-graph")
        return super().on_identity(left, right)

    def on_key(self, key: Any) -> Any:
        uses.check_item(self, key, "a key")
        return super().on_key(key)

    def on_unbound(self, frame: Any, index: int) -> None:
        for number, why in (frame.unmerged or {}).items():
            if number == index or index < 0:
                self.refuse("branch-differs", what=f"{frame.info.names[number]!r} different", why=why)

    def on_store_local(self, frame: Any) -> None:
        if self.depth:
            self.refuse("branch-unsupported", why="a variable is set by f_locals in it")


_OF_NUMBERS = frozenset({"data-dependent-question", "data-dependent-value"})
_OF_TRUTH = _OF_NUMBERS | {"data-dependent-branch"}


def _merges(may_share: MayShare | None) -> bool:
    return may_share is not None and may_share.has_pairs()


def _may_be_one(may_share: MayShare | None, one: Any, other: Any) -> bool:
    return may_share is not None and may_share.may_be(one, other)
