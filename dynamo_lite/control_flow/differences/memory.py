"""Inputs that a sub-graph assumes to have memory of their own.

A sub-graph changes a clone of its operand, and the operand itself is changed after the operator. If an operand is an
input, and another input is read in the same sub-graph, eager would see the change there if a caller passed two tensors
on the same memory. In the example they are not: that is a condition of the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.program.shapes.size_check import ambiguous
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.assumptions.input_guards import InputGuards
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


def keep_apart(tracer: Forking, changed: Iterable[torch.Tensor], levels: Sequence[Level]) -> None:
    """Add conditions: other inputs that `levels` read do not share memory with the inputs that they change."""
    inputs = {storage_key(fake): number for fake, number in _inputs(tracer)}
    written = {inputs[key] for key in map(storage_key, changed) if key in inputs}
    if not written:
        return
    captured = (value for level in levels for _, value in level.captured if is_tensor(value))
    read = {inputs[key] for value in captured if _is_strided(value) and (key := storage_key(value)) in inputs}
    paths = tracer.inputs.key_paths
    for one, other in sorted({(min(a, b), max(a, b)) for a in written for b in read if a != b}):
        if ambiguous(paths):
            tracer.refuse("input-identity", left=tracer.inputs.names[one], right=tracer.inputs.names[other])
        left, right = (f"L{pytree.keystr(paths[n])}.untyped_storage()._cdata" for n in (one, other))
        tracer.own(InputGuards).add(f"{left} != {right}")


def _inputs(tracer: Forking) -> Iterable[tuple[torch.Tensor, int]]:
    """Yield the fake tensors of the inputs, with their numbers."""
    for fake in tracer.recorder.from_outside():
        number = tracer.recorder.input_number(fake)
        if number is not None and _is_strided(fake):
            yield fake, number


def _is_strided(tensor: torch.Tensor) -> bool:
    return tensor.layout is torch.strided
