"""Gradients that flow in eager and not in the program, found in the graph when the run is over.

- The program itself has made a leaf that requires grad (`y.requires_grad_()` on a result, `torch.zeros(3,
  requires_grad=True)`, `nn.Parameter(...)` in forward): no operator does that, so the graph has nothing of it. Within
  the program that is as in eager (torch.autograd.grad is recorded as operators); a tensor that it returns is another
  one: no `requires_grad`, and a backward() stops there.
- A constant that was computed from tensors that require grad before the call: the program holds it detached.
- Operators in a region of torch.autograd.graph.saved_tensors_hooks that have something to save for the backward.

And those that would flow through torch's while_loop, which has a wrong one, or through a result of a branch that is
detached.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from dynamo_lite.capture.alias_analysis import subgraphs
from dynamo_lite.capture.graph.lifting import Lifted, LiftedKind
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.torch_internals._torch_operators import HigherOrderOperator
from dynamo_lite.torch_internals._torch_state import _set_grad_enabled
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

if TYPE_CHECKING:
    from dynamo_lite.capture import Recorder
    from dynamo_lite.program.trees.outputs import FlatOutputs
    from dynamo_lite.tracing.higher_order.autograd import SavedHooks
    from dynamo_lite.tracing.tensors.side_differences import SideDifferences

_STOPS = frozenset(map(id, (torch.ops.aten.detach.default, torch.ops.aten.detach_copy.default)))
"""By id: the hash of an operator is a call of Python."""


def lost(recorder: Recorder, leaves: list[Any], outputs: FlatOutputs) -> list[int]:
    """The numbers of the outputs that require grad in eager though no input or parameter makes them.

    leaves: the values of the flat inputs.
    """
    outputs_requiring = [
        (index, value)
        for index, (leaf, value) in enumerate(zip(outputs.leaves, outputs.values))
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad and isinstance(value, fx.Node)
    ]
    if not outputs_requiring:
        return []
    requiring = nodes_requiring_grad(recorder, leaves)
    return [index for index, node in outputs_requiring if node not in requiring]


def requires_grad_without_inputs(recorder: Recorder, tensor: torch.Tensor) -> bool:
    """Whether a result requires grad because of parameters, whatever the inputs are."""
    return recorder.node_of(tensor) in nodes_requiring_grad(recorder, [])


def cut_constant(recorder: Recorder, outputs: FlatOutputs) -> Lifted | None:
    """Return a constant that is not a leaf of the autograd graph, if eager's gradient of an output flows through it."""
    constants = [
        lifted
        for lifted in recorder.lifted
        if lifted.kind is LiftedKind.CONSTANT and lifted.tensor.requires_grad and not lifted.tensor.is_leaf
    ]
    for lifted in constants:
        reached = _reached(recorder, {lifted.node})
        if any(isinstance(value, fx.Node) and value in reached for value in outputs.values):
            return lifted
    return None


def inputs_cut_off(recorder: Recorder, leaves: list[Any], outputs: FlatOutputs, cut: set[fx.Node]) -> list[int]:
    """Return the numbers of the inputs that do not require grad, and whose gradient would go through torch's while_loop
    (wrong in torch 2.13; where inputs require grad, no while_loop is recorded, or an error is raised), or through a
    node of `cut`, which are detached or carried by a loop under no_grad."""
    graph, modules = recorder.graph, recorder.modules
    if cut:  # of what is used behind
        results = {value for value in outputs.values if isinstance(value, fx.Node)}
        cut = {node for node in cut if any(user.users or user in results for user in node.users) or node in results}
    ends = [node for node in graph.nodes if _cuts(node, modules, cut)]
    if not ends:
        return []
    return [
        number
        for number, (node, leaf) in enumerate(zip(recorder.input_nodes, leaves))
        if isinstance(leaf, torch.Tensor) and isinstance(node, fx.Node) and not leaf.requires_grad
        if (leaf.is_floating_point() or leaf.is_complex()) and not _reached(recorder, {node}).isdisjoint(ends)
    ]


def _cuts(node: fx.Node, modules: Mapping[str, fx.GraphModule], cut: Container[fx.Node]) -> bool:
    """Whether an operator is a while_loop with results that may require grad, or one of `cut`, or has one in its
    sub-graphs."""
    if node in cut:
        return True
    if not isinstance(node.target, HigherOrderOperator):
        return False
    if node.target is torch.ops.higher_order.while_loop:
        values = node.meta["val"]
        return any(isinstance(v, torch.Tensor) and (v.is_floating_point() or v.is_complex()) for v in values)
    for module in subgraphs(node, modules):
        own: dict[str, Any] = dict(module.named_children())
        if any(_cuts(inside, own, cut) for inside in module.graph.nodes):
            return True
    return False


def lost_behind(
    recorder: Recorder, outputs: FlatOutputs, assigned: Iterable[torch.Tensor], differences: SideDifferences
) -> list[str]:
    """Return why gradients that eager has in the example are lost, for those that the caller can request: the results
    go into an output, or into state that later calls see. assigned: the new values of buffers."""
    graph, modules, whys = recorder.graph, recorder.modules, dict[str, None]()
    if any(_holds(node, modules, differences.unsure) for node in graph.nodes):
        whys["whether a tensor that is changed in place requires grad depends on the data"] = None
    ends = {value for value in outputs.values if isinstance(value, fx.Node)}
    ends |= {node for node in map(recorder.level.nodes.get, assigned) if node is not None}
    ends |= {node for node in graph.nodes if node.op == "placeholder"}
    for node, why in _lost_in(graph, modules, differences.lost):
        if not reached(graph, recorder.grad_enabled, {node}).isdisjoint(ends):
            whys[why] = None
    return [*whys]


def _lost_in(
    graph: fx.Graph, modules: Mapping[str, fx.GraphModule], lost: Mapping[fx.Node, str]
) -> Iterator[tuple[fx.Node, str]]:
    """The nodes of a graph that are lost, and the results of its operators that have a lost gradient from within."""
    for node in graph.nodes:
        if node in lost:
            yield node, lost[node]
        for module in subgraphs(node, modules) if isinstance(node.target, HigherOrderOperator) else ():
            results: Any = module.graph.output_node().args[0]
            for inside, why in _lost_in(module.graph, dict(module.named_children()), lost):  # type: ignore[arg-type]
                found = reached(module.graph, True, {inside})
                given = {index for index, result in enumerate(results) if result in found}
                is_cond = node.target is torch.ops.higher_order.cond
                behind = [user for user in node.users if user.args[1] in given] if is_cond else [node] * bool(given)
                yield from ((user, why) for user in behind)


def _holds(node: fx.Node, modules: Mapping[str, fx.GraphModule], nodes: Container[fx.Node]) -> bool:
    """Whether a node is one of some, or an operator in whose sub-graphs one is."""
    if node in nodes:
        return True
    for module in subgraphs(node, modules) if isinstance(node.target, HigherOrderOperator) else ():
        own: dict[str, Any] = dict(module.named_children())
        if any(_holds(inside, own, nodes) for inside in module.graph.nodes):
            return True
    return False


def saved_in(recorder: Recorder, leaves: list[Any], regions: Iterable[SavedHooks]) -> SavedHooks | None:
    """The first region of saved_tensors_hooks in which autograd has something to save."""
    reached = nodes_requiring_grad(recorder, leaves)
    for region in regions:
        inside = region.first is None
        for node in recorder.graph.nodes:
            if inside and node.op == "call_function" and node in reached:
                return region
            inside = (inside or node is region.first) and node is not region.last
    return None


def retained(outputs: FlatOutputs) -> int | None:
    """The number of an output that keeps its gradient (`Tensor.retain_grad`): the program's output does not."""
    for index, leaf in enumerate(outputs.leaves):
        if isinstance(leaf, torch.Tensor) and leaf.retains_grad:
            return index
    return None


def made_parameter(recorder: Recorder, outputs: FlatOutputs) -> int | None:
    """The number of an output that is a parameter which the program has made; one with requires_grad is `lost`."""
    for index, leaf in enumerate(outputs.leaves):
        is_parameter = is_fake(leaf) and vars(leaf).get("_is_param") and not leaf.requires_grad
        if is_parameter and not recorder.is_input(leaf) and recorder.original(leaf) is leaf:
            return index
    return None


def nodes_requiring_grad(recorder: Recorder, leaves: list[Any]) -> set[fx.Node]:
    """The nodes whose value has `requires_grad` when the program runs, by autograd's rule."""
    requiring = {node for node, leaf in zip(recorder.input_nodes, leaves) if getattr(leaf, "requires_grad", False)}
    requiring |= {lifted.node for lifted in recorder.lifted if lifted.tensor.requires_grad}
    return _reached(recorder, requiring)


def _may_share_memory(operator: Any) -> bool:
    """Whether an operator's schema declares that it writes to an argument or returns a view of one."""
    known = _sharing.get(id(operator))
    if known is None:
        answer = any(argument.alias_info is not None for argument in operator._schema.arguments)
        known = _sharing[id(operator)] = answer, operator
    return known[0]


_sharing: dict[int, tuple[bool, Any]] = {}
"""By the id of the operator, which is kept with it."""


def _reached(recorder: Recorder, requiring: set[fx.Node]) -> set[fx.Node]:
    """The nodes of the program that a gradient flows through to one of `requiring`, these included."""
    return reached(recorder.graph, recorder.grad_enabled, requiring)


def reached(graph: fx.Graph, enabled: bool, requiring: set[fx.Node]) -> set[fx.Node]:
    """The nodes that a gradient flows through to one of `requiring`, which it adds to. enabled: the grad mode that the
    graph is entered under."""
    memory: dict[fx.Node, fx.Node] = {}  # a view → what it is a view of
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if node.target is _set_grad_enabled:
            enabled = bool(node.args[0])
            continue
        sources = node.all_input_nodes
        schema = getattr(node.target, "_schema", None)
        if id(node.target) in _STOPS:
            continue
        if sources and schema is not None and _may_share_memory(node.target):
            memory[node] = memory.get(sources[0], sources[0])
        for source in sources:
            if source in requiring or memory.get(source) in requiring:
                break
        else:
            continue
        if _passes_on(node, enabled):
            requiring.add(node)
            if schema is not None and schema.is_mutable:
                requiring.add(memory[node])  # a write through a view makes its base require grad
        elif schema is not None and schema.is_mutable and sources[0] in requiring:
            requiring.add(node)  # as it did before
    return requiring | {node for node, base in memory.items() if base in requiring}


def _passes_on(node: fx.Node, enabled: bool) -> bool:
    if not enabled:
        return False
    value: Any = node.meta.get("val")
    if isinstance(value, (*SYMBOLIC_TYPES, bool, int, float)):
        return False
    return not isinstance(value, torch.Tensor) or value.is_floating_point() or value.is_complex()
