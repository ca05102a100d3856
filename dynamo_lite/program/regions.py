"""no_grad and autocast regions: from border markers in a flat graph to torch.export's higher-order operators.

The recorder leaves a marker node where the program switches gradients (`torch._C._set_grad_enabled`) or enters and
leaves autocast. torch.export wants the nodes between in a sub-graph, called by `wrap_with_set_grad_enabled` or
`wrap_with_autocast`. Its own passes split the whole graph and inline most of it back; they also drop a region
that only changes tensors in place. Here each region is cut out where it stands.

The law: every node runs under the grad mode and the autocast settings that it was recorded under. Nodes whose settings
are the surrounding ones stay where they are; a run of nodes behind one switch is one region, and where runs of
both kinds begin together the longer one is outside. A region without operators leaves nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.graph.names import rename_placeholder
from dynamo_lite.capture.graph.subgraph_calls import grad_mode
from dynamo_lite.program._torch import (
    _enter_autocast,
    _exit_autocast,
    wrap_with_autocast,
    wrap_with_set_grad_enabled,
)
from dynamo_lite.torch_internals._torch_state import _set_grad_enabled

_SET_GRAD = _set_grad_enabled
_MARKERS = frozenset(map(id, (_SET_GRAD, _enter_autocast, _exit_autocast)))

Modules = dict[str, fx.GraphModule]


@dataclass(frozen=True)
class _RegionSettings:
    """The settings of a node: the last grad switch (None: as at the program's start) and the open autocasts."""

    grad: fx.Node | None
    autocasts: tuple[fx.Node, ...]


@dataclass(frozen=True)
class _Surroundings:
    """The settings around the graph that is being cut."""

    grad_enabled: bool
    depth: int
    subgraphs: Modules


def outline_regions(graph: fx.Graph, grad_enabled: bool, modules: Modules | None = None) -> Modules:
    """Replaces the markers of `graph` by regions. Returns the sub-graphs, by the attribute names that the graph reads.

    grad_enabled: the grad mode that the program is entered under. modules: the sub-graphs that the graph reads already
    (branches of torch.cond, ...); their own markers are replaced too.
    """
    modules = dict(modules or {})
    for module in modules.values():
        _outline_subgraph(module)
    markers = [node for node in graph.nodes if id(node.target) in _MARKERS]
    if not markers:
        return modules
    settings = _settings_of_nodes(graph)
    for marker in reversed(markers):
        graph.erase_node(marker)
    _outline(graph, list(settings), settings, _Surroundings(grad_enabled, 0, dict(modules)), modules)
    read = {node.target for node in graph.nodes if node.op == "get_attr"}
    return {name: module for name, module in modules.items() if name in read}


def _outline_subgraph(module: fx.GraphModule) -> None:
    """The same for a sub-graph that the recorder made. (Its code is made when the program is.)"""
    inner = {name: child for name, child in module.named_children() if isinstance(child, fx.GraphModule)}
    read = outline_regions(module.graph, grad_mode(module), inner)
    for name in inner.keys() - read.keys():
        delattr(module, name)  # a region has taken it along
    for name, child in read.items():
        module.add_module(name, child)


def _settings_of_nodes(graph: fx.Graph) -> dict[fx.Node, _RegionSettings]:
    settings: dict[fx.Node, _RegionSettings] = {}
    current = _RegionSettings(None, ())
    for node in graph.nodes:
        if node.target is _SET_GRAD:
            current = _RegionSettings(node, current.autocasts)
        elif node.target is _enter_autocast:
            current = _RegionSettings(current.grad, (*current.autocasts, node))
        elif node.target is _exit_autocast:
            current = _RegionSettings(current.grad, tuple(a for a in current.autocasts if a is not node.args[0]))
        elif node.op not in ("placeholder", "output"):
            settings[node] = current
    return settings


def _outline(
    graph: fx.Graph,
    nodes: Sequence[fx.Node],
    settings: dict[fx.Node, _RegionSettings],
    around: _Surroundings,
    modules: Modules,
) -> list[fx.Node]:
    """Cuts the regions out of `nodes` (a run of `graph`). Returns the nodes that are left in their place."""
    left: list[fx.Node] = []
    start = 0
    while start < len(nodes):
        first = settings[nodes[start]]
        switch = first.grad if first.grad is not None and first.grad.args[0] != around.grad_enabled else None
        entered = first.autocasts[around.depth] if len(first.autocasts) > around.depth else None
        if switch is None and entered is None:
            left.append(nodes[start])
            start += 1
            continue
        grad_stop = autocast_stop = start
        if switch is not None:
            grad_stop = _run([settings[node].grad is switch for node in nodes], start)
        if entered is not None:
            autocast_stop = _run([entered in settings[node].autocasts for node in nodes], start)
        inner: Modules = dict(around.subgraphs)  # a region takes along those that it reads
        if grad_stop > autocast_stop or (grad_stop == autocast_stop and switch is not None):
            assert switch is not None
            stop, marker = grad_stop, switch
            wrap: Any = wrap_with_set_grad_enabled
            within = _Surroundings(bool(switch.args[0]), around.depth, around.subgraphs)
        else:
            assert entered is not None
            stop, marker, wrap = autocast_stop, entered, wrap_with_autocast
            within = _Surroundings(around.grad_enabled, around.depth + 1, around.subgraphs)
        region = _outline(graph, nodes[start:stop], settings, within, inner)
        left += _cut(graph, region, wrap, marker, inner, modules)
        start = stop
    return left


def _run(same: Sequence[bool], start: int) -> int:
    """The end of the run of True from `start`."""
    stop = start
    while stop < len(same) and same[stop]:
        stop += 1
    return stop


def _cut(
    graph: fx.Graph, region: list[fx.Node], wrap: Any, marker: fx.Node, inner: Modules, modules: Modules
) -> list[fx.Node]:
    """Moves `region` into a sub-graph. Returns the nodes that call it: the attribute, the call, and its results."""
    inside = set(region)
    inputs = list(dict.fromkeys(a for node in region for a in node.all_input_nodes if a not in inside))
    outputs = [node for node in region if any(user not in inside for user in node.users)]
    outputs = outputs or _last_tensor(region) or _last_tensor(inputs)
    name = next(name for n in count(1) if (name := f"submod_{n}") not in modules)
    modules[name] = fx.GraphModule(dict(inner), _sub_graph(region, inputs, outputs), class_name=name)
    stack = {"nn_module_stack": marker.meta["nn_module_stack"]}
    with graph.inserting_before(region[0]):
        attribute = graph.create_node("get_attr", name, (), {}, name=name)
        attribute.meta = dict(stack)
        call = graph.create_node("call_function", wrap, (*marker.args, attribute, *inputs), {}, name=wrap.__name__)
        call.meta = {
            **stack,
            "torch_fn": (wrap.__name__, f"{type(wrap).__name__}.{wrap.__name__}"),
            "val": tuple(node.meta["val"] for node in outputs),
        }
        results = []
        for index, node in enumerate(outputs):
            result = graph.create_node("call_function", operator.getitem, (call, index), {}, name="getitem")
            result.meta = dict(node.meta)
            if node in inside:
                node.replace_all_uses_with(result, delete_user_cb=lambda user: user not in inside)
            results.append(result)
    for node in reversed(region):
        graph.erase_node(node)
    return [attribute, call, *results]


def _last_tensor(region: list[fx.Node]) -> list[fx.Node]:
    """The result of a region without used results (it changes a buffer): torch cannot load a call without any. For
    operators that return nothing (`_foreach_mul_`) it is one of the inputs."""
    return next(([node] for node in reversed(region) if isinstance(node.meta.get("val"), torch.Tensor)), [])


def _sub_graph(region: list[fx.Node], inputs: list[fx.Node], outputs: list[fx.Node]) -> fx.Graph:
    sub_graph = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    for node in inputs:
        copy = sub_graph.create_node("placeholder", node.name, (), {}, name=node.name)
        rename_placeholder(copy, node.name)
        copy.meta = {key: node.meta[key] for key in ("val", "tensor_meta") if key in node.meta}
        copies[node] = copy
    for node in region:
        copies[node] = sub_graph.node_copy(node, copies.__getitem__)
    sub_graph.output(tuple(copies[node] for node in outputs))
    return sub_graph
