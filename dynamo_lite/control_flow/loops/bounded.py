"""Loops of a known length, `for _ in range(50):`, that data end early by `break` or `return`.

If such a loop is unrolled, each iteration is a branch within that of the iteration before. From `MANY` iterations on it
becomes one while_loop, like a loop whose length is known at run time only. If it cannot (its gradient is needed, or
Python needs the iteration number), the attempt is undone, and the loop is unrolled after all.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.loops.counted import MANY, Counter, RangeRounds, Rounds, RowRounds, TableRounds
from dynamo_lite.control_flow.states import CannotMerge, FirstRoundDiffers, FrameState, LeftFromWithin
from dynamo_lite.control_flow.undoing.first_reads import FirstReads
from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.datamodel.protocols import iter_
from dynamo_lite.interpreter.flow import flow_of
from dynamo_lite.interpreter.flow.loops import open_fors
from dynamo_lite.tracing.diagnostics import Abort
from dynamo_lite.tracing.tensors.unlike_sides import UnlikeSides
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_TRIES = 3
"""How often the rest of one loop is tried."""


class NotByData(CannotMerge):
    """The current iteration is not left by data."""


class Bounded(Counter):
    """The iterator. `rest` is what all iterators of one loop share."""

    def __init__(self, of: Rounds, rest: Rest, at: int = 0) -> None:
        super().__init__(of, at)
        self.rest = rest
        self._later: Bounded | None = None

    def later(self) -> Bounded:
        """Return the iterator of the next iteration: one object, so that two sides that reached it agree."""
        if self._later is None:
            self._later = Bounded(self.of, self.rest, self.at + 1)
        return self._later

    def step(self, frame: Any, target: int) -> None:
        """Do the work of FOR_ITER."""
        if self.at < self.rest.length():
            frame.stack[-1] = self.later()
            frame.stack.append(self.rest.item(self.at))
        else:
            frame.stack.pop()
            frame.pc = target


class Rest:
    """A loop that is unrolled, until it becomes an operator.

    Attributes:
        items: the items that the loop iterates over.
        tries: how many attempts were made to capture it as an operator.
        is_due: whether data may end the next iteration.
        given_up: why it is unrolled to its end.
    """

    def __init__(self, items: Any) -> None:
        self.items = items
        self.tries = 0
        self.is_due = True
        self.given_up = ""

    def length(self) -> int:
        """How many items there are; a list may grow."""
        return len(self.items)

    def item(self, at: int) -> Any:
        return self.items[at]


def bounded(tracer: Forking, frame: Any, value: Any) -> Bounded | None:
    """The iterator of a loop over `value`, the current instruction being its GET_ITER, if data may end the loop."""
    if not _is_long(value) or not _may_be_left(frame):
        return None
    rounds = _rounds(tracer, value)
    if rounds is None:
        return None
    iterator = iter_(tracer.vm, value)  # which also reports its reads
    return Bounded(rounds, Rest(list(iterator) if is_tensor(value) else value))


def _is_long(value: Any) -> bool:
    if is_tensor(value):
        return value.dim() > 0 and type(value.shape[0]) is int and value.shape[0] >= MANY
    return type(value) in (range, list, tuple) and len(value) >= MANY


def _rounds(tracer: Forking, value: Any) -> Rounds | None:
    if is_tensor(value):
        return RowRounds(tracer, value, 0)
    if type(value) is range:
        return RangeRounds(tracer, value.start, value.stop, value.step)
    return TableRounds(tracer, tuple(value)) if set(map(type, value)) in ({int}, {float}) and _fit(value) else None


def _fit(values: Any) -> bool:
    return all(type(value) is float or -(2**63) <= value < 2**63 for value in values)


def _same_numbers(now: Any, then: Any) -> bool:
    return len(now) == len(then) and all(type(a) is type(b) and a == b for a, b in zip(now, then))


def _may_be_left(frame: Any) -> bool:
    """Whether the loop that begins has a way out beside its end."""
    if frame.info.ops[frame.pc][0] is not HANDLERS["FOR_ITER"]:
        return False
    flow, at = flow_of(frame.info), frame.pc
    target = flow.successors[at][1]
    blocked = {target, *open_fors(flow, at)}
    within = flow.reach(at + 1, {at, *blocked})
    body, todo = set(), [at]
    while todo:
        new = [index for index in flow.predecessors.get(todo.pop(), ()) if index in within and index not in body]
        body.update(new)
        todo += new
    out = {other for index in body for other in flow.successors[index]} - body - {at}
    return bool(out & flow.returning)


class Before:
    """The state to which a failed attempt is restored. (Iterations are undone anyway; nothing after the loop ran.)"""

    def __init__(self, tracer: Forking, frame: Any) -> None:
        self.tracer, self.frame, self.state = tracer, frame, FrameState.of(frame)
        recorder, env = tracer.recorder, tracer.recorder.env
        self.reads, self.unlike = FirstReads.of(tracer.reads), tracer.unlike_layouts
        self.notes, self.modules = tracer.noted(), set(recorder.modules)
        self.differ = tracer.own(UnlikeSides).differ
        self.mark: Any = env.core.snapshot() if env is not None else None

    def put(self) -> None:
        tracer, recorder = self.tracer, self.tracer.recorder
        self.state.put(self.frame)
        self.reads.put(tracer.reads)
        tracer.unlike_layouts, tracer.broken = self.unlike, None
        tracer.own(UnlikeSides).differ = self.differ
        tracer.forget_notes(self.notes)
        if recorder.env is not None:
            recorder.env.core.rollback(self.mark)
        made = recorder.modules.keys() - self.modules
        found = [n for n in recorder.graph.nodes if n.op == "get_attr" and n.target in made]
        for node in found:
            found += [user for user in node.users if user not in found]  # operators, and what is made of their results
        for node in reversed([n for n in recorder.graph.nodes if n in found]):
            recorder.graph.erase_node(node)
        for name in made:
            del recorder.modules[name]


def captured(tracer: Forking, loop: Any, iterator: Bounded) -> tuple[bool, Any]:
    """Try to capture a DataLoop over the rest of `iterator` as an operator; return (whether it succeeded, the result of
    the handler)."""
    rest = iterator.rest
    rest.tries += 1
    rest.is_due = False
    before = Before(tracer, loop.frame)
    try:
        return True, loop.capture()
    except (FirstRoundDiffers, NotByData) as error:
        rest.is_due = type(error) is FirstRoundDiffers
    except LeftFromWithin:
        if loop.is_recorded:
            raise
        rest.given_up = "an outer loop is left, or a block of `with` or `try`"
    except CannotMerge as error:
        rest.given_up = str(error.names["why"])
    except Abort as abort:
        if loop.is_recorded:
            raise
        rest.given_up = str(abort.error).splitlines()[0]
    before.put()
    return False, None


def is_due(iterator: Bounded) -> bool:
    """Whether to try."""
    rest = iterator.rest
    many = rest.length() - iterator.at >= MANY
    if isinstance(iterator.of, TableRounds) and not _same_numbers(rest.items, iterator.of.values):
        return False  # the list has changed
    return rest.is_due and not rest.given_up and rest.tries < _TRIES and many
