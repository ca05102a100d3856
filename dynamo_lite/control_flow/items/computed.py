"""Iterations whose items the program computes: `map(f, x.split(4))`, a generator that a `for` statement goes over.

An item is computed at the beginning of its iteration, where CPython's `next` computes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.items.consumed import as_function, take, unstarted
from dynamo_lite.control_flow.lists.grown import GrownList
from dynamo_lite.control_flow.loops.counted import Counter, Iterations, ZippedIterations
from dynamo_lite.interpreter.flow import END, FlowGraph, flow_of
from dynamo_lite.interpreter.frames.frame import RETURNED, Frame
from dynamo_lite.interpreter.frames.generators import frame_of, make_generator, run_to
from dynamo_lite.value_types import MUTABLE_CONTAINERS


def filtered(tracer: Forking, function: Any, of: Iterations) -> Any:
    """filter(function, of), which is a generator, since not each iteration gives an item."""
    made: Any = _filtered
    return tracer.vm.interpret_function(made, (function, of))


def _filtered(function: Any, iterable: Any) -> Any:
    """To be interpreted."""
    for item in iterable:
        if item if function is None else function(item):
            yield item


_MAY_BE_FILLED = (*MUTABLE_CONTAINERS, GrownList)


def _mapped(function: Any, rows: Any) -> Any:
    """map(function, *rows), to be interpreted."""
    for row in rows:
        yield function(*row)


class ComputedIterations(Iterations):
    """Iterations numbered like those of `of`."""

    def __init__(self, tracer: Forking, of: Iterations) -> None:
        super().__init__(tracer, of.count)
        self.of = of
        tracer.made_list = True  # where this is refused, it is tried with the example's lengths

    @property
    def computes(self) -> bool:
        return True

    def relations(self, at: Any) -> Iterator[Any]:
        return self.of.relations(at)

    def item(self, at: Any) -> Any:
        try:
            return self.computed(at)
        except Exception as error:
            self.refuse(f"an iteration of the loop raises ({type(error).__name__}: {error})")

    def computed(self, at: Any) -> Any:
        """Item number `at`, by the program's code."""
        raise NotImplementedError

    def refuse(self, why: str) -> Any:
        self.tracer.refuse("branch-unsupported", why=why)


class MappedIterations(ComputedIterations):
    """map(function, *parts)"""

    def __init__(self, tracer: Forking, function: Any, of: ZippedIterations) -> None:
        super().__init__(tracer, of)
        self.function = function

    def computed(self, at: Any) -> Any:
        return self.tracer.vm.call(self.function, self.of.item(at))

    def rest(self, count: int, passed: int) -> Any:
        mapped: Any = _mapped
        return self.tracer.vm.interpret_function(mapped, (self.function, self.of.rest(count, passed)))


class GeneratorIterations(ComputedIterations):
    """The items of a generator, each of which is one iteration of its loop. frame: at the head of that loop."""

    def __init__(self, tracer: Forking, frame: Frame, of: Iterations) -> None:
        super().__init__(tracer, of)
        self.frame = frame

    def computed(self, at: Any) -> Any:
        made = as_function(self.frame, "next")
        made.stack = [*self.frame.stack, self.of.item(at)]
        made.pc = self.frame.pc + 1
        return self.tracer.vm.run(made)

    def rest(self, count: int, passed: int) -> Any:
        made = _frame_at(self.frame, iter(self.of.rest(count, passed)), self.frame.pc)
        return make_generator(made, made.code.co_name, made.code.co_qualname)


def begun(tracer: Forking, frame_of_loop: Any, generator: Any) -> Counter | None:
    """The iterator of a `for` statement over a generator, which it asks for its first item now, if each item is one
    iteration of a loop that is captured. What stands before that loop is run, and the generator is at its end then."""
    head = _head_of(tracer, generator)
    frame = frame_of(generator)
    if frame is None or head is None:
        return None
    run_to(frame, {head})
    if frame.state == RETURNED:
        generator.close()
        return None
    counter = frame.stack[-1]
    holds_containers = any(type(held) in _MAY_BE_FILLED for held in frame.locals)  # which iterations might fill
    if type(counter) is not Counter or counter.at or len(frame.stack) > 1 or holds_containers:
        return None  # the generator goes on from here
    iterations = GeneratorIterations(tracer, _frame_at(frame, counter, frame.pc), counter.of)
    take(tracer, frame)
    made = frame_of_loop.stack[-1] = Counter(iterations)
    return made


def iterations_of_expression(tracer: Forking, generator: Any) -> Iterations | None:
    """The same of a generator expression that is not asked for an item yet. It is left as it is: to be taken over."""
    head = _head_of(tracer, generator)
    of = frame_of(generator)
    if head is None or of is None or of.code.co_name != "<genexpr>" or type(of.locals[0]) is not Counter:
        return None
    if of.locals[0].at or any(type(held) in _MAY_BE_FILLED for held in of.locals):
        return None
    return GeneratorIterations(tracer, _frame_at(of, of.locals[0], head), of.locals[0].of)


def _frame_at(of: Frame, iterator: Any, head: int) -> Frame:
    """Another frame like `of`, at the head of its loop, which goes over `iterator`."""
    made = Frame(of.vm, of.code, of.info, of.globals, of.builtins, [*of.locals])
    made.stack, made.pc, made.namespace = [iterator], head, of.namespace
    return made


def _head_of(tracer: Forking, generator: Any) -> int | None:
    frame = unstarted(generator) if tracer.makes_lists else None
    return None if frame is None or frame.code.co_cellvars else _head(flow_of(frame.info))


def _head(flow: FlowGraph) -> int | None:
    """The FOR_ITER of a generator each of whose iterations yields once, does nothing behind that, and leaves no
    variable to the next iteration; nothing comes behind the loop."""
    yields = [index for index, name in enumerate(flow.names) if name == "YIELD_VALUE"]
    if len(yields) != 1 or flow.names[yields[0] + 1] != "POP_TOP":
        return None
    head = flow.end_of_jumps(yields[0] + 2)
    if head == END or flow.names[head] != "FOR_ITER" or not _ends(flow, flow.successors[head][1]):
        return None
    body = flow.reach(head + 1, {*yields})
    if head in body or any(END in flow.successors[index] for index in body) or yields[0] in flow.reach(0, {head}):
        return None
    stores = {flow.args[index] for index in body if flow.names[index] == "STORE_FAST"}
    return None if any(flow.live(head) >> variable & 1 for variable in stores) else head


def _ends(flow: FlowGraph, at: int) -> bool:
    return flow.names[at] == "LOAD_CONST" and flow.names[at + 1] == "RETURN_VALUE"
