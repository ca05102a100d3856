"""Loops of a known length, `for _ in range(50):`, that data end early by `break` or `return`, or that branch on data.

If a loop that data end is unrolled, each iteration is a branch within that of the iteration before. From `MANY`
iterations on it becomes one while_loop, like a loop whose length is known at run time only. So does one with `BRANCHES`
branches on data in all its iterations together (a scan, where it has a gradient or adds to lists). If it cannot (its
gradient is needed, or Python needs the iteration number), the attempt is undone, and the loop is unrolled after all.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

import torch
from torch import fx

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.holders import replace_everywhere
from dynamo_lite.control_flow.loops.counted import MANY, Counter, Iterations, LaterIterations, TableIterations
from dynamo_lite.control_flow.loops.fixed import iterations_of
from dynamo_lite.control_flow.states import CannotMerge, FirstIterationDiffers, FrameState, LeftFromWithin
from dynamo_lite.control_flow.undoing.first_reads import FirstReads
from dynamo_lite.interpreter.code.decode import info_of
from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.datamodel.protocols import iter_
from dynamo_lite.interpreter.flow import flow_of
from dynamo_lite.interpreter.flow.loops import open_fors
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.tracing.diagnostics import Abort
from dynamo_lite.tracing.tensors.side_differences import SideDifferences

_TRIES = 3
"""How often the rest of one loop is tried."""
BRANCHES = 100
"""So many branches on data are not unrolled, if they need not be."""


class NotByData(CannotMerge):
    """The current iteration is not left by data, nor does it branch on data so often."""


class Bounded(Counter):
    """The iterator. `rest` is what all iterators of one loop share."""

    def __init__(self, of: Iterations, rest: UnrolledLoop, at: int = 0) -> None:
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
        if self.at < self.rest.length(self.of):
            frame.stack[-1] = self.later()
            frame.stack.append(self.rest.item(self.of, self.at))
        else:
            frame.stack.pop()
            frame.pc = target


class UnrolledLoop:
    """A loop that is unrolled, until it becomes an operator.

    Attributes:
        items: a list that the loop iterates over; None if the items are made when the first one is asked for.
        passed: how many iterations are run before the operator, if data do not end them.
        branches: how many there are, if it is unrolled, and data do not end it.
        tries: how many attempts were made to capture it as an operator.
        may_be_left: whether it has a way out beside its end.
        is_due: whether data may end the next iteration.
        given_up: why it is unrolled to its end.
    """

    def __init__(self, items: Sequence[Any] | None, may_be_left: bool) -> None:
        self.items = items
        self.may_be_left = may_be_left
        self.tries = 0
        self.passed = 0
        self.branches = 0
        self.is_due = True
        self.given_up = ""

    def length(self, of: Iterations) -> int:
        """How many items there are; a list may grow."""
        return of.count if self.items is None else len(self.items)

    def item(self, of: Iterations, at: int) -> Any:
        if self.items is None:
            self.items = of.items(of.count)
        return self.items[at]


def bounded(tracer: Forking, frame: Any, value: Any) -> Bounded | None:
    """The iterator of a loop over `value`, if it may be an operator. The current instruction is the loop's GET_ITER."""
    loop = _loop_of(frame)
    if loop is None:
        return None
    iterations = value if isinstance(value, Iterations) else iterations_of(tracer, value)
    if iterations is None:
        return None
    is_list = type(value) in (range, list, tuple)
    if is_list:
        iter_(tracer.vm, value)  # which reports its reads
    return Bounded(iterations, UnrolledLoop(value if is_list else None, may_be_left(*loop)))


def _same_numbers(now: Any, then: Any) -> bool:
    return len(now) == len(then) and all(
        a is b or (type(a) is type(b) and type(a) in (int, float) and a == b) for a, b in zip(now, then)
    )


def _loop_of(frame: Any) -> tuple[Any, int] | None:
    """The code of the loop that begins, and its FOR_ITER; None where something else takes the iterator."""
    handler, arg = frame.info.ops[frame.pc]
    if handler is HANDLERS["FOR_ITER"]:
        return frame.info, frame.pc
    callee = frame.stack[-2] if len(frame.stack) > 1 else None
    if handler is HANDLERS["CALL"] and arg == 0 and type(callee) is FunctionType:
        info = info_of(callee.__code__)
        if callee.__code__.co_name == "<listcomp>":
            return info, next(at for at, op in enumerate(info.ops) if op[0] is HANDLERS["FOR_ITER"])
    return None


def may_be_left(info: Any, at: int) -> bool:
    """Whether the loop with this FOR_ITER has a way out beside its end."""
    flow = flow_of(info)
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
        self.reads, self.layouts_differ = FirstReads.of(tracer.reads), tracer.layouts_differ
        self.notes, self.modules = tracer.noted(), set(recorder.modules)
        self.differ = tracer.own(SideDifferences).differ
        self.mark: Any = env.core.snapshot() if env is not None else None

    def put(self) -> None:
        tracer, recorder = self.tracer, self.tracer.recorder
        self.state.put(self.frame)
        self.reads.put(tracer.reads)
        tracer.layouts_differ, tracer.broken = self.layouts_differ, None
        tracer.own(SideDifferences).differ = self.differ
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
    except (FirstIterationDiffers, NotByData) as error:
        rest.is_due = type(error) is FirstIterationDiffers
        rest.passed += rest.is_due and not rest.may_be_left
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
    for owner, grown in reversed(loop.replaced):  # unrolled, the loop adds to lists as they are
        replace_everywhere(tracer, grown, owner)
    return False, None


def is_due(iterator: Bounded) -> bool:
    """Whether to try."""
    rest = iterator.rest
    if not (
        rest.is_due and not rest.given_up and rest.tries < _TRIES and rest.length(iterator.of) - iterator.at >= MANY
    ):
        return False
    if not all(_same_numbers(given, values) for given, values in iterator.of.lists()):
        return False  # the list has changed
    return rest.may_be_left or iterator.at == rest.passed


def counter_of(iterator: Bounded) -> Bounded:
    """Return the counter of the operator: the iterator, or, behind a first iteration that is run before the loop, one
    whose first iteration has the number 0."""
    rest = iterator.rest
    return Bounded(LaterIterations(iterator.of), rest) if rest.passed and not rest.may_be_left else iterator


def numbers_of(counter: Bounded, at: Any, item: Any) -> frozenset[Any]:
    """Return the symbols of an iteration's number, where it may not choose among items: unrolled, it would take one."""
    if counter.rest.may_be_left:
        return frozenset()
    is_table = type(counter.of) is TableIterations and set(map(type, counter.of.values)) == {int}
    env: Any = counter.of.tracer.recorder.env
    numbers = [number for number in (at, item if is_table else 0) if type(number) is torch.SymInt]
    return frozenset(symbol for number in numbers for symbol in symbols_of(env.unwrap(number)))


def branches(level: Any) -> int:
    """How many branches an iteration records."""
    graphs = [level.graph]
    for module in level.modules.values():
        graphs += [part.graph for part in module.modules() if isinstance(part, fx.GraphModule)]
    return sum(len(graph.find_nodes(op="call_function", target=torch.ops.higher_order.cond)) for graph in graphs)


def check_worth(counter: Bounded, level: Any) -> None:
    """Check that a loop which data do not end is better an operator. Raises NotByData."""
    rest = counter.rest
    rest.branches = branches(level) * counter.of.count
    if (rest.may_be_left and counter.at) or rest.branches < BRANCHES:
        raise NotByData("branch-unsupported", why="its iterations are not left by data")
