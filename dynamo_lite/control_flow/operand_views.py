"""Views among the operands of a side that changes their memory in place.

A side changes a clone of an operand, and returns it (emission.py). Where it has another operand on the same memory, a
view of the first that was made before the branch (the transposed weight that a backward uses, of a weight that the
optimizer changes), it makes that view of the clone itself.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.capture.graph.view_steps import ViewStep, view_steps
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

Operand = tuple[fx.Node, torch.Tensor]


def make_inside(tracer: Forking, level: Level) -> None:
    """Let a sub-graph make the views that it was given of operands which it changes."""
    by_memory: dict[int, list[Operand]] = {}
    for node, value in level.captured if level.changed else ():
        if is_tensor(value) and storage_key(value) in level.changed:
            by_memory.setdefault(storage_key(value), []).append((node, value))
    for operands in by_memory.values():
        if len(operands) > 1:
            _of_one(tracer, level, operands)


def _of_one(tracer: Forking, level: Level, operands: list[Operand]) -> None:
    """Make all of the operands of the one that leads to each of the others, if there is one."""
    for base in sorted(operands, key=lambda operand: operand[1]._is_view()):
        others = [operand for operand in operands if operand is not base]
        found = [_steps(base[1], value) for _, value in others]
        if all(steps is not None for steps in found):
            for other, steps in zip(others, found):
                _replace(tracer, level, base, other, steps or [])
            return


def _steps(base: torch.Tensor, view: torch.Tensor) -> list[ViewStep] | None:
    numbers = [n for t in (base, view) for n in (*t.shape, *t.stride(), t.storage_offset())]
    if not all(type(number) is int for number in numbers) or not base.numel() or base.is_conj() or view.is_conj():
        return None
    distance = int(view.storage_offset()) * view.element_size() - int(base.storage_offset()) * base.element_size()
    with unrecorded(), DisableTorchFunction():
        return view_steps(base, view, distance)


def _replace(tracer: Forking, level: Level, base: Operand, view: Operand, steps: list[ViewStep]) -> None:
    node, made = base
    head: Any = level.placeholders[-1]
    for step in steps:
        with unrecorded(), DisableTorchFunction(), torch.no_grad():
            made = step.func(made, *step.args)
        with level.graph.inserting_after(head):
            head = node = level.graph.call_function(step.func, (node, *step.args))
        node.meta = {"val": made, "torch_fn": (node.name, f"OpOverload.{step.func._opname}")}
        node.meta["nn_module_stack"] = tracer.recorder.context.module_stack()
    view[0].replace_all_uses_with(node)
    level.captured[:] = [row for row in level.captured if row[0] is not view[0]]
    level.graph.erase_node(view[0])
    level.nodes[view[1]] = node
