"""`tensor.data = value`: the tensor shows other memory from then on."""

from __future__ import annotations

import torch

from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.interfaces import OperatorRecording


def assign_data(recorder: OperatorRecording, tensor: torch.Tensor, value: torch.Tensor) -> None:
    """`tensor.data = value` for a tensor that the program made itself, or a value with the same memory."""
    if shows_same(recorder, tensor, value):
        return
    if recorder.level.nodes.get(tensor) is None or recorder.is_input(tensor):
        raise CaptureError(
            "tensor-data-assigned",
            "the program assigns to `.data` of a tensor that it did not make itself",
            "change the tensor in place (`tensor.copy_(value)`), or return the new value",
            {"name": "an input, a parameter, a buffer or a constant"},
        )
    detached = value.detach()
    recorder.eagerly(setattr, tensor, "data", recorder.lift(detached))
    recorder.level.nodes[tensor] = recorder.node_of(detached)


def shows_same(recorder: OperatorRecording, tensor: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether both are views of the same elements, so that `tensor.data = value` changes nothing."""
    one, other = recorder.lift(tensor), recorder.lift(value)
    if one.dtype is not other.dtype or storage_key(one) != storage_key(other) or one.shape != other.shape:
        return False
    return one.stride() == other.stride() and one.storage_offset() == other.storage_offset()
