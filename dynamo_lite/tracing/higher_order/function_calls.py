"""The node of an autograd.Function: its results, tied to the tensors whose gradients its backward computes.

The operators of the forward are the program's own, in a region without gradients. They are followed by torch's operator
for Functions, whose forward only passes their results on:

    forward_graph_0 = self.forward_graph_0
    backward_graph_0 = self.backward_graph_0
    out = autograd_function_apply(forward_graph_0, backward_graph_0, x, result, saved, non_differentiable_idx=[-1], ...)

Its forward returns (results, saved values), and its backward gets (gradients of the results, saved values) and returns
a gradient, or None, for each operand. torch.export.load reads no output of a sub-graph that is a tuple, so several
values are the one result of a call in there (`_packed`), whose metadata is that of a tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import fx

from dynamo_lite.capture.graph import subgraph_calls
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.graph.subgraphs import add_placeholder
from dynamo_lite.capture.interfaces import OperatorRecording
from dynamo_lite.torch_internals._torch_autograd import autograd_function_apply, wrap_with_set_grad_enabled

_NONE = -1
"""The number of no result: torch.export.save warns of an empty list, whose type it does not know."""


class FunctionCall(NamedTuple):
    """The values of one call of a Function, as nodes.

    inputs: those that a gradient may flow to, one for each argument.
    results: those that a gradient may flow through, as they came out of the forward.
    dirty: the numbers of results that are inputs, changed in place; single: the result is a tensor, not a tuple.
    backward: the sub-graph (gradients of the results → gradients of `inputs`), not finished; gradients: its
    results; saved: the outer values that it uses.
    """

    inputs: Sequence[fx.Node]
    results: Sequence[fx.Node]
    dirty: Sequence[int]
    single: bool
    backward: Level
    gradients: Sequence[Any]
    saved: Sequence[fx.Node]


def record(recorder: Any, call: FunctionCall) -> fx.Node:
    """Record the call after the operators of its forward. Returns its node, whose result is not bound."""
    own = [call.inputs[0]] if not call.saved else [*call.saved]
    operands = [*call.inputs, *dict.fromkeys(node for node in (*call.results, *own) if node not in call.inputs)]
    forward = _forward(recorder, call, operands, own)
    if not call.saved:
        unused = add_placeholder(call.backward.graph, own[0].name, call.backward.placeholders[-1])
        unused.meta.update(_values_meta(own[0]))
    output = (*call.gradients, *[None] * (len(operands) - len(call.gradients)))
    (backward,) = subgraph_calls.finish(recorder, [call.backward], [output], ("backward_graph_",))
    attributes = [subgraph_calls.attribute(recorder, module) for module in (forward, backward)]
    options = {"non_differentiable_idx": [_NONE], "saved_for_backward_idx": [*range(len(own))]}
    if call.dirty:
        options["dirty_idx"] = [*call.dirty]
    recorder.torch_function = autograd_function_apply
    return recorder.call_node(autograd_function_apply, (*attributes, *operands), options, "autograd_function_apply")


def _forward(recorder: Any, call: FunctionCall, operands: Sequence[fx.Node], saved: Sequence[fx.Node]) -> Any:
    """The sub-graph (operands → (results, saved values)). A value that is saved and returned is one tensor: a gradient
    of the gradient goes through the Function again."""
    with recorder.levels.entered() as level:
        inside = dict(zip(operands, _placeholders(level, operands)))
        made = []
        for number, node in enumerate(call.results):
            if number in call.dirty:
                made.append(inside[node])
                continue
            # An operand that is returned would be a view to autograd, which nothing may change in place.
            made.append(_call(recorder, torch.ops.aten.detach.default, (inside[node],), node))
        inside.update(zip(call.results, made))
        results = made[0] if call.single else _packed(recorder, made, made[0])
        output = (results, _packed(recorder, [inside[node] for node in saved], made[0]))
    return subgraph_calls.finish(recorder, [level], [output], ("forward_graph_",))[0]


def _packed(recorder: Any, nodes: Sequence[fx.Node], like: fx.Node) -> fx.Node:
    """The values of `nodes`, as one tuple that is a node's; it has the metadata of `like`, a tensor."""
    with recorder.levels.entered() as level:
        given = dict.fromkeys(nodes)
        inside = dict(zip(given, _placeholders(level, [*given])))
    (module,) = subgraph_calls.finish(recorder, [level], [tuple(inside[node] for node in nodes)], ("tuple_graph_",))
    args = (False, subgraph_calls.attribute(recorder, module), *given)
    return _call(recorder, wrap_with_set_grad_enabled, args, like)


def _placeholders(level: Level, nodes: Sequence[fx.Node]) -> list[fx.Node]:
    """A placeholder for each node of the graph around."""
    made: list[fx.Node] = []
    for node in nodes:
        made.append(add_placeholder(level.graph, node.name, made[-1] if made else None))
        made[-1].meta.update(_values_meta(node))
    return made


def _call(recorder: OperatorRecording, function: Any, args: tuple[Any, ...], like: fx.Node) -> fx.Node:
    """A call whose value has the metadata of `like`."""
    recorder.torch_function = function
    node = recorder.call_node(function, args, {}, getattr(function, "_overloadpacket", function).__name__)
    node.meta.update(_values_meta(like))
    return node


def _values_meta(node: fx.Node) -> dict[str, Any]:
    return {key: node.meta[key] for key in ("val", "tensor_meta") if key in node.meta}
