"""A loop whose end depends on data, as torch's while_loop.

    cond_fn(predicate, *carried, *buffers) -> predicate
    body_fn(predicate, *carried, *buffers, *operands) -> (predicate, *carried, *buffers)

The carried values are those of the variables, and the tensors that an iteration changes in place; the buffers have room
for the items added to lists (lists/buffers.py).
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.capture.graph import subgraph_calls, subgraphs
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.control_flow import gradients
from dynamo_lite.control_flow.emission import decode, record_loop, write_back
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.loops import relaid
from dynamo_lite.control_flow.loops.carried import Carried, note_results
from dynamo_lite.control_flow.loops.iteration_results import check_added, iteration_results
from dynamo_lite.control_flow.loops.scan import separate
from dynamo_lite.control_flow.notes import line_of
from dynamo_lite.control_flow.states import cannot_merge


def emit_while(loop: Any, carried: Carried, found: Carried) -> tuple[list[Any], list[torch.Tensor]]:
    """Record the while_loop of a DataLoop. Returns the carried values after it, and the items that iterations added to
    lists; for a loop that is run to count, the results of the operator, the first of which is the count."""
    tracer, recorder = loop.tracer, loop.tracer.recorder
    body, pairs, buffers = found.side.level, carried.merge.pairs, carried.buffers
    predicate = loop.first_test()
    nodes = iteration_results(tracer, carried, found)
    check_added(tracer, carried, found)
    examples = [carried.predicate_example, *carried.examples, *carried.inplace]
    examples += buffers.examples if buffers is not None else []
    condition, answer = _condition(tracer, examples)
    initial = _initial(tracer, predicate, carried)
    _check_gradient(loop, carried, found)
    body.may_mutate = False
    operands = recorder.guarded(subgraphs.operands_of, recorder, [condition, body])
    if loop.is_counting or loop.loses or not recorder.grad_enabled or _is_cut_off(carried):
        initial = gradients.without_gradients(tracer, [recorder.guarded(recorder.lift, value) for value in initial])
        operands = gradients.without_gradients(tracer, operands)
    else:
        operands = gradients.detached(tracer, operands)
    separate(tracer, initial, operands)
    names = ("while_loop_cond_graph_", "while_loop_body_graph_")
    modules = subgraph_calls.finish(recorder, [condition, body], [answer, tuple(nodes)], names)
    args = (*modules, tuple(initial), tuple(operands))
    op = torch.ops.higher_order.while_loop
    _, *results = record_loop(tracer, body, op, args, (*modules, tuple(examples)))
    loop.is_recorded = True
    if not recorder.grad_enabled:
        gradients.note_none(tracer, line_of(loop.frame, loop.at))
    if loop.is_counting:
        return results[: len(pairs)], []
    gradients.lose(tracer, carried.required, results, line_of(loop.frame, loop.at), loop.loses)
    write_back(tracer, carried.inplace, results[len(pairs) :], carried.required[len(pairs) :])
    values = [decode(tracer, pair.kind, result) for pair, result in zip(pairs, results)]
    for index, pair in enumerate(pairs):
        if pair.growth is not None:
            values[index] = pair.growth.at_end(tracer, values[index], carried.length(index, values))
    rows = zip(pairs, carried.fakes, found.outputs, values)
    tensors = [(pair.left, *others) for pair, *others in rows if pair.kind == "tensor"]
    added = buffers.rows(results[len(pairs) + len(carried.inplace) :], values[0]) if buffers is not None else []
    told = carried.told(values, carried.fakes)
    note_results(tracer, tensors, [value for _, value in body.captured], predicate, zip(found.items, added), told)
    return values, added


def _is_cut_off(carried: Carried) -> bool:
    """Whether it carries floating-point tensors through none of which a gradient flows in any call."""
    has_floats = any(map(gradients.is_differentiable, [*carried.examples, *carried.inplace]))
    return has_floats and not any(row.may for row in carried.required)


def _initial(tracer: Forking, predicate: Any, carried: Carried) -> list[Any]:
    """Return the initial values of the loop."""
    initial: list[Any] = [tracer.predicates.tensor(predicate)]
    for index, pair in enumerate(carried.merge.pairs):
        is_long = pair.growth is not None
        initial.append(pair.growth.carried(pair.left) if is_long else relaid.initial(carried, index))
    initial += carried.inplace
    return initial + (carried.buffers.initial() if carried.buffers is not None else [])


def _check_gradient(loop: Any, carried: Carried, found: Carried) -> None:
    """Reject a loop that needs a gradient: torch 2.13's gradient of while_loop is wrong."""
    if loop.is_counting:
        return
    if loop.has_gradient(carried, found):
        why = "it would become torch's while_loop, whose gradient torch 2.13 computes wrongly"
        cannot_merge("loop-gradient", why=why)
    gradients.check_loop(loop.tracer, [*(pair.left for pair in carried.merge.pairs), *found.outputs])


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
