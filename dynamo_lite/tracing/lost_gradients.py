"""Outputs that learn in eager and not in the program, because the program itself has made a leaf that learns.

`y.requires_grad_()` on a result, `torch.zeros(3, requires_grad=True)`, `nn.Parameter(...)` in forward: no operator does
that, so the graph has nothing of it. Within the program that is as in eager (torch.autograd.grad is recorded as
operators); a tensor that it returns is another one: no `requires_grad`, and a backward() stops there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import fx

if TYPE_CHECKING:
    from dynamo_lite.capture import Recorder
    from dynamo_lite.program.outputs import FlatOutputs

_STOPS = frozenset({torch.ops.aten.detach.default, torch.ops.aten.detach_copy.default})


def lost(recorder: Recorder, leaves: list[Any], outputs: FlatOutputs) -> list[int]:
    """The numbers of the outputs that learn in eager though nothing that the program is given makes them.

    leaves: the values of the flat inputs.
    """
    learning = [
        (index, value)
        for index, (leaf, value) in enumerate(zip(outputs.leaves, outputs.values))
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad and isinstance(value, fx.Node)
    ]
    if not learning:
        return []
    learns = _learning_nodes(recorder, leaves)
    return [index for index, node in learning if node not in learns]


def _learning_nodes(recorder: Recorder, leaves: list[Any]) -> set[fx.Node]:
    """The nodes whose value has `requires_grad` when the program runs, by autograd's rule."""
    learns = {node for node, leaf in zip(recorder.input_nodes, leaves) if getattr(leaf, "requires_grad", False)}
    learns |= {lifted.node for lifted in recorder.lifted if lifted.tensor.requires_grad}
    enabled = recorder.grad_enabled
    memory: dict[fx.Node, fx.Node] = {}  # a view → what it is a view of
    for node in recorder.graph.nodes:
        if node.op != "call_function":
            continue
        if node.target is torch._C._set_grad_enabled:
            enabled = bool(node.args[0])
            continue
        sources = node.all_input_nodes
        schema = getattr(node.target, "_schema", None)
        if node.target in _STOPS:
            continue
        if sources and schema is not None and any(argument.alias_info is not None for argument in schema.arguments):
            memory[node] = memory.get(sources[0], sources[0])
        if any(source in learns or memory.get(source) in learns for source in sources):
            if _passes_on(node, enabled):
                learns.add(node)
                if schema is not None and schema.is_mutable:
                    learns.add(memory[node])  # a write through a view makes what it is a view of learn
            elif schema is not None and schema.is_mutable and sources[0] in learns:
                learns.add(node)  # as it did before
    return learns | {node for node, base in memory.items() if base in learns}


def _passes_on(node: fx.Node, enabled: bool) -> bool:
    if not enabled:
        return False
    value: Any = node.meta.get("val")
    return not isinstance(value, torch.Tensor) or value.is_floating_point() or value.is_complex()
