"""A loop whose end depends on data, as torch's while_loop, captured from the bytecode of one iteration.

An iteration begins after the test and ends with the next test, whose value is carried as well: so cond_fn is "the
predicate that was carried", and the test's own instructions are part of the body. The carried values are found by
running an iteration: places whose value it changes (merge.py), and tensors that it changes in place (carried.py). Then
it is run again on fake values for a later iteration, until no more are found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from dynamo_lite.capture.graph.level import Level
from dynamo_lite.control_flow import gradients
from dynamo_lite.control_flow.branches.side_ends import as_test
from dynamo_lite.control_flow.emission import decode, is_unknown
from dynamo_lite.control_flow.facts import facts_of, keep_facts
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.grown import GrownList, WantsLast
from dynamo_lite.control_flow.lists.growth import HasToGrow, ItemsDiffer, Later, grown, growths_of, left
from dynamo_lite.control_flow.lists.ragged import Known, RaggedItems
from dynamo_lite.control_flow.loops import bounded, counting, known_tests, lost_gradients, relaid
from dynamo_lite.control_flow.loops.bounded import Bounded, NotByData
from dynamo_lite.control_flow.loops.carried import Carried, LessRegular, Unflagged, note_groups
from dynamo_lite.control_flow.loops.counted import MANY, Counter, LaterIterations, UncountedIterations
from dynamo_lite.control_flow.loops.exits import left_from_within
from dynamo_lite.control_flow.loops.growing import growing_of
from dynamo_lite.control_flow.loops.scan import emit_scan
from dynamo_lite.control_flow.loops.while_loop import emit_while
from dynamo_lite.control_flow.merge import Pair
from dynamo_lite.control_flow.sides import opened, run_side, undo_layouts
from dynamo_lite.control_flow.states import (
    CannotMerge,
    FewIterations,
    FirstIterationDiffers,
    FrameState,
    LeftFromWithin,
    OpenLoop,
    Side,
    ToBeCounted,
    cannot_merge,
    reported,
)
from dynamo_lite.control_flow.undoing.first_reads import FirstReads
from dynamo_lite.interpreter.code.sentinels import UNBOUND
from dynamo_lite.interpreter.flow import flow_of
from dynamo_lite.interpreter.flow.loops import Loop, exits_of, open_fors
from dynamo_lite.tracing.size_branches.compared_sides import ComparedSides
from dynamo_lite.tracing.tensors.side_differences import SideDifferences

_ROUNDS = 16
"""How often an iteration is run until the carried values have settled."""
_OPERATOR = "a loop on data"


@dataclass
class DataLoop:
    """A loop at its test: `predicate` is whether there is a first iteration.

    counter: the iterator of a `for`. number: numbers the iterations, if they are numbered: the iterator, or for a
    `while` the counter of loops/counting.py. may_end: whether it may terminate if it is unrolled. is_counting: whether
    it is run only to count its iterations. loses: why it is captured without its gradient; else "".
    """

    tracer: Forking
    frame: Any
    predicate: Any
    loop: Loop
    counter: Counter | None = None
    number: Counter | None = None
    may_end: bool = False
    is_counting: bool = False
    is_of_sizes: bool = False
    loses: str = ""
    in_module: str = ""

    def __post_init__(self) -> None:
        self.tracer.own(ComparedSides).end_open()
        self.number = self.number or self.counter
        self.is_recorded, self.had_gradient = False, False
        self.run_sides: list[Side] = []
        self.replaced: list[tuple[list[Any], list[Any]]] = []  # lists, and the GrownList in the place of each
        self.with_last_items: list[Any] = []  # lists whose last item iterations use
        self.counted: list[tuple[Pair, torch.Tensor]] = []  # the results of the run that counted iterations
        self.lack: ItemsDiffer | None = None  # whether items that an iteration adds to a list may be absent
        self.ragged: Known = {}  # how long they are, if they differ
        self.loose: list[str] = []  # places of tensors that grow differently than in the first iteration
        self.is_left_by_data = False  # from some iteration on: it cannot be a scan
        self.knows_tests = self.counter is None
        self.flow = flow_of(self.frame.info)
        self.at = self.frame.pc - 1
        self.base = FrameState.of(self.frame)
        truths = {test: self.loop.goes_if(self.flow, test) for test in self.loop.tests} if self.counter is None else {}
        self.goes_if = self.counter is not None or bool(self.loop.goes_if(self.flow, self.at))
        around = self.tracer.loop_of(self.frame)
        avoiding = open_fors(self.flow, self.at) | (around.stops if around is not None else set())
        exits = exits_of(self.flow, self.loop.again, self.loop.tests, self.loop.leave, avoiding)
        height = len(self.base.stack) - (self.counter is not None)
        loop = self.loop
        self.open = OpenLoop(self.frame, loop.tests, loop.leave, loop.beyond, truths, None, exits, height)
        self.open.begin = loop.again
        self.live = self.flow.live(self.loop.again) | self.flow.live(self.loop.leave)
        for exit in exits:
            self.live |= self.flow.live(exit)

    def capture(self) -> Any:
        """Run iterations until the carried values are known, record the loop, and continue after it. Returns the result
        of the jump's handler. Raises CannotMerge."""
        try:
            return reported(self.tracer.recorder, lambda: lost_gradients.captured(self))
        finally:
            for side in self.run_sides:
                side.let_go()
            self.base.let_go()

    def as_operator(self) -> Any:
        """Do the same with the gradient, or without."""
        tracer = self.tracer
        reads = FirstReads.of(tracer.reads)
        carried, found = self._settled()
        if isinstance(self.counter, Bounded) and not self.counted and not self._is_left_by(found):
            bounded.check_worth(self.counter, found.side.level)
        after = FirstReads.of(tracer.reads)  # there may be no iteration at all: it reads, and writes nothing first
        reads.joined(reads, after).put(tracer.reads)
        keep_facts(tracer, found.side, *found.side.new_facts)  # not of the first iteration: it runs on other values
        if carried.is_scan:
            results, added = emit_scan(self, carried, found)
        else:
            results, added = emit_while(self, carried, found)
        carried.put(results, leave=True)
        self._forget_filled()
        grown(tracer, carried.growths, added)
        tracer.made_dicts |= found.side.dicts
        tracer.branches.note_loop(self, carried)
        return left_from_within(tracer, self, [results[index] for index in carried.exit_flags])

    def _counted(self, is_exact: bool) -> Counter:
        """Return the counter of a loop that data end. is_exact: the exact count is needed, not only an upper bound.
        Raises CannotMerge."""
        tracer, reads = self.tracer, FirstReads.of(self.tracer.reads)
        number = self.counter or Counter(UncountedIterations(tracer))
        made = DataLoop(tracer, self.frame, self.predicate, self.loop, self.counter, number, is_counting=True)
        made.replaced = self.replaced
        carried, found = made._settled()
        most = None
        if self.counter is None:
            with facts_of(tracer, found.side):
                known = [*counting.steps_of(tracer, carried, found, made.open.going)]
                most = counting.most_iterations(tracer, known, made.open.bounds, carried.fakes[0])
        if most is not None and most < MANY and self.may_end:
            raise FewIterations("branch-unsupported", why="it has few iterations")
        if most is not None and not is_exact:
            reads.put(tracer.reads)
            return Counter(counting.BoundedIterations(tracer, most))
        if any(pair.growth is not None and pair.growth.step for pair in carried.merge.pairs):
            why = "each iteration of a `while` loop makes it longer, and only the data end the loop"
            raise CannotMerge("branch-differs", what="a tensor of another shape after each iteration", why=why)
        counting.check_repeatable(found.side.level)
        keep_facts(tracer, found.side, *found.side.new_facts)
        results, _ = emit_while(made, carried, found)
        reads.put(tracer.reads)
        self.counted = list(zip(carried.merge.pairs, results))
        tracer.branches.note_counted(self)
        return counting.numbers(tracer, decode(tracer, "int64", results[0]) - number.at)

    def _forget_filled(self) -> None:
        """Unset the variables that have no value after the loop, where they are dead."""
        live = self.flow.live(self.loop.leave)
        for exit in self.open.exits:
            live |= self.flow.live(exit)
        for index in self.open.filled:
            if not live >> index & 1:
                self.frame.locals[index] = UNBOUND
                self.frame.unmerged = {**(self.frame.unmerged or {}), index: "it is not used behind the loop"}

    def _settled(self) -> tuple[Carried, Carried]:
        """Return (the carried values, the same after an iteration on fake values)."""
        carried: Carried | None = None
        settled = False
        for _ in range(_ROUNDS):
            if carried is not None:
                carried.prepare()
                if self.knows_tests:
                    carried.tests = known_tests.tested(self.tracer, carried, self.predicate, self.goes_if)
            try:
                with opened(self.tracer, self.frame, self.base) as base:
                    side = self._iteration(carried)
                    found = self._found(side, carried)
            except HasToGrow as grows:
                if grows.base is not base:
                    raise
                self.replaced += grows.make_grown(self.tracer)
                carried = None
                continue
            except WantsLast as wants:
                if carried is None or not any(growth.owner is wants.owner for growth in carried.growths):
                    raise
                self.with_last_items.append(wants.owner)
                carried = None
                continue
            except ItemsDiffer as unlike:
                carried, self.lack = None, unlike
                continue
            except RaggedItems as differ:
                carried, self.ragged[differ.key] = None, differ.ragged
                continue
            except Unflagged:
                carried = None
                continue
            except LessRegular as differs:
                self.loose.append(differs.place)
                carried = None
                continue
            except ToBeCounted as needed:
                carried, self.number = None, self._counted(needed.is_exact)
                continue
            if found is None:
                carried, self.is_left_by_data = None, True
                continue
            if carried is not None and not known_tests.are_tested(self.tracer, carried, found):
                carried, self.knows_tests = None, False
                continue
            if carried is None or not found.is_covered:
                carried = found.union()
            elif not relaid.is_settled(carried, found):
                continue
            elif not side.level.changed or settled:
                return carried, found
            else:  # it changes tensors in place: once more, now that is known what they may share memory with
                note_groups(self.tracer, carried.rows_of(found))
                settled = True
        self.tracer.refuse("branch-unsupported", why="the values that the loop carries do not settle")

    def _found(self, side: Side, carried: Carried | None) -> Carried | None:
        """Return the carried values after an iteration; None if the loop cannot be a scan, and is tried again."""
        tracer = self.tracer
        assert side.state is not None
        if self._has_none() and any(type(snapshot.owner) in (list, GrownList) for snapshot, _ in side.heap.values()):
            cannot_merge("branch-unsupported", why="its iterations add to a list, and the example has no iteration")
        if carried is None:
            growths = growths_of(tracer, side, Later(self.lack, self.ragged))
        else:
            count = self.number.of.count if self.number is not None else None
            later = Later(self.lack, self.ragged, carried.entry[2], count)
            growths = left(tracer, side, carried.growths, later)
        is_scan = carried.is_scan if carried is not None else False

        def attempt() -> Carried:
            return Carried(tracer, self.frame, self.base, side, self.loop, self.counter, self.live, carried,
                           growths, is_scan, None, self.number, self.is_counting, self.with_last_items, self.open,
                           self.loose)  # fmt: skip

        made = attempt()
        if carried is None and made.gives_gradients():  # in a later iteration the answer would differ
            tracer.own(SideDifferences).differ = True
        if carried is None and self._may_run_first_iteration():
            self._check_first_iteration(made)
        is_longer = any(pair.growth is not None for pair in made.merge.pairs)
        if is_longer and self.has_gradient(made):
            why = "torch's while_loop, which it would become, has no right gradient, and a tensor gets longer"
            raise CannotMerge("loop-gradient", why=why)
        if carried is None and self.number is None and not self.is_counting:
            self._check_uncounted(side, made, bool(growths))
        if carried is None and not self.is_counting and (growths or self.has_gradient(made)):
            is_scan = not is_longer and self._may_scan(made)
            if not is_scan:
                self._check_counted(made)
            else:
                assert side.state is not None
                side.state.stack.append(made.goes)
                made = attempt()
        if isinstance(self.counter, Bounded):
            self._check_bounded(made, self.counter)
        if is_scan and self.counter is not None and made.test is not self.next_test:
            self._check_counted(made)
            return made if self.counted else None
        return made

    def _check_first_iteration(self, made: Carried) -> None:
        """Raises FirstIterationDiffers if the first iteration leaves a variable of another kind or shape."""
        names = [repr(self.frame.info.names[index]) for index in made.unmergeable]
        names += [pair.place for pair in made.merge.pairs if _has_other_shape(pair)]
        if names:
            why = "the first iteration changes it"
            raise FirstIterationDiffers("branch-differs", what=f"{names[0]} different", why=why)

    def _check_uncounted(self, side: Side, made: Carried, adds: bool) -> None:
        """Raises ToBeCounted if the iteration count has to be known first. adds: iterations add to a list."""
        if self.has_gradient(made):
            raise ToBeCounted("it has a gradient", True)
        number = Counter(UncountedIterations(self.tracer))
        with facts_of(self.tracer, side):
            how = [growing_of(self.tracer, pair, number, self.open.going) for pair in made.merge.pairs]
        if adds or any(growing is not None and growing.step for growing in how):
            raise ToBeCounted("its iterations add to a list, or make a tensor longer", False)

    def _check_counted(self, made: Carried) -> None:
        """Raises ToBeCounted for a `for` with a gradient that data may end."""
        if self.counter is not None and not self.counted and not self.open.exits and self.has_gradient(made):
            raise ToBeCounted("it has a gradient", True)

    def _may_scan(self, made: Carried) -> bool:
        """Whether a scan can replace the while_loop: the iteration count is known."""
        assert self.number is not None
        if self.counter is None or self.counted:
            is_counted = not isinstance(self.number.of, counting.BoundedIterations)
            return is_counted and self.has_gradient(made) and not self.open.exits
        if made.test is not self.next_test or self.is_left_by_data:
            return False
        # A scan needs a first iteration: with a count known at run time only the program would have to assert it.
        return not is_unknown(self.number.of.count) or self.has_gradient(made)

    def _check_bounded(self, found: Carried, counter: Bounded) -> None:
        """Unroll a loop of known length, if data do not end it and it branches on little, or if it would have no
        gradient."""
        by_data = self._is_left_by(found)
        if found.before is None and not by_data and not bounded.branches(found.side.level):
            raise NotByData("branch-unsupported", why="its first iteration is not left by data")
        if found.before is None and not counter.rest.may_be_left:
            bounded.check_worth(counter, found.side.level)
        lists = [given for given, _ in counter.of.lists()]
        if any(snapshot.owner is given for snapshot, _ in found.side.heap.values() for given in lists):
            raise CannotMerge("branch-unsupported", why="it changes the list that it goes over")
        if self.has_gradient(found) and not self.counted and not found.is_scan:
            if by_data:
                self._check_counted(found)
            raise CannotMerge("loop-gradient", why="torch 2.13 computes the gradient of its while_loop wrongly")

    def _is_left_by(self, found: Carried) -> bool:
        """Whether the test behind an iteration is one on data."""
        return type(found.test) is not bool and found.test is not self.next_test

    def _may_run_first_iteration(self) -> bool:
        """Whether the first iteration can be taken out of the loop: it exists for certain, or in the example."""
        env = self.tracer.recorder.env
        if self.counter is None or env is None or isinstance(self.counter.of, LaterIterations):
            return False
        answer = self.counter.of.count >= 1
        if type(answer) is bool:
            return answer
        decided = env.decide_node(answer.node)
        return decided if decided is not None else bool(answer.node.has_hint() and answer.node.hint)

    def _has_none(self) -> bool:
        """Whether the loop has no iteration in the example."""
        count = self.counter.of.count if self.counter is not None else None
        answer = count < 1 if count is not None else False
        return answer if type(answer) is bool else bool(answer.node.has_hint() and answer.node.hint)

    def has_gradient(self, carried: Carried, found: Carried | None = None) -> bool:
        """Whether the gradient of the loop may be requested."""
        if self.is_counting or self.loses or not torch.is_grad_enabled():
            return False
        found = found or carried
        values = [value for pair in (*carried.merge.pairs, *found.merge.pairs) for value in (pair.left, pair.right)]
        has = gradients.requires_grad([*values, *found.items]) or any(map(found.side.requires_grad, found.inplace))
        self.had_gradient |= has
        return has

    def _iteration(self, carried: Carried | None) -> Side:
        tracer, counter, frame = self.tracer, self.counter, self.frame

        def begin(level: Level) -> None:
            tracer.loops.append(self.open)
            self.open.bounds.clear()
            self.open.going.clear()
            frame.pc = self.loop.again
            at: Any = counter.at if counter is not None else None
            if knows_first:
                known_tests.note_tensor(tracer, self.predicate, self.goes_if)
            if carried is not None:
                at = carried.enter(level)
            if counter is not None:
                if carried is not None and self.number is not counter:
                    at = at + counter.at  # the first of the counted iterations
                self.next_test = bool(self.counted) or at + 1 < counter.of.count  # counted ones need no test
                self.open.next_test = lambda: self.next_test
                frame.stack.append(counter.of.item(at))
                if isinstance(counter, Bounded):
                    self.open.numbers = bounded.numbers_of(counter, at, frame.stack[-1])

        around = tracer.loop_of(frame)  # where the outer loop is tested or left, an iteration of this one stops too
        stops = self.open.stops | (around.stops if around is not None else set())
        knows_first = counter is None and (carried is None or not known_tests.is_changed(self.predicate, carried))
        known, assumed = len(tracer.known), known_tests.assumed(self, knows_first)
        try:
            side = run_side(tracer, frame, self.base, begin, stops, assumed, keeps=False)
        finally:
            del tracer.known[known:]
        self.run_sides.append(side)
        if carried is not None:
            undo_layouts(tracer, side, carried.arguments)
        if side.error is not None:
            why = f"an iteration of the loop raises ({type(side.error).__name__}: {side.error})"
            tracer.refuse("branch-unsupported", why=why)
        if side.problem is not None:
            raise side.problem
        if side.over:
            cannot_merge("branch-unsupported", why="an iteration ends a generator that waits within `try` or `with`")
        as_test(tracer, side, self.open)
        if side.pc not in self.loop.tests:
            raise LeftFromWithin
        return side

    # -- the operator

    def first_test(self) -> Any:
        """Return whether there is a first iteration."""
        return self.predicate if self.goes_if else self.tracer.predicates.negated(self.predicate)


def _has_other_shape(pair: Pair) -> bool:
    """Whether the first iteration gives a tensor another shape, other than by making it longer."""
    if pair.kind != "tensor" or pair.growth is not None:
        return False
    known = [sizes for sizes in zip(pair.left.shape, pair.right.shape) if set(map(type, sizes)) == {int}]
    return any(one != other for one, other in known)
