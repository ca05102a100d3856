"""Outputs that require grad in eager because the program has made a leaf: `copy.deepcopy(self.layer)(x)`.

No operator makes a leaf. But eager's backward ends there, so the output only has to require grad: it is selected, by a
condition that always holds, between itself and a parameter of the program's own (a constant that requires grad is
detached by torch's `module()`). This excludes the leaf itself, which is a leaf in eager, memory that something else
shares, and a program with a custom autograd.Function, which may have cut off a gradient that flows on to a parameter.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.lifting import modes_off
from dynamo_lite.errors import GraphBreak, UserFrame
from dynamo_lite.tracing.vocabulary.graph_breaks import GRAPH_BREAKS

if TYPE_CHECKING:
    from dynamo_lite.capture import Recorder
    from dynamo_lite.program.trees.outputs import FlatOutputs

_aten = torch.ops.aten


def carry(recorder: Recorder, outputs: FlatOutputs, numbers: list[int]) -> list[int]:
    """Let these outputs require grad. Returns the numbers of those that cannot."""
    left = []
    done: dict[fx.Node, fx.Node] = {}
    for number in numbers:
        value, leaf = outputs.values[number], outputs.leaves[number]
        if value not in done:
            picked = None if leaf.is_leaf or _is_shared(recorder, outputs, value, leaf) else _requiring(recorder, leaf)
            if picked is None:
                left.append(number)
                continue
            done[value] = picked
        outputs.values[number] = done[value]
    return left


def _is_shared(recorder: Recorder, outputs: FlatOutputs, value: fx.Node, tensor: torch.Tensor) -> bool:
    """Whether another output, or a tensor that existed before the call, shares the memory of an output."""
    key = storage_key(tensor)
    others = [
        leaf
        for other, leaf in zip(outputs.values, outputs.leaves)
        if isinstance(leaf, torch.Tensor) and other is not value
    ]
    others += [lifted.fake for lifted in recorder.lifted]
    others += [fake for fake in recorder.from_outside() if isinstance(fake, torch.Tensor)]
    return any(other.layout is torch.strided and storage_key(other) == key for other in others)


def _requiring(recorder: Recorder, tensor: torch.Tensor) -> fx.Node | None:
    """The node of a tensor with these values, which requires grad; None if it would be laid out otherwise."""
    with modes_off():
        parameter = torch.zeros((), dtype=tensor.dtype, device=tensor.device, requires_grad=True)
    with recorder.fake_mode, torch.no_grad():
        holds = torch.ones((), dtype=torch.bool, device=tensor.device)
        picked = torch.where(holds, tensor.detach(), torch.zeros((), dtype=tensor.dtype, device=tensor.device))
    if picked.stride() != tensor.stride() or picked.dtype != tensor.dtype:
        return None
    value, other = recorder.node_of(tensor), recorder.node_of(parameter)
    with torch.enable_grad():
        recorder.mark_grad_mode()  # the last operator may have been one under no_grad
    graph = recorder.level.graph
    options: dict[str, Any] = {"dtype": torch.bool, "device": tensor.device, "pin_memory": False}
    condition = graph.call_function(_aten.ones.default, ([],), options)
    made = graph.call_function(_aten.where.self, (condition, value, other))
    for node, result in ((condition, holds), (made, picked)):
        node.meta = {"val": result, "torch_fn": (node.name, "OpOverload"), "nn_module_stack": {}}
        node.meta["nn_module_stack"] = recorder.context.module_stack()
    return made


def graph_break(node: fx.Node) -> GraphBreak:
    """The error for an output whose leaf no rule has seen being made: at the line that computes the output."""
    row = GRAPH_BREAKS["made-leaf"]
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    return row.error("made-leaf", row.what, row.instead, tuple(UserFrame(f, int(at), name) for f, at, name in frames))


_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
