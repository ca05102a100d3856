"""Operands of torch.cond and scan that autograd saves for the backward, and that the program changes in place later.

In eager autograd saves the operands of each operator of the side taken, and refuses the backward if they have been
changed. The operator as a whole saves all its operands, so eager's backward would be refused: it gets a copy.

torch makes the backward of both sides, whichever is taken. A side that changes in place an operand of its own backward,
so that eager refuses the backward where it is taken, would prevent the other side's: within a side, too, operators get
copies of operands that are changed after them.

So do the operators of the program of what it writes and eager does not: a buffer that is assigned (`self.h = h`) gets
its new value by a copy, and behind a branch a tensor that one side changes is written to whichever was taken.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture._torch import OpOverload
from dynamo_lite.capture.alias_analysis import (
    NOTHING,
    AliasAnalysis,
    Roots,
    SubGraph,
    is_view,
    storage_of,
    subgraphs,
    written_arguments,
    written_parameters,
)
from dynamo_lite.capture.recorder import Recorder
from dynamo_lite.tracing.effects.requires_grad import nodes_requiring_grad, reached

_KEEPERS = frozenset(map(id, (torch.ops.higher_order.cond, torch.ops.higher_order.scan)))
_CHOICES = _KEEPERS | set(map(id, (torch.ops.higher_order.while_loop, torch.ops.aten.where.self)))


def separate(recorder: Recorder, leaves: list[Any], assigned: Iterable[str]) -> None:
    """Give clones of such operands to the operators.

    leaves: the arguments of the program, flat; assigned: the buffers that get their new value at its end.
    """
    keepers = {node for node in recorder.graph.nodes if id(node.target) in _KEEPERS}
    names = set(assigned)
    if not names and not keepers and not any(map(_chooses, recorder.graph.nodes)):
        return
    differentiable = nodes_requiring_grad(recorder, leaves)
    keepers &= differentiable
    if not differentiable:
        return
    analysis = AliasAnalysis(recorder)
    later: Roots = frozenset(storage_of(entry.tensor) for entry in recorder.lifted if entry.fqn in names)
    _separate_in(recorder.graph, keepers, analysis, later)
    _separate_saved(recorder.graph, analysis, differentiable, later, _is_of_a_choice)
    for node in keepers:
        _separate_within(subgraphs(node, recorder.modules))


def _separate_within(sides: Iterable[fx.GraphModule]) -> None:
    """The same in the sub-graphs of such an operator: its gradient makes those within keep their operands as well."""
    for side in sides:
        part = SubGraph(side)
        keepers = {node for node in side.graph.nodes if id(node.target) in _KEEPERS}
        writes = any(any(True for _ in written_arguments(node)) for node in side.graph.nodes)
        if writes:
            _separate_in(side.graph, keepers, AliasAnalysis(part), NOTHING)
            inputs = {node for node in side.graph.nodes if node.op == "placeholder"}
            _separate_saved(side.graph, AliasAnalysis(part), reached(side.graph, True, inputs))
            side.recompile()
        for node in keepers:
            _separate_within(subgraphs(node, part.modules))


def _separate_in(graph: fx.Graph, keepers: set[fx.Node], analysis: AliasAnalysis, later: Roots) -> None:
    """later: the memory that is written to after the graph."""
    for node in reversed(list(graph.nodes)):
        if node in keepers:
            _separate(node, analysis, later)
        later |= NOTHING.union(*(analysis.roots[argument] for argument in written_arguments(node)))


def _separate(node: fx.Node, analysis: AliasAnalysis, later: Roots) -> None:
    """later: the memory that is written to after `node`."""
    for operand in node.all_input_nodes:
        value = operand.meta.get("val")
        if isinstance(value, torch.Tensor) and analysis.roots[operand] & later:
            node.replace_input_with(operand, _call(torch.ops.aten.clone.default, (operand,), node))


def _call(op: Any, args: tuple[Any, ...], before: fx.Node, kwargs: Mapping[str, Any] | None = None) -> fx.Node:
    """A call in front of `before` that gives a tensor like its first argument."""
    with before.graph.inserting_before(before):
        made = before.graph.call_function(op, args, dict(kwargs or {}))
    made.meta = {name: before.meta[name] for name in ("nn_module_stack", "stack_trace") if name in before.meta}
    made.meta |= {name: args[0].meta[name] for name in ("val", "tensor_meta") if name in args[0].meta}
    made.meta["torch_fn"] = (made.name, f"OpOverload.{op._schema.name.removeprefix('aten::')}")
    return made


# -- what operators save -----------------------------------------------------------------------------------------------


def _separate_saved(
    graph: fx.Graph,
    analysis: AliasAnalysis,
    differentiable: Container[fx.Node],
    later: Roots = NOTHING,
    counts: Callable[[fx.Node], bool] = lambda node: True,
) -> None:
    """Give operators copies of operands that are changed after them, or by themselves.

    later: the memory that is written to after the graph; counts: whether the writes of a node are to be seen.
    """
    for node in reversed(list(graph.nodes)):
        written = set(written_arguments(node))
        own = NOTHING.union(*(analysis.roots[argument] for argument in written)) if counts(node) else NOTHING
        if node in differentiable and isinstance(node.target, OpOverload) and not is_view(node):
            if later or own:
                _copy_saved(node, analysis, later | own)
            if _saves_result(node) and analysis.roots[node] & later:
                _copy_result(node, written)
        later |= own


def _chooses(node: fx.Node) -> bool:
    """Whether data decide what the node gives."""
    return id(node.target) in _CHOICES


def _is_of_a_choice(node: fx.Node) -> bool:
    """Whether the node writes the result of a branch or of a loop to a tensor, which eager does on one side alone."""
    if node.target is not torch.ops.aten.copy_.default:
        return False
    source: Any = node.args[1]
    while isinstance(source, fx.Node) and (source.target is operator.getitem or is_view(source)):
        source = source.args[0]
    return isinstance(source, fx.Node) and _chooses(source)


def _copy_saved(node: fx.Node, analysis: AliasAnalysis, later: Roots) -> None:
    """Clones for the arguments that an operator may save, which are all but those that it writes to."""
    written = {argument.name for argument in written_parameters(node)}
    if analysis.roots[node] & NOTHING.union(*(analysis.roots[n] for n in node.all_input_nodes)) and not written:
        return  # its result may be an argument
    schema = node.target._schema  # type: ignore[union-attr]
    if str(schema.name).removeprefix("aten::").rstrip("_") in _SAVE_NOTHING:
        return

    def copied(argument: fx.Node) -> fx.Node:
        is_tensor = isinstance(argument.meta.get("val"), torch.Tensor)
        changes = is_tensor and bool(analysis.roots[argument] & later)
        return _call(torch.ops.aten.clone.default, (argument,), node) if changes else argument

    def read(name: str, value: Any) -> Any:
        return value if name in written else fx.map_arg(value, copied)

    node.args = tuple(read(parameter.name, value) for parameter, value in zip(schema.arguments, node.args))
    node.kwargs = {name: read(name, value) for name, value in node.kwargs.items()}


def _saves_result(node: fx.Node) -> bool:
    if not isinstance(node.meta.get("val"), torch.Tensor):
        return False  # of several results none is in the table for its values
    return str(node.target._schema.name).removeprefix("aten::").rstrip("_") in _SAVE_RESULT  # type: ignore[union-attr]


def _copy_result(node: fx.Node, written: set[fx.Node]) -> None:
    """The result is another tensor than the one that is written to."""
    if not written:
        computed = _call(node.target, node.args, node, node.kwargs)
        computed.meta |= {name: node.meta[name] for name in ("val", "tensor_meta", "torch_fn") if name in node.meta}
        node.target, node.args, node.kwargs = torch.ops.aten.clone.default, (computed,), {}
        node.meta["torch_fn"] = (node.name, "OpOverload.clone")
        return
    name, _, overload = str(node.target).removeprefix("aten.").partition(".")
    computes = getattr(getattr(torch.ops.aten, name.rstrip("_")), overload)
    value = _call(computes, node.args, node, node.kwargs)
    node.target, node.args, node.kwargs = torch.ops.aten.copy_.default, (node.args[0], value), {}
    node.meta["torch_fn"] = (node.name, "OpOverload.copy_")


_SAVE_NOTHING = frozenset({"add", "sub", "rsub", "neg", "cat", "stack", "clone", "_to_copy", "sum", "mean", "copy"})
"""Operators whose derivative needs no values of their arguments."""

_SAVE_RESULT = frozenset(
    {
        "exp", "exp2", "expm1", "sqrt", "rsqrt", "reciprocal", "sigmoid", "tanh", "tan", "relu", "selu", "celu", "elu",
        "softmax", "_softmax", "log_softmax", "_log_softmax", "norm", "linalg_vector_norm", "cumprod", "logcumsumexp",
        "logsumexp", "amax", "amin", "max", "min", "sgn",
    }
)  # fmt: skip
"""Operators of whose result torch's derivative is made (derivatives.yaml of torch 2.13)."""
