"""A loop whose rounds are counted, as torch's scan: it has a gradient, and stacks what each round adds to lists.

    combine(*carried, *slices, *operands) -> (*carried, *added)

The slices are the number of the round, and rows: where a round takes `x.select(dim, number)` of a tensor from around,
it gets that row of `x` from the operator itself, so that the gradient of x is made row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph import subgraph_calls, subgraphs
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.graph.subgraphs import add_placeholder
from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.control_flow import gradients
from dynamo_lite.control_flow.emission import decode, encode, record_loop, write_back
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.loops import scan_gradient
from dynamo_lite.control_flow.loops.carried import Carried, note_groups, note_results
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


def emit_scan(loop: Any, carried: Carried, found: Carried) -> tuple[list[Any], list[torch.Tensor]]:
    """Record the scan of a DataLoop. Returns what the carried values are behind it, and what rounds added."""
    tracer, recorder, body, pairs = loop.tracer, loop.tracer.recorder, found.side.level, carried.merge.pairs
    count = carried.counter.of.count  # type: ignore[union-attr]
    recorder.guarded(torch._check, count >= 1)  # torch's scan needs a first round
    nodes = loop.outputs(carried, found)
    check_added(tracer, carried, found)
    numbered = carried.number_node
    rows = _rows(tracer, body, numbered, count)
    slices = [torch.arange(count)] if numbered in body.arguments else []
    initial = [encode(tracer, pair.kind, pair.left) for pair in pairs] + carried.inplace
    has_gradient = loop.has_gradient(carried, found)
    if has_gradient:
        _check_gradient(tracer, [*initial, *found.items], bool(slices))
    gradients.check_loop(tracer, [*(pair.left for pair in pairs), *found.outputs])
    body.may_mutate = False
    operands = recorder.guarded(subgraphs.operands_of, recorder, [body])
    if torch.is_grad_enabled() and not has_gradient:
        operands, rows = gradients.detached(tracer, operands), gradients.detached(tracer, rows)
    separate(tracer, initial, operands)
    slices += rows
    modules = subgraph_calls.finish(recorder, [body], [tuple(nodes)], ("scan_combine_graph_",))
    if has_gradient and (raised := scan_gradient.failure(tracer, modules[0], initial, slices, operands)) is not None:
        why = f"it would become torch's scan, and torch cannot make the gradient of such a round ({raised})"
        tracer.refuse("loop-gradient", why=why)
    args = (*modules, initial, slices, tuple(operands))
    with unrecorded():
        examples = (*modules, [*carried.examples, *carried.inplace], [recorder.stand_in(s) for s in slices])
    results = record_loop(tracer, body, torch.ops.higher_order.scan, args, examples)
    own, added = results[: len(initial)], results[len(initial) :]
    write_back(tracer, carried.inplace, own[len(pairs) :])
    states = zip(pairs, carried.stand_ins, found.outputs, own)
    groups = [(pair.left, *others) for pair, *others in states if pair.kind == "tensor"]
    note_results(tracer, groups, [value for _, value in body.captured], None, zip(found.items, added))
    return [decode(tracer, pair.kind, result) for pair, result in zip(pairs, own)], added


def _check_gradient(tracer: Forking, values: list[Any], is_numbered: bool) -> None:
    """What torch 2.13 raises an error for when the gradient of its scan is asked for."""
    why = "it would become torch's scan, which has no gradient where "
    if is_numbered:
        tracer.refuse("loop-gradient", why=why + "a round computes with its number otherwise than x[number]")
    if not all(value.is_floating_point() for value in values):
        tracer.refuse("loop-gradient", why=why + "it carries, or adds to a list, what is no floating-point tensor")


def check_added(tracer: Forking, carried: Carried, found: Carried) -> None:
    """What a round adds is a copy: no later round may change the tensor itself."""
    if not found.items:
        return
    note_groups(tracer, carried.rows_of(found))
    may_share, changed = tracer.recorder.may_share, found.side.level.changed
    assert may_share is not None
    for item in found.items:
        fake = tracer.recorder.known_stand_in(item)
        if changed & {storage_key(fake), *may_share.others(fake)}:
            why = "a tensor that a round of a loop adds to a list is changed in place by later rounds"
            tracer.refuse("branch-unsupported", why=why)


def _rows(tracer: Forking, body: Level, numbered: fx.Node, count: Any) -> list[torch.Tensor]:
    """Turn `operand.select(dim, number)` into a slice of its own. Returns the tensors that are sliced."""
    found: list[torch.Tensor] = []
    made: dict[tuple[fx.Node, int], fx.Node] = {}
    recorder = tracer.recorder
    operands = {node: value for node, value in body.captured if is_tensor(value)}
    numbers = [n for n in numbered.users if n.target is torch.ops.aten.item.default]
    for node in [user for number in numbers for user in number.users]:
        arguments: tuple[Any, ...] = (*node.args, None, None, None)
        operand, dim, number = arguments[:3]
        if node.target is not torch.ops.aten.select.int or number not in numbers or operand not in operands:
            continue
        outside = operands[operand]
        if storage_key(outside) in body.changed:
            continue
        key = operand, dim % outside.dim()
        if key not in made:
            rows = outside.movedim(key[1], 0).narrow(0, 0, count)
            found.append(rows)
            with recorder.levels.resumed(body):
                made[key] = add_placeholder(body.graph, f"row{len(made)}_1", body.arguments[-1])
                body.arguments.append(made[key])
                with unrecorded():
                    row = recorder.stand_in(rows).select(0, 0).clone()
                recorder.bind(row, made[key])
                recorder.keep.append(row)
        node.replace_all_uses_with(made[key])
        body.graph.erase_node(node)
    for number in numbers:
        if not number.users:
            body.graph.erase_node(number)
    if made and not numbered.users:
        body.arguments.remove(numbered)
        body.graph.erase_node(numbered)
    return found


def separate(tracer: Forking, initial: list[Any], operands: Sequence[Any]) -> None:
    """What the loop begins with has memory of its own, apart from what it reads."""
    recorder = tracer.recorder
    taken = {storage_key(recorder.lift(operand)) for operand in operands if is_tensor(operand)}
    for index, value in enumerate(initial):
        if is_tensor(value):
            key = storage_key(recorder.lift(value))
            if key in taken:
                initial[index] = value.clone()
            taken.add(key)
