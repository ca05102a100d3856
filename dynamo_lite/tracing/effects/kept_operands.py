"""Operands of torch.cond and scan that autograd keeps for the backward, and that the program changes in place later.

In eager autograd keeps what each operator of the side taken needs, and refuses the backward if that has been changed.
The operator as a whole keeps all its operands, so a backward that eager has would be refused: it gets a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.alias_analysis import NOTHING, AliasAnalysis, Roots, storage_of, subgraphs, written_arguments
from dynamo_lite.capture.graph.lifting import Lifted
from dynamo_lite.capture.recorder import Recorder
from dynamo_lite.tracing.effects.requires_grad import nodes_requiring_grad

_KEEPERS = frozenset(map(id, (torch.ops.higher_order.cond, torch.ops.higher_order.scan)))


def separate(recorder: Recorder, leaves: list[Any], assigned: Iterable[str]) -> None:
    """Give clones of such operands to the operators.

    leaves: the arguments of the program, flat; assigned: the buffers that get their new value at its end.
    """
    keepers = {node for node in recorder.graph.nodes if id(node.target) in _KEEPERS}
    keepers &= nodes_requiring_grad(recorder, leaves) if keepers else set()
    if not keepers:
        return
    analysis = AliasAnalysis(recorder)
    names = set(assigned)
    later: Roots = frozenset(storage_of(entry.tensor) for entry in recorder.lifted if entry.fqn in names)
    _separate_in(recorder.graph, keepers, analysis, later)
    for node in keepers:
        _separate_within(subgraphs(node, recorder.modules))


@dataclass(frozen=True)
class _Part:
    """A sub-graph, as what the analysis takes. Its operands are its inputs."""

    graph: fx.Graph
    modules: Mapping[str, fx.GraphModule]
    lifted: Sequence[Lifted] = ()


def _separate_within(sides: Iterable[fx.GraphModule]) -> None:
    """The same in the sub-graphs of such an operator: its gradient makes those within keep their operands as well."""
    for side in sides:
        part = _Part(side.graph, dict(side.named_children()))  # type: ignore[arg-type]
        keepers = {node for node in side.graph.nodes if id(node.target) in _KEEPERS}
        if keepers:
            _separate_in(side.graph, keepers, AliasAnalysis(part), NOTHING)
            side.recompile()
            for node in keepers:
                _separate_within(subgraphs(node, part.modules))


def _separate_in(graph: fx.Graph, keepers: set[fx.Node], analysis: AliasAnalysis, later: Roots) -> None:
    """later: the memory that is written to behind the graph."""
    for node in reversed(list(graph.nodes)):
        if node in keepers:
            _separate(node, analysis, later)
        later |= NOTHING.union(*(analysis.roots[argument] for argument in written_arguments(node)))


def _separate(node: fx.Node, analysis: AliasAnalysis, later: Roots) -> None:
    """later: the memory that is written to behind `node`."""
    for operand in node.all_input_nodes:
        value = operand.meta.get("val")
        if isinstance(value, torch.Tensor) and analysis.roots[operand] & later:
            with node.graph.inserting_before(node):
                clone = node.graph.call_function(torch.ops.aten.clone.default, (operand,))
            clone.meta = {name: node.meta[name] for name in ("nn_module_stack", "stack_trace") if name in node.meta}
            clone.meta |= {name: operand.meta[name] for name in ("val", "tensor_meta") if name in operand.meta}
            clone.meta["torch_fn"] = (clone.name, "OpOverload.clone")
            node.replace_input_with(operand, clone)
