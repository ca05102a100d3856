"""The iteration count of a `while` loop on data, for loops that need it before they are run.

These are loops that append to a list or make a tensor longer, and loops with a gradient: torch's while_loop carries
tensors of fixed size, and its scan iterates over a fixed number of rows. If a test other than that on data ends the
loop in any case (`while ids.shape[1] < 50`), room for that many iterations suffices. Otherwise the loop is run once
before, only to count. An iteration that draws random numbers is rejected; the first run changes copies.
"""

from __future__ import annotations

import math
from collections import Counter as Counts
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.alias_analysis import draws, only_computes, subgraphs
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.loops.carried import Carried
from dynamo_lite.control_flow.loops.counted import Counter, Iterations
from dynamo_lite.control_flow.loops.growing import Going, if_it_goes
from dynamo_lite.control_flow.merge import Pair
from dynamo_lite.control_flow.states import OpenLoop, cannot_merge
from dynamo_lite.interpreter.flow import FlowGraph
from dynamo_lite.symbolic_shapes import Origin
from dynamo_lite.symbolic_shapes.errors import ContradictoryFacts
from dynamo_lite.symbolic_shapes.expressions.relations import eq, not_

Counted = Sequence[tuple[Pair, torch.Tensor]]
"""The carried values of the counting run, and its results."""


class BoundedIterations(Iterations):
    """The iterations of a loop of which only the greatest number is known."""


def numbers(tracer: Forking, count: Any) -> Counter:
    """Return the counter of a loop of `count` iterations."""
    tracer.recorder.guarded(torch._check, count >= 0)
    return Counter(Iterations(tracer, count))


def check_repeatable(level: Level) -> None:
    """Check that an iteration gives the same results if it is run again. Raises CannotMerge."""
    graphs = [level.graph]
    for module in level.modules.values():
        graphs += [part.graph for part in module.modules() if isinstance(part, fx.GraphModule)]
    drawing = next((node for graph in graphs for node in graph.nodes if draws(node)), None)
    if drawing is not None:
        why = f"its iterations are counted before it is run, and they draw random numbers ({drawing.target})"
        cannot_merge("branch-unsupported", why=why)


def left_out(body: Level, results: list[Any], pairs: Sequence[Pair], counted: Counted) -> dict[int, torch.Tensor]:
    """Remove from an iteration the operators that only the test needs, which the counting run has answered: torch's
    scan has no gradient for numbers of the data. results: the nodes of the iteration's results, those of `pairs` first.

    Returns, by the index of a pair, the values that are not carried any more, as the counting run gave them.
    """
    times = Counts((id(pair.left), pair.place) for pair, _ in counted)
    known = {key: result for pair, result in counted if times[key := (id(pair.left), pair.place)] == 1}
    times = Counts((id(pair.left), pair.place) for pair in pairs)  # two entries with one initial value are ambiguous
    known = {key: result for key, result in known.items() if times[key] == 1}
    out = {index for index, pair in enumerate(pairs) if not _is_floating(pair) and (id(pair.left), pair.place) in known}
    while True:
        roots = [node for index, node in enumerate(results) if index not in out]
        calls = [node for node in body.graph.nodes if node.op == "call_function"]
        roots += [node for node in calls if not only_computes(node, body.modules)]
        needed = _with_inputs(roots)
        kept = {index for index in out if body.arguments[index] in needed}
        if not kept:
            break
        out -= kept
    for node in reversed(body.graph.nodes):
        if node.op == "call_function" and node not in needed:
            body.graph.erase_node(node)
    for index in sorted(out, reverse=True):
        body.graph.erase_node(body.arguments.pop(index))
        del results[index]
    for node in body.graph.find_nodes(op="call_function", target=torch.ops.higher_order.cond):
        _drop_unused_results(node, subgraphs(node, body.modules))
    return {index: known[id(pairs[index].left), pairs[index].place] for index in out}


def _drop_unused_results(cond: fx.Node, sides: Sequence[fx.GraphModule]) -> None:
    """Remove results of a torch.cond that only the test uses: a scan has no gradient for one that returns bools."""
    used = sorted({user.args[1] for user in cond.users})  # type: ignore[type-var]
    ends = [side.graph.output_node() for side in sides]
    if not used or len(used) == len(ends[0].args[0]):  # type: ignore[arg-type]
        return
    for side, end in zip(sides, ends):
        results: Any = end.args[0]
        end.args = (tuple(results[index] for index in used),)
        own = dict(side.named_children())
        for node in reversed(side.graph.nodes):
            if node.op == "call_function" and not node.users and only_computes(node, own):  # type: ignore[arg-type]
                side.graph.erase_node(node)
        side.recompile()
    for user in [*cond.users]:
        user.args = (cond, used.index(user.args[1]))
    for name in ("val", "tensor_meta"):
        if isinstance(cond.meta.get(name), (tuple, list)):
            cond.meta[name] = tuple(cond.meta[name][index] for index in used)


def _is_floating(pair: Pair) -> bool:
    return pair.kind == "tensor" and bool(pair.left.is_floating_point())


def _with_inputs(nodes: Iterable[fx.Node]) -> set[fx.Node]:
    """The nodes, and all that they are computed from."""
    todo = [*nodes]
    found = set(todo)
    while todo:
        new = [node for node in todo.pop().all_input_nodes if node not in found]
        found.update(new)
        todo += new
    return found


# -- a test that ends the loop in any case -----------------------------------------------------------------------------


def note_bound(
    tracer: Forking, flow: FlowGraph, loop: OpenLoop, test: int, value: Any, starts: dict[bool, int]
) -> None:
    """Record the facts at a jump on a number that hold if the loop continues, where every iteration passes the jump.

    starts: truth → the target of the jump.
    """
    env = tracer.recorder.env
    if env is None or type(value) is not torch.SymBool or loop.begin in loop.again or test in loop.again:
        return
    tests = {*loop.again}
    if flow.reach(loop.begin, {test}) & tests:
        return
    out = loop.stops - tests
    stays = [truth for truth in starts if starts[truth] in tests or flow.reach(starts[truth], out) & tests]
    if len(stays) == 1:
        relation = env.unwrap(value)
        loop.bounds.setdefault(test, []).append(relation if stays[0] else not_(relation))


def steps_of(tracer: Forking, carried: Carried, found: Carried, going: Going) -> Iterator[Any]:
    """Yield the facts at the beginning of each iteration about integers that change by a constant: `i += 1`."""
    env = tracer.recorder.env
    assert env is not None
    at, *others = carried.fakes
    for pair, value, after in zip(carried.merge.pairs[1:], others, found.outputs[1:]):
        if pair.kind == "int64" and type(value) is torch.SymInt:
            by = if_it_goes(tracer, going, after) - value
            step = by if type(by) is int else by.node.maybe_as_int()
            if step is not None:
                yield eq(env.unwrap(value), env.unwrap(pair.left + step * at))


def most_iterations(
    tracer: Forking, known: Iterable[Any], bounds: Mapping[int, Sequence[Any]], number: Any
) -> int | None:
    """Return the greatest possible number of iterations; None if it is not known.

    known: facts. bounds: facts about the `number` of an iteration that is not the last; if both sides of a branch run a
    test, each relation holds on one side only.
    """
    env, last = tracer.recorder.env, math.inf
    assert env is not None
    for (relation,) in (relations for relations in bounds.values() if len(relations) == 1):
        mark = env.core.snapshot()
        try:
            for fact in (*known, relation):
                env.core.assume(fact, Origin("user line", note="a test of a loop"), "axiom")
            last = min(last, env.core.bounds(env.unwrap(number))[1])
        except ContradictoryFacts:
            last = -1  # no iteration follows another
        finally:
            env.core.rollback(mark)
    return int(last) + 2 if last < math.inf else None
