"""`requires_grad` of a parameter, turned off by the program and on again (an adapter that is disabled for a while).

The graph has nothing of it. So no operator may be given the tensor in between, and in the end it has to be as it was.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.tracing.interfaces import FeatureState, TracerView
from dynamo_lite.tracing.vocabulary.type_tests import is_fake


class ToggledFlags(FeatureState):
    """By id, the tensors whose flag is not as before the run, each with its users in the graph when that began."""

    stays = "a flag that a side does not put back is refused at the end"

    def __init__(self, tracer: TracerView) -> None:
        self.rows: dict[int, tuple[torch.Tensor, set[Any] | None, Any]] = {}


def toggle(tracer: TracerView, tensor: torch.Tensor) -> bool:
    """Handle a toggle of the flag of an older tensor. False if it is to be refused."""
    recorder = tracer.recorder
    if is_fake(tensor) or not tensor.is_leaf or recorder.is_input(tensor) or recorder.levels or not tracer.sees_python:
        return False
    rows = tracer.own(ToggledFlags).rows
    if id(tensor) not in rows:
        rows[id(tensor)] = (tensor, _users(tracer, tensor), tracer.mark())
        tracer.journal.on_rollback(partial(_set, tensor, tensor.requires_grad))
        return True
    _, before, _ = rows.pop(id(tensor))
    return before == _users(tracer, tensor)


def check(run: Any, call: Any) -> None:
    """Refuse flags that stay toggled at the end of the run."""
    for _, _, mark in run.tracer.own(ToggledFlags).rows.values():
        graph_break = run.tracer.graph_break("tensor-attribute", mark, name="requires_grad")
        if not run.tracer.goes_on:
            raise graph_break
        run.refused_effects.append(graph_break)


def _users(tracer: TracerView, tensor: torch.Tensor) -> set[Any] | None:
    """Return the nodes that use a tensor; None if it is not part of the graph yet."""
    lifted = next((lifted for lifted in tracer.recorder.lifted if lifted.tensor is tensor), None)
    return None if lifted is None else set(lifted.node.users)


def _set(tensor: torch.Tensor, wanted: bool) -> None:
    with DisableTorchFunction():
        tensor.requires_grad_(wanted)
