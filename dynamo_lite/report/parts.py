"""The parts of a step of training: forward, backward, update of the parameters.

An operator of the backward has the frames of torch.autograd.backward in its stack, one of an optimizer those of its
step. What else is computed from gradients, and has none itself, updates parameters (clipping, averages of weights).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import fx

from dynamo_lite.errors import UserFrame
from dynamo_lite.report.sources import frames_of


class Part(NamedTuple):
    """One part of a step."""

    key: str
    title: str


PARTS = (
    Part("forward", "forward: the loss, and what is returned"),
    Part("backward", "backward: the gradients, each with the line of its forward operator"),
    Part("update", "update: parameters, the state of optimizers, averages"),
)
_BACKWARD = os.path.join("torch", "autograd", "__init__.py")
_OPTIMIZER = os.path.join("torch", "optim", "optimizer.py")


def parts_of(module: fx.GraphModule) -> dict[fx.Node, str]:
    """Maps the operators of a program, and of its sub-graphs, to parts; none if the program has no backward."""
    found: dict[fx.Node, str] = {}
    _walk(module, found)
    return found if "backward" in found.values() else {}


def _walk(module: fx.GraphModule, found: dict[fx.Node, str]) -> None:
    inner = {node: _graph(module, node) for node in module.graph.nodes if node.op == "get_attr"}
    for node in module.graph.nodes:
        if node.op != "call_function":
            continue
        graphs = [graph for argument in node.all_input_nodes if (graph := inner.get(argument)) is not None]
        for graph in graphs:
            _pass_on(node, graph, found)
            _walk(graph, found)
        own = _by_frames(frames_of(node.meta.get("stack_trace")))
        if graphs and not own:
            own = next((found[n] for n in reversed(graphs[0].graph.nodes) if n.op == "call_function"), "")
        found[node] = own or _by_inputs(node, found)


def _graph(module: fx.GraphModule, node: fx.Node) -> fx.GraphModule | None:
    graph = getattr(module, str(node.target), None)
    return graph if isinstance(graph, fx.GraphModule) else None


def _pass_on(call: fx.Node, graph: fx.GraphModule, found: dict[fx.Node, str]) -> None:
    """The operands of a sub-graph keep their parts in it: its last inputs, in order."""
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    operands = [node for node in call.all_input_nodes if node.op != "get_attr"]
    for inside, outside in zip(reversed(placeholders), reversed(operands)):
        if outside in found:
            found[inside] = found[outside]


def _by_frames(frames: Iterable[UserFrame]) -> str:
    for frame in frames:
        if frame.filename.endswith(_OPTIMIZER):
            return "update"
        if frame.filename.endswith(_BACKWARD) and frame.name == "backward":
            return "backward"
    return ""


def _by_inputs(node: fx.Node, found: dict[fx.Node, str]) -> str:
    value: Any = node.meta.get("val")
    is_differentiable = isinstance(value, torch.Tensor) and value.requires_grad
    after = any(found.get(argument, "forward") != "forward" for argument in node.all_input_nodes)
    return "update" if after and not is_differentiable else "forward"
