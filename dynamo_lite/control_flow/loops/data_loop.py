"""A loop that goes round while data says so: torch's while_loop, of the bytecode of one round.

A round begins behind the test and ends with the next test, whose value is carried as well: so cond_fn is "the predicate
that was carried", and the test's own instructions are part of the body. What is carried is found by running a round:
places that it leaves with another value (merge.py says how), and tensors that it changes in place (carried.py). Then it
is run again on stand-ins for a later round, until nothing more is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph import subgraph_calls, subgraphs
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.control_flow import gradients
from dynamo_lite.control_flow.branches import as_test
from dynamo_lite.control_flow.emission import (
    assert_facts,
    changed_tensors,
    decode,
    encode,
    functionalise,
    is_unknown,
    output,
    record_loop,
    write_back,
)
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.growth import HasToGrow, grown, growths_of, left
from dynamo_lite.control_flow.loops.bounded import Bounded, NotByData
from dynamo_lite.control_flow.loops.carried import Carried, note_groups, note_results
from dynamo_lite.control_flow.loops.counted import Counter, LaterRounds
from dynamo_lite.control_flow.loops.exits import left_from_within
from dynamo_lite.control_flow.loops.scan import check_added, emit_scan, separate
from dynamo_lite.control_flow.merge import Differs, Pair
from dynamo_lite.control_flow.own_errors import reported
from dynamo_lite.control_flow.sides import keep_facts, opened, run_side
from dynamo_lite.control_flow.states import CannotMerge, FirstRoundDiffers, LeftFromWithin, OpenLoop, Side, State
from dynamo_lite.control_flow.undoing.first_reads import FirstReads
from dynamo_lite.control_flow.unlike import layouts
from dynamo_lite.interpreter.code.sentinels import UNBOUND
from dynamo_lite.interpreter.flow import flow_of
from dynamo_lite.interpreter.flow.loops import Loop, exits_of, open_fors
from dynamo_lite.symbolic_shapes.expressions.relations import ge
from dynamo_lite.tracing.vocabulary.symbolic_numbers import shape_text
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_ROUNDS = 8
"""How often a round is run until what it carries has settled."""
_OPERATOR = "a loop on data"


@dataclass
class DataLoop:
    """A loop at its test: `predicate` says whether it goes round for the first time."""

    tracer: Forking
    frame: Any
    predicate: Any
    loop: Loop
    counter: Counter | None = None

    def __post_init__(self) -> None:
        self.is_recorded = False
        self.is_left_by_data = False  # from some round on: it is no scan
        self.flow = flow_of(self.frame.info)
        self.at = self.frame.pc - 1
        self.base = State.of(self.frame)
        truths = {test: self.loop.goes_if(self.flow, test) for test in self.loop.tests} if self.counter is None else {}
        around = self.tracer.loop_of(self.frame)
        avoiding = open_fors(self.flow, self.at) | (around.stops if around is not None else set())
        exits = exits_of(self.flow, self.loop.again, self.loop.tests, self.loop.leave, avoiding)
        height = len(self.base.stack) - (self.counter is not None)
        loop = self.loop
        self.open = OpenLoop(self.frame, loop.tests, loop.leave, loop.beyond, truths, None, exits, height)
        self.live = self.flow.live(self.loop.again) | self.flow.live(self.loop.leave)
        for exit in exits:
            self.live |= self.flow.live(exit)

    def capture(self) -> Any:
        """Run rounds until what is carried is known, record the loop, and go on behind it. Returns what the jump's
        handler returns. Raises CannotMerge."""
        return reported(self.tracer, self._capture)

    def _capture(self) -> Any:
        tracer = self.tracer
        predicate = self.predicate
        if self.counter is None and not self.loop.goes_if(self.flow, self.at):
            predicate = tracer.predicates.negated(predicate)
        reads = FirstReads.of(tracer.reads)
        carried, found = self._settled()
        after = FirstReads.of(tracer.reads)  # no round may be run at all: it reads, and writes nothing first
        reads.joined(reads, after).put(tracer.reads)
        keep_facts(tracer, found.side, *found.side.new_facts)  # not of the first round: it is run on other values
        if carried.is_scan:
            results, added = emit_scan(self, carried, found)
        else:
            results, added = self._emit(predicate, carried, found)
        carried.put(results, leave=True)
        self._forget_filled()
        grown(tracer, carried.growths, added)
        tracer.made_dicts |= found.side.dicts
        tracer.branches.note_loop(self, carried)
        return left_from_within(tracer, self, [results[index] for index in carried.ways])

    def _forget_filled(self) -> None:
        """Variables that have no value behind the loop, where they are not used."""
        live = self.flow.live(self.loop.leave)
        for exit in self.open.exits:
            live |= self.flow.live(exit)
        for index in self.open.filled:
            if not live >> index & 1:
                self.frame.locals[index] = UNBOUND
                self.frame.unmerged = {**(self.frame.unmerged or {}), index: "it is not used behind the loop"}

    def _settled(self) -> tuple[Carried, Carried]:
        """(what is carried, the same after a round on stand-ins)."""
        carried: Carried | None = None
        settled = False
        for _ in range(_ROUNDS):
            if carried is not None:
                carried.prepare()
            try:
                with opened(self.tracer, self.frame, self.base) as base:
                    side = self._round(carried)
                    found = self._found(side, carried)
            except HasToGrow as grows:
                if grows.base is not base:
                    raise
                grows.make_grown(self.tracer)
                carried = None
                continue
            if found is None:
                carried, self.is_left_by_data = None, True
                continue
            if carried is None or not found.is_covered:
                carried = found.union()
            elif not side.level.changed or settled:
                return carried, found
            else:  # it changes tensors in place: once more, now that is known what they may share memory with
                note_groups(self.tracer, carried.rows_of(found))
                settled = True
        self.tracer.refuse("branch-unsupported", why="what the loop carries from round to round does not settle")

    def _found(self, side: Side, carried: Carried | None) -> Carried | None:
        """What the round says of what is carried; None if the loop is to be no scan, and tried again."""
        tracer = self.tracer
        assert side.state is not None
        growths = growths_of(tracer, side) if carried is None else left(tracer, side, carried.growths)
        is_scan = carried.is_scan if carried is not None else False

        def found() -> Carried:
            return Carried(tracer, self.frame, self.base, side, self.loop, self.counter, self.live, carried,
                           growths, is_scan)  # fmt: skip

        made = found()
        if carried is None and self._may_run_first_round():
            names = [repr(self.frame.info.names[index]) for index in made.unmergeable]
            names += [pair.place for pair in made.merge.pairs if _has_other_shape(pair)]
            if names:
                raise FirstRoundDiffers(
                    "branch-differs", what=f"{names[0]} different", why="the first round changes it"
                )
        is_longer = any(pair.grows is not None for pair in made.merge.pairs)
        if is_longer and self.has_gradient(made):
            why = "torch's while_loop, which it would become, has no right gradient, and a tensor grows with each round"
            raise CannotMerge("loop-gradient", why=why)
        if carried is None and (growths or self.has_gradient(made)):
            is_scan = self.counter is not None and made.test is self.next_test and not self.is_left_by_data
            is_scan = is_scan and not is_longer
            if is_scan and is_unknown(self.counter.of.count) and not self.has_gradient(made):  # type: ignore[union-attr]
                is_scan = False  # a scan needs a first round: with such a count the program would have to assert it
            if growths and self.counter is None:
                self.tracer.unrolled = "each round of a loop that data end adds to a list: the loop is unrolled"
                raise LeftFromWithin
            if is_scan:
                assert side.state is not None
                side.state.stack.append(made.goes)
                made = found()
        if isinstance(self.counter, Bounded):
            self._check_bounded(made, self.counter)
        if is_scan and made.test is not self.next_test:
            if self.has_gradient(made):
                why = "a loop that has a gradient is left by data from some round on"
                raise CannotMerge("branch-unsupported", why=why)
            return None
        if carried is not None and [g.items for g in growths] != [g.items for g in carried.growths]:
            raise CannotMerge("branch-unsupported", why="rounds of a loop add unlike items to a list")
        return made

    def _check_bounded(self, found: Carried, counter: Bounded) -> None:
        """A loop over what the program knows is unrolled, if data do not end it in this round, or where it would have
        no gradient."""
        if found.before is None and (type(found.test) is bool or found.test is self.next_test):
            raise NotByData("branch-unsupported", why="its first round is not left by data")
        if any(snapshot.owner is counter.rest.items for snapshot, _ in found.side.heap.values()):
            raise CannotMerge("branch-unsupported", why="it changes the list that it goes over")
        if self.has_gradient(found):
            raise CannotMerge("loop-gradient", why="torch 2.13 computes the gradient of its while_loop wrongly")

    def _may_run_first_round(self) -> bool:
        """Whether the first round can be taken out of the loop: it is known, or in the example, that there is one."""
        env = self.tracer.recorder.env
        if self.counter is None or env is None or isinstance(self.counter.of, LaterRounds):
            return False
        answer = self.counter.of.count >= 1
        if type(answer) is bool:
            return answer
        decided = env.decide_node(answer.node)
        return decided if decided is not None else bool(answer.node.has_hint() and answer.node.hint)

    def has_gradient(self, carried: Carried, found: Carried | None = None) -> bool:
        """Whether the gradient of the loop may be asked for."""
        return torch.is_grad_enabled() and gradients.requires_grad(self._differentiable(carried, found or carried))

    def _differentiable(self, carried: Carried, found: Carried) -> list[Any]:
        """What the loop gives, and what it may give."""
        values = [value for pair in (*carried.merge.pairs, *found.merge.pairs) for value in (pair.left, pair.right)]
        values += found.items
        if found.inplace:  # what is written may require grad
            values += [value for _, value in found.side.level.captured]
        return values

    def _round(self, carried: Carried | None) -> Side:
        tracer, counter, frame = self.tracer, self.counter, self.frame

        def begin(level: Level) -> None:
            tracer.loops.append(self.open)
            frame.pc = self.loop.again
            at: Any = counter.at if counter is not None else None
            if carried is not None:
                at = carried.enter(level)
            if counter is not None:
                self.next_test = at + 1 < counter.of.count
                self.open.next_test = lambda: self.next_test
                frame.stack.append(counter.of.item(at))

        around = tracer.loop_of(frame)  # where the loop around is tested or left, a round of this one stops too
        stops = self.open.stops | (around.stops if around is not None else set())
        side = run_side(tracer, frame, self.base, begin, stops, self._assumed(), keeps=False)
        if side.error is not None:
            why = f"a round of the loop raises ({type(side.error).__name__}: {side.error})"
            tracer.refuse("branch-unsupported", why=why)
        if side.problem is not None:
            raise side.problem
        as_test(tracer, side, self.open)
        if side.pc not in self.loop.tests:
            raise LeftFromWithin
        return side

    def _assumed(self) -> Any:
        """A round is run: the loop does not go over nothing."""
        env = self.tracer.recorder.env
        if self.counter is None or env is None:
            return None
        count = self.counter.of.count
        return ge(env.unwrap(count), 1) if type(count) is torch.SymInt else None

    # -- the operator

    def _emit(self, predicate: Any, carried: Carried, found: Carried) -> tuple[list[Any], list[torch.Tensor]]:
        """Record the while_loop. Returns what the carried values are behind it, and what rounds added to lists."""
        tracer, recorder = self.tracer, self.tracer.recorder
        body, pairs, buffers = found.side.level, carried.merge.pairs, carried.buffers
        nodes = self.outputs(carried, found)
        check_added(tracer, carried, found)
        examples = [carried.predicate_example, *carried.examples, *carried.inplace]
        examples += buffers.examples if buffers is not None else []
        condition, answer = _condition(tracer, examples)
        initial = [tracer.predicates.tensor(predicate)]
        for pair in pairs:
            is_long = pair.grows is not None
            initial.append(pair.grows.carried(pair.left) if is_long else encode(tracer, pair.kind, pair.left))
        initial += carried.inplace
        initial += buffers.initial() if buffers is not None else []
        self._check_gradient(carried, found)
        gradients.check_loop(tracer, [*(pair.left for pair in pairs), *found.outputs])
        body.may_mutate = False
        operands = recorder.guarded(subgraphs.operands_of, recorder, [condition, body])
        if not gradients.may_have(self._differentiable(carried, found)):
            operands = gradients.detached(tracer, operands)
        separate(tracer, initial, operands)
        names = ("while_loop_cond_graph_", "while_loop_body_graph_")
        modules = subgraph_calls.finish(recorder, [condition, body], [answer, tuple(nodes)], names)
        args = (*modules, tuple(initial), tuple(operands))
        op = torch.ops.higher_order.while_loop
        _, *results = record_loop(tracer, body, op, args, (*modules, tuple(examples)))
        self.is_recorded = True
        write_back(tracer, carried.inplace, results[len(pairs) :])
        values = [decode(tracer, pair.kind, result) for pair, result in zip(pairs, results)]
        for index, pair in enumerate(pairs):
            if pair.grows is not None:
                values[index] = pair.grows.at_end(tracer, values[index], carried.length(index, values))
        rows = zip(pairs, carried.stand_ins, found.outputs, values)
        tensors = [(pair.left, *others) for pair, *others in rows if pair.kind == "tensor"]
        added = buffers.rows(results[len(pairs) + len(carried.inplace) :], values[0]) if buffers is not None else []
        note_results(tracer, tensors, [value for _, value in body.captured], predicate, zip(found.items, added))
        return values, added

    def outputs(self, carried: Carried, found: Carried) -> list[Any]:
        tracer, body = self.tracer, found.side.level
        with tracer.recorder.levels.resumed(body):
            functionalise(tracer, body, carried.arguments)
            seen: set[int] = set()
            nodes = [] if carried.is_scan else [output(tracer, body, "predicate", found.test, seen, dense=False)]
            for pair, before, value in zip(carried.merge.pairs, carried.stand_ins, found.outputs):
                if pair.grows is not None:
                    pair.grows.check(tracer, value, carried.stand_ins[0])
                    nodes.append(output(tracer, body, "tensor", pair.grows.carried(value), seen, dense=False))
                    continue
                try:
                    _check_sizes(tracer, before, value)
                    nodes.append(output(tracer, body, pair.kind, value, seen, dense=_is_restrided(tracer, pair, value)))
                except Differs as error:
                    what = "a tensor of another shape after each round of a loop"
                    raise CannotMerge("branch-differs", what=what, why=error.why) from None
            nodes += [output(tracer, body, "tensor", t, seen, dense=False, is_own=True) for t in carried.inplace]
            added = found.items
            if carried.buffers is not None:
                added = carried.buffers.written(found.growths, carried.stand_ins[0])
            nodes += [output(tracer, body, "tensor", t, seen, dense=False) for t in added]
            assert_facts(tracer, found.side)
        changed_tensors(tracer, [body], _OPERATOR)
        for _, tensor in carried.arguments:
            if any(is_tensor(v) and storage_key(v) == storage_key(tensor) for _, v in body.captured):
                what = "a tensor changed in place, of which it also uses a view"
                tracer.refuse("subgraph-alias", operator=_OPERATOR, what=what)
        return nodes

    def _check_gradient(self, carried: Carried, found: Carried) -> None:
        """torch 2.13's gradient of while_loop is wrong: a program that would have one is none."""
        if self.has_gradient(carried, found):
            why = "it would become torch's while_loop, whose gradient torch 2.13 computes wrongly"
            self.tracer.refuse("loop-gradient", why=why)


def _condition(tracer: Forking, examples: list[Any]) -> tuple[Level, Any]:
    """The sub-graph of cond_fn: the predicate that is carried."""
    recorder = tracer.recorder
    keep: list[Any] = []
    with recorder.levels.entered() as level:
        for index, example in enumerate(examples):
            with unrecorded():
                example = example.clone() if index else example  # symbols in it are bound in the body
            recorder.levels.argument(example, f"arg{index}_1")
            keep.append(example)
        return level, recorder.node_of(examples[0].clone())


def _has_other_shape(pair: Pair) -> bool:
    """Whether the first round gives a tensor another shape, otherwise than by making it longer."""
    if pair.kind != "tensor" or pair.grows is not None:
        return False
    known = [sizes for sizes in zip(pair.left.shape, pair.right.shape) if set(map(type, sizes)) == {int}]
    return any(one != other for one, other in known)


def _check_sizes(tracer: Forking, before: Any, after: Any) -> None:
    """Raises Differs for a tensor whose sizes, which vary, are surely others after a round."""
    env = tracer.recorder.env
    if env is None or not (is_tensor(before) and is_tensor(after)) or before.dim() != after.dim():
        return
    for equal in (a == b for a, b in zip(before.shape, after.shape)):
        if (env.decide_node(equal.node) if type(equal) is torch.SymBool else equal) is False:
            raise Differs(f"{shape_text(before.shape)} before, {shape_text(after.shape)} after")


def _is_restrided(tracer: Forking, pair: Pair, value: Any) -> bool:
    if pair.kind != "tensor":
        return False
    a, b = pair.left, value
    layouts.compare(tracer, a, b)
    if [s for s in a.shape if type(s) is int] != [s for s in b.shape if type(s) is int]:
        raise Differs(f"{shape_text(a.shape)} before, {shape_text(b.shape)} after")
    return tuple(a.stride()) != tuple(b.stride())
