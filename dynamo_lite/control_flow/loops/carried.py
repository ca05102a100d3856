"""The values that a loop carries between iterations, and one iteration on fake values for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.control_flow.differences import answers, layouts, same_memory
from dynamo_lite.control_flow.emission import changed_tensors, decode, note_shared
from dynamo_lite.control_flow.facts import facts_of
from dynamo_lite.control_flow.gradients import Required
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.buffers import Buffers
from dynamo_lite.control_flow.lists.growth import Growth, entered
from dynamo_lite.control_flow.loops import known_tests, relaid
from dynamo_lite.control_flow.loops.counted import Counter
from dynamo_lite.control_flow.loops.growing import Growing, growing_of
from dynamo_lite.control_flow.loops.rebound import Rebound
from dynamo_lite.control_flow.merge import Differs, Merge, Pair, Plan
from dynamo_lite.control_flow.places import plan_frame, plan_place, write_heap
from dynamo_lite.control_flow.states import BeginsAgain, FrameState, LoopTest, OpenLoop, Side, cannot_merge
from dynamo_lite.interpreter.flow.loops import Loop
from dynamo_lite.symbolic_shapes import Origin
from dynamo_lite.symbolic_shapes.expressions.relations import ge
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


class LessRegular(BeginsAgain):
    """A tensor grows differently in a later iteration than in the first."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self.place = place


class Unflagged(BeginsAgain):
    """An iteration leaves a tensor that may be another one, which the iterations before did not."""


class Carried:
    """The merge of the state before and after one iteration, and the tensors changed in place.

    `before` has the values known to be carried when the iteration was run on fake values; None for the first iteration,
    which runs on the program's own values. If set, `is_covered` is whether the iteration changes nothing else, and
    `outputs` are the values after it, one for each of `before.merge.pairs`. growths: the lists that the iteration
    appends to. is_scan: the iteration number is not a carried value, and there is no test. number: numbers the
    iterations; the loop's iterator (`counter`), if any. is_counting: additions to lists are left out. wanted: lists
    whose last item is used. loose: places of tensors whose length is less regular than in the first iteration.
    """

    def __init__(self, tracer: Forking, frame: Any, base: FrameState, side: Side, loop: Loop, counter: Counter | None,
                 live: int, before: Carried | None, growths: list[Growth], is_scan: bool,
                 growing: dict[Any, Growing] | None = None, number: Counter | None = None,
                 is_counting: bool = False, wanted: Sequence[Any] = (),
                 opened: OpenLoop | None = None, loose: Sequence[str] = ()) -> None:  # fmt: skip
        self.tracer, self.frame, self.base, self.loop = tracer, frame, base, loop
        self.counter, self.live, self.before, self.side = counter, live, before, side
        self.number, self.is_counting, self.with_last_items, self.loose = number, is_counting, wanted, loose
        self.going = opened.going if opened is not None else {}
        self.opened = opened
        self.kept: dict[int, int] = {}  # the pair of a tensor → that of whether it is the one from before the loop
        self.growths, self.is_scan = growths, is_scan
        self.growing = growing  # by what a pair begins with and its place, where it is known
        self.lengths: dict[int, int] = {}  # the pair of a tensor that grows → that of its length, if that is carried
        self.fakes: list[Any] = []
        self.tests: list[int] = []  # the pairs of which an iteration may know the truth (known_tests.py)
        self.relaid: set[int] = set()  # the pairs of tensors that are carried contiguous (relaid.py)
        self.required: list[Required] = []  # which of the results require grad, once they are known
        self.entry: Any = None  # the state at the beginning of an iteration on fake values
        assert side.state is not None
        goes = side.state.stack.pop()
        assert type(goes) is LoopTest
        self.goes, self.test = goes, goes.value
        self.inplace = self._changed()
        self.merge = self._merged(before.entry if before is not None else None)
        if before is not None:
            fakes = {id(value): index for index, value in enumerate(before.fakes)}
            rows = {fakes.get(id(pair.left)): pair for pair in self.merge.pairs}
            known = {id(tensor) for tensor in before.inplace}
            self.is_covered = None not in rows and {id(tensor) for tensor in self.inplace} <= known
            values = before.fakes
            self.outputs = [rows[index].right if index in rows else values[index] for index in range(len(values))]

    def _changed(self) -> list[Any]:
        found = changed_tensors(self.tracer, [self.side.level], "a loop on data")
        earlier = self.before.inplace if self.before is not None else []
        return found + [tensor for tensor in earlier if all(tensor is not other for other in found)]

    def _merged(self, start: Any) -> Merge:
        """Merge the state at the beginning (the program's own values, or fake ones) and the state at the end."""
        tracer, side = self.tracer, self.side
        merge = Merge(lambda obj: False, native=False)
        made = self.before.merge.containers if self.before is not None else ()
        merge.rebound = Rebound(tracer, self.frame, self.base, side, self.live, made)
        variables, stack = start[0] if start is not None else (self.base.locals, self.base.stack)
        if self.counter is not None:
            stack = stack[:-1]
        if self.number is not None:
            at = start[2] if start is not None else self.number.at
            if not self.is_scan:
                merge.pair("int64", at, at + 1)
        left_by = self.goes.left_by if not self.is_scan else ()
        for index, way in enumerate(left_by):
            merge.pair("predicate", start[3][index] if start is not None else False, way)
        self.exit_flags = range(len(merge.pairs) - len(left_by), len(merge.pairs))
        assert side.state is not None
        before = FrameState(variables, stack, unmerged=self.base.unmerged)
        after = FrameState(list(side.state.locals), list(side.state.stack), unmerged=side.state.unmerged)
        plan = plan_frame(self.frame, merge, before, after, self.loop.leave, self.live)
        self.put_frame, self.unmergeable = plan.put, plan.unmergeable
        self.rows = []
        for key, (snapshot, contents) in side.heap.items():
            initial = start[1].get(key, snapshot.contents) if start is not None else snapshot.contents
            place = plan_place(tracer, merge, snapshot._replace(contents=initial), initial, contents)
            self.rows.append(place._replace(snapshot=snapshot))
        self._plan_lasts(merge, start is None)
        if not self.is_scan:
            with facts_of(tracer, side):
                self._find_growing(merge, start)
            self._find_kept(merge, start is None)
        return merge

    def _plan_lasts(self, merge: Merge, is_first: bool) -> None:
        """The last items of lists. is_first: in terms of the program's own values."""
        self.lasts: dict[int, Plan] = {}
        for growth in self.growths:
            if not any(growth.owner is owner for owner in self.with_last_items):
                continue
            merge.place = "the last item of a list"
            before = growth.last_before() if is_first or growth.earlier is None else growth.earlier.last
            if growth.last is MISSING:
                cannot_merge("branch-unsupported", why="an iteration uses the last item of a list, which may not exist")
            try:
                self.lasts[id(growth.owner)] = merge.plan(before, growth.last)
            except Differs as error:
                why = f"an iteration uses the last item of a list that gets different ones: {error.why}"
                cannot_merge("branch-unsupported", why=why)

    def _find_growing(self, merge: Merge, start: Any) -> None:
        """Find the tensors that each iteration makes longer."""
        for index, pair in enumerate(list(merge.pairs)):
            length = None
            if self.before is not None:
                at = next((i for i, value in enumerate(self.before.fakes) if value is pair.left), None)
                pair.growth = self.before.merge.pairs[at].growth if at is not None else None
                length = self.before.fakes[self.before.lengths[at]] if at in self.before.lengths else None
                if pair.growth is not None and not pair.growth.is_kept(self.tracer, self.going, pair.right, start[2]):
                    raise LessRegular(pair.place)
            elif self.growing is not None:
                pair.growth = self.growing.get((id(pair.left), pair.place))
            else:
                pair.growth = growing_of(self.tracer, pair, self.number, self.going)
                for _ in range(self.loose.count(pair.place)):
                    pair.growth = pair.growth and pair.growth.looser()
            if pair.growth is not None and not pair.growth.is_exact:
                dim = pair.growth.dim
                self.lengths[index] = len(merge.pairs)
                merge.place = f"the length of {pair.place}"
                merge.pair("int64", pair.left.shape[dim] if length is None else length, pair.right.shape[dim])

    def _find_kept(self, merge: Merge, is_first: bool) -> None:
        """Carry whether tensors are those from before the loop, in a run that tells them apart by flags."""
        may_share, opened = self.tracer.recorder.may_share, self.opened
        assert may_share is not None
        if opened is None or self.growths or not may_share.has_flags:
            may_share.left_open |= not may_share.has_flags
            return
        rows = [(index, pair) for index, pair in enumerate(merge.pairs) if pair.kind == "tensor"]
        is_union = self.growing is not None  # the iteration ran on other values
        found: list[Any] = [(None, [()])] * len(rows)
        if not is_union:
            found = same_memory.kept_by_iteration(self.tracer, self.side, [(pair.left, pair.right) for _, pair in rows])
        places = [pair.place for _, pair in rows]
        odd = {pair.place for (_, pair), kept in zip(rows, found) if kept is None or pair.growth is not None}
        odd |= {place for place in places if places.count(place) > 1}
        if not is_first and not odd <= opened.unflagged:
            opened.unflagged |= odd
            raise Unflagged
        opened.unflagged |= odd
        for (index, pair), kept in zip(rows, found):
            if pair.place in opened.unflagged:
                continue
            flag: Any = True
            if self.before is not None:
                at = next((i for i, value in enumerate(self.before.fakes) if value is pair.left), None)
                flag = self.before.fakes[self.before.kept[at]] if at in self.before.kept else True
            now = True if is_union else same_memory.is_kept(self.tracer, self.side, kept[1], flag)
            self.kept[index] = len(merge.pairs)
            merge.place = f"whether {pair.place} is the same"
            merge.pair("predicate", flag, now)

    def length(self, index: int, values: Sequence[Any]) -> Any:
        """How long a tensor that grows is. values: those of all pairs, at one time."""
        return values[self.lengths[index]] if index in self.lengths else self.merge.pairs[index].growth.most(values[0])

    def gives_gradients(self) -> bool:
        """Return whether an iteration makes a tensor require grad that does not before it."""
        pairs = [pair for pair in self.merge.pairs if is_tensor(pair.left) and is_tensor(pair.right)]
        changes = [(pair.left.requires_grad, pair.right.requires_grad) for pair in pairs]
        changes += [(tensor.requires_grad, self.side.requires_grad(tensor)) for tensor in self.inplace]
        return any(before is not after for before, after in changes)

    def union(self) -> Carried:
        """All that is known to be carried, in terms of the program's own values before the loop."""
        if self.before is None:
            return self
        assert self.side.state is not None
        self.side.state.stack.append(self.goes)
        known = {(id(pair.left), pair.place): pair.growth for pair in self.before.merge.pairs}
        made = Carried(self.tracer, self.frame, self.base, self.side, self.loop, self.counter, self.live, None,
                       self.growths, self.is_scan, known, self.number, self.is_counting,
                       self.with_last_items, self.opened, self.loose)  # fmt: skip
        made.inplace = self.inplace
        return made

    @property
    def items(self) -> list[torch.Tensor]:
        """Return the tensors of the items that the iteration added to lists."""
        return [tensor for growth in self.growths for tensor in growth.added]

    def rows_of(self, found: Carried) -> list[Row]:
        """For each carried tensor without a flag: its fake tensor may be the value before the loop, or that after an
        iteration."""
        rows = enumerate(zip(self.merge.pairs, self.fakes, found.outputs))
        return [
            ([fake], [pair.left, value])
            for index, (pair, fake, value) in rows
            if pair.kind == "tensor" and index not in self.kept
        ]

    def told(self, values: Sequence[Any], tensors: Sequence[Any]) -> dict[int, Any]:
        """The fake tensor of each carried one that has a flag, by its id → the flag among `values`."""
        return {id(tensors[index]): values[at] for index, at in self.kept.items()}

    # -- one iteration on fake values

    def prepare(self) -> None:
        """Make examples of the values of a later iteration."""
        recorder = self.tracer.recorder
        with unrecorded(), recorder.fake_mode:
            self.predicate_example = torch.empty((), dtype=torch.bool)
        self.relaid |= relaid.before_iterations(self)
        self.examples = [_example(self.tracer, pair, at in self.relaid) for at, pair in enumerate(self.merge.pairs)]
        self.buffers = None
        if self.growths and not self.is_scan and not self.is_counting:
            assert self.number is not None
            self.buffers = Buffers(self.tracer, self.growths, self.number)

    def enter(self, level: Level) -> Any:
        """Put fake values in place of the values that change, in the sub-graph of the body. Returns the counter's."""
        tracer, recorder = self.tracer, self.tracer.recorder
        self.arguments: list[tuple[Any, Any]] = []
        if not self.is_scan:
            recorder.levels.argument(self.predicate_example, "predicate_1")
        for index, example in enumerate(self.examples):
            recorder.levels.argument(example, f"arg{index}_1")
        for index, tensor in enumerate(self.inplace):
            recorder.levels.argument(tensor, f"changed{index}_1")
            self.arguments.append((level.arguments[-1], tensor))
            level.own_storages.discard(storage_key(tensor))
        if self.buffers is not None:
            self.buffers.enter()
        self.fakes = [decode(tracer, pair.kind, e) for pair, e in zip(self.merge.pairs, self.examples)]
        known_tests.assume(tracer, [self.fakes[index] for index in self.tests], bool(self.goes.goes_if))
        counter = self._assume_range(level)
        for index, pair in enumerate(self.merge.pairs):
            if pair.growth is not None:
                length = self.length(index, self.fakes)
                if not pair.growth.is_exact:
                    pair.growth.assume(tracer, length, counter)
                self.fakes[index] = pair.growth.seen(self.examples[index], length)
        carried = [(i, p, s) for i, (p, s) in enumerate(zip(self.merge.pairs, self.fakes)) if p.kind == "tensor"]
        for _, pair, fake in carried:
            answers.note(tracer, pair.left, pair.right, fake)
        note_groups(tracer, [([s], [p.left, p.right]) for i, p, s in carried if i not in self.kept])
        for index, at in self.kept.items():
            same_memory.note_kept(tracer, self.fakes[index], self.merge.pairs[index].left, self.fakes[at])
        self.put(self.fakes, leave=False)
        passed = counter - self.number.at if self.number is not None else None
        entered(tracer, self.growths, passed, {owner: last() for owner, last in self.lasts.items()})
        heap = {(id(row.snapshot.owner), row.snapshot.part): row.snapshot.current() for row in self.rows}
        ways = [self.fakes[index] for index in self.exit_flags]
        self.entry = ((list(self.frame.locals), list(self.frame.stack)), heap, counter, ways)
        return counter

    def _assume_range(self, level: Level) -> Any:
        """Assume that the number is below the end, within the iteration only: run_side takes the facts back."""
        counter, env = self.number, self.tracer.recorder.env
        if counter is None:
            return None
        assert env is not None
        if self.is_scan:
            with unrecorded(), self.tracer.recorder.fake_mode:
                self.number_example = torch.empty((), dtype=torch.int64)
            self.tracer.recorder.levels.argument(self.number_example, "round_1")
            self.number_node = level.arguments[-1]
            at = self.tracer.predicates.item(self.number_example)
        else:
            at = self.fakes[0]
        origin = Origin("user line", note="the counter of a loop")
        relations = [ge(env.unwrap(at), counter.at), *counter.of.relations(at)]
        if self.counter is not None and self.counter is not counter:
            relations += self.counter.of.relations(at + self.counter.at)
        for relation in relations:
            env.core.assume(relation, origin, "axiom")
        if not self.is_scan:  # again for torch's decompositions, which do not know the initial value
            recorder = self.tracer.recorder
            holds = recorder.lower_symbolic(env.wrap(ge(env.unwrap(at), counter.at)))
            args = holds, "the number of an iteration is below that of the first"
            recorder.call_node(torch.ops.aten._assert_scalar.default, args, {}, "_assert_scalar")
        return at

    def put(self, results: Sequence[Any], leave: bool) -> None:
        """Give the frame and the heap the values made of `results`. leave: it continues after the loop."""
        self.merge.give([*results])
        self.put_frame()
        self.merge.fill()
        self.frame.pc = self.loop.leave if leave else self.loop.again
        if self.counter is not None and not leave:
            self.frame.stack.append(self.counter)
        write_heap(self.tracer, self.rows)


def _example(tracer: Forking, pair: Pair, is_plain: bool) -> Any:
    """Return a fake value for a later value of a carried one. is_plain: it is contiguous."""
    recorder, kind, left = tracer.recorder, pair.kind, pair.left
    if pair.growth is not None:
        return pair.growth.example(tracer)
    if kind != "tensor":
        with unrecorded(), recorder.fake_mode:
            return torch.empty((), dtype=torch.bool if kind == "predicate" else getattr(torch, kind))
    fake = recorder.guarded(recorder.lift, left)
    with unrecorded():
        made: Any = fake.clone(memory_format=torch.contiguous_format if is_plain else torch.preserve_format)
    made.constant = None  # that of the first iteration
    return made


def note_results(
    tracer: Forking,
    rows: Sequence[tuple[Any, ...]],
    others: Sequence[Any],
    predicate: Any,
    added: Iterable[tuple[Any, Any]],
    told: Mapping[int, Any] = MappingProxyType({}),
) -> None:
    """Record what the results of a loop may alias in eager. A row: the initial value, the fake tensor for a later one,
    the value after an iteration, the result. others: outer values that the iterations use. predicate: whether there is
    a first iteration; None if there always is. added: (an item that an iteration added to a list, all such items).
    flags: id of the fake tensor for a later value → whether the result is the initial value.

    If each iteration makes a new tensor, the result is the initial value only if there is no iteration; if it makes one
    for several places, their results are the same tensor if there is an iteration.
    """
    may_share = tracer.recorder.may_share
    assert may_share is not None
    for left, _, made_of, result in rows:
        answers.note(tracer, left, made_of, result)
        layouts.compare(tracer, left, made_of, result)

    def fake(tensor: Any) -> Any:
        return tracer.recorder.known_fake(tensor)

    known = {storage_key(fake(t)) for t in (*others, *(t for row in rows for t in row[:2])) if is_tensor(t)}
    predicate = fake(predicate) if is_tensor(predicate) else predicate
    made = [fake(row[2]) for row in rows]
    grouped: list[Row] = [([whole], [item]) for item, whole in added]
    if grouped:  # an item is the value of any carried one in its iteration
        note_groups(tracer, [*grouped, *(([row[1], row[3]], [row[0], row[2]]) for row in rows)])
        return
    first = dict[int, Any]()
    for row, output in zip(rows, made):
        if id(row[1]) in told:
            same_memory.note_kept(tracer, row[3], row[0], told[id(row[1])])
            continue
        key, left, result = storage_key(output), fake(row[0]), fake(row[3])
        is_shared = any(storage_key(other) == key for other in made if other is not output)
        is_twice = predicate is None and sum(other is output for other in made) > 1
        if is_shared or is_twice or known & {key, *may_share.others(output)}:
            grouped.append(([row[1], row[3]], [row[0], row[2]]))
        elif predicate is not None:
            may_share.note_branch(result, (first.setdefault(id(output), result), left), predicate)
    note_groups(tracer, grouped)


Row = tuple[list[Any], list[Any]]
"""(tensors that a loop carries or returns, tensors that they may be in eager)"""


def note_groups(tracer: Forking, rows: Sequence[Row]) -> None:
    """Record that a carried value may be, after some iterations, an earlier value of another that it is taken from."""

    def keys(row: Row) -> set[int]:
        return {storage_key(tracer.recorder.known_fake(tensor)) for part in row for tensor in part}

    groups: list[Row] = []
    for row in rows:
        near = [group for group in groups if keys(row) & keys(group)]
        groups = [group for group in groups if all(group is not other for other in near)]
        groups.append(([t for made, _ in (*near, row) for t in made], [t for _, of in (*near, row) for t in of]))
    for made, of in groups:
        for tensor in made:
            note_shared(tracer, tensor, [*made, *of])
