"""The results of a loop iteration, in the sub-graph of the operator."""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.control_flow.differences import layouts
from dynamo_lite.control_flow.emission import assert_facts, changed_tensors, functionalise, is_unknown, output
from dynamo_lite.control_flow.facts import facts_of
from dynamo_lite.control_flow.gradients import Required, of_iterations
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.loops.carried import Carried, note_groups
from dynamo_lite.control_flow.merge import Differs, Pair
from dynamo_lite.control_flow.states import cannot_merge
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.tracing.vocabulary.symbolic_numbers import shape_text
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_OPERATOR = "a loop on data"


def iteration_results(tracer: Forking, carried: Carried, found: Carried) -> list[Any]:
    """Return the nodes of an iteration's results, in its sub-graph: for a while_loop the test, the carried values, the
    tensors changed in place, and the items added to lists."""
    body = found.side.level
    with tracer.recorder.levels.resumed(body):
        own = zip(body.arguments[0 if carried.is_scan else 1 :], carried.examples)
        functionalise(tracer, body, [*own, *carried.arguments])  # torch's passes refuse a body that changes either
        seen: set[int] = set()
        nodes = [] if carried.is_scan else [output(tracer, body, "predicate", found.test, seen, dense=False)]
        for index, (pair, before, value) in enumerate(zip(carried.merge.pairs, carried.fakes, found.outputs)):
            if pair.growth is not None:
                with facts_of(tracer, found.side):
                    pair.growth.check(tracer, value, carried.fakes[0])
                nodes.append(output(tracer, body, "tensor", pair.growth.carried(value), seen, dense=False))
                continue
            try:
                _check_sizes(tracer, before, value)
                _check_layout(tracer, pair, value)
                nodes.append(output(tracer, body, pair.kind, value, seen, dense=index in carried.relaid))
            except Differs as error:
                what = "a tensor of another shape after each iteration"
                why = f"a tensor carried by the loop changes its size ({pair.place}: {error.why}): carry a mask of what"
                why += " is in it, or a tensor with room for all and their number"
                cannot_merge("branch-differs", what=what, why=why)
        nodes += [output(tracer, body, "tensor", t, seen, dense=False, is_own=True) for t in carried.inplace]
        added = found.items if not carried.is_counting else []
        if carried.buffers is not None:
            added = carried.buffers.written(found.growths, carried.fakes[0])
        nodes += [output(tracer, body, "tensor", t, seen, dense=False) for t in added]
        assert_facts(tracer, found.side)
        carried.required = _required(tracer, carried, body, nodes)
    changed_tensors(tracer, [body], _OPERATOR)
    for _, tensor in carried.arguments:
        if any(is_tensor(v) and storage_key(v) == storage_key(tensor) for _, v in body.captured):
            what = "a tensor changed in place, of which it also uses a view"
            tracer.refuse("subgraph-alias", operator=_OPERATOR, what=what)
    return nodes


def _required(tracer: Forking, carried: Carried, body: Level, nodes: list[Any]) -> list[Required]:
    """Which results of the loop require grad."""
    before = [*(pair.left for pair in carried.merge.pairs), *carried.inplace]
    first = 0 if carried.is_scan else 1
    rows = list(zip(body.arguments[first:], before, nodes[first:]))
    return of_iterations(tracer, body, rows, len(carried.inplace), nodes[first + len(before) :])


def check_added(tracer: Forking, carried: Carried, found: Carried) -> None:
    """Check that an item can be added as a copy: no later iteration may change the tensor itself."""
    if not found.items:
        return
    note_groups(tracer, carried.rows_of(found))
    may_share, changed = tracer.recorder.may_share, found.side.level.changed
    assert may_share is not None
    for item in found.items:
        fake = tracer.recorder.known_fake(item)
        if changed & {storage_key(fake), *may_share.others(fake)}:
            why = "a tensor that an iteration of a loop adds to a list is changed in place by later iterations"
            tracer.refuse("branch-unsupported", why=why)


def _check_sizes(tracer: Forking, before: Any, after: Any) -> None:
    """Raises Differs for a tensor whose sizes, which vary, change in an iteration, or may do so as data go."""
    env = tracer.recorder.env
    if env is None or not (is_tensor(before) and is_tensor(after)) or before.dim() != after.dim():
        return
    for equal in (a == b for a, b in zip(before.shape, after.shape)):
        known = env.decide_node(equal.node) if isinstance(equal, torch.SymBool) else equal
        if known is False or (known is None and any(map(is_unknown, (*before.shape, *after.shape)))):
            raise Differs(f"{shape_text(before.shape)} before, {shape_text(after.shape)} after")


def _check_layout(tracer: Forking, pair: Pair, value: Any) -> None:
    """Note whether a tensor is laid out differently before the loop. Raises Differs if it has another shape."""
    if pair.kind != "tensor":
        return
    a, b = pair.left, value
    layouts.compare(tracer, a, b)
    with DisableTorchFunction():  # it is not the program that asks
        if [s for s in a.shape if type(s) is int] != [s for s in b.shape if type(s) is int]:
            raise Differs(f"{shape_text(a.shape)} before, {shape_text(b.shape)} after")
