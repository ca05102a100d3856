"""Tensors that iterations arrange differently than they are before the loop: `logits = model(prompt)[:, -1]`, a
transposed matrix. The operator wants one layout of a carried tensor, so these are carried contiguous.
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.control_flow.differences import layouts
from dynamo_lite.control_flow.emission import encode
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


def before_iterations(carried: Any) -> set[int]:
    """Return the pairs whose tensor the first iteration lays out differently; that is noted."""
    tracer = carried.tracer
    found = {
        index
        for index, pair in enumerate(carried.merge.pairs)
        if pair.kind == "tensor" and pair.growth is None and not _is_alike(tracer, pair.left, pair.right)
    }
    for index in found:  # before the next iteration asks
        layouts.compare(tracer, carried.merge.pairs[index].left, carried.merge.pairs[index].right)
    return found


def is_settled(carried: Any, found: Any) -> bool:
    """Whether an iteration lays out each tensor as it got it. Those that it does not are carried contiguous from then
    on."""
    rows = enumerate(zip(carried.merge.pairs, carried.examples, found.outputs))
    others = {
        index
        for index, (pair, example, value) in rows
        if pair.kind == "tensor" and pair.growth is None and not _is_alike(carried.tracer, example, value)
    }
    new = others - carried.relaid
    carried.relaid |= new
    return not new


def initial(carried: Any, index: int) -> Any:
    """Return the initial value of a pair, as the operator takes it."""
    pair = carried.merge.pairs[index]
    value = encode(carried.tracer, pair.kind, pair.left)
    return value.clone(memory_format=torch.contiguous_format) if index in carried.relaid else value


def _is_alike(tracer: Forking, one: Any, other: Any) -> bool:
    """Whether two tensors provably have the same strides."""
    if not (is_tensor(one) and is_tensor(other)) or torch.strided not in (one.layout, other.layout):
        return True
    with DisableTorchFunction():  # it is not the program that asks
        strides = list(zip(one.stride(), other.stride()))
    return all(layouts.are_equal(tracer, a, b) for a, b in strides)
