"""`copy.deepcopy` of tensors: copies of tensors that share memory share the memory of the copies.

torch copies the whole storage once per memo and gives each copy the sizes, strides and offset of its original
(torch/_tensor.py). Here the memory of the first tensor's base is cloned once, and the copies are views of the clone.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from dynamo_lite.capture._torch import statically_known_true
from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.capture.fakes import fake_attributes, wrapper_subclasses
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.fakes.results import base_of

if TYPE_CHECKING:
    from dynamo_lite.capture.interfaces import OperatorRecording

_KEY = "torch"  # where torch notes the copies of storages in the memo


@dataclass(frozen=True)
class _CopiedMemory:
    """`copied` is a clone of the memory that `original` shows, from the element `start` to `end`."""

    original: torch.Tensor
    copied: torch.Tensor
    start: Any
    end: Any


def deep_copy(recorder: OperatorRecording, tensor: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
    """`tensor.__deepcopy__(memo)`, where the memo does not have the tensor yet: a leaf."""
    fake = recorder.lift(tensor)
    if not _has_memory_to_share(tensor, fake):
        made = tensor.detach().clone()
    elif fake.is_conj() or fake.is_neg():
        made = tensor.detach().clone().resolve_conj().resolve_neg()
    else:
        made = _within_copied_memory(recorder, fake, memo.setdefault(_KEY, {}))  # type: ignore[call-overload]
    made.requires_grad_(tensor.requires_grad)
    if isinstance(tensor, nn.Parameter):
        made._is_param = True
    elif fake_attributes.of_the_user(tensor):
        vars(made).update(recorder.eagerly(copy.deepcopy, fake_attributes.of_the_user(tensor), memo))
    return made


def _has_memory_to_share(tensor: torch.Tensor, fake: torch.Tensor) -> bool:
    """Parameters are cloned each (torch/nn/parameter.py), as are tensors whose storage Python does not see."""
    if isinstance(tensor, nn.Parameter) or wrapper_subclasses.is_wrapper(fake):
        return False
    return fake.layout is torch.strided and fake.device.type != "meta" and not fake.is_quantized


def _within_copied_memory(
    recorder: OperatorRecording, tensor: torch.Tensor, copies: dict[int, _CopiedMemory]
) -> torch.Tensor:
    key = storage_key(tensor)
    known = copies.get(key)
    if known is None:
        base = base_of(tensor)
        is_known = base is not None and base in recorder.level.nodes and base.dtype == tensor.dtype
        known = copies[key] = _copied(recorder, base if is_known else tensor)  # type: ignore[arg-type]
        if known.original is tensor:
            return known.copied
    start, end = _extent(tensor)
    inside = statically_known_true(start >= known.start) and statically_known_true(end <= known.end)
    if not inside or tensor.dtype != known.copied.dtype:
        what = "it is given tensors that share memory, of which the first shows a part only, or as another dtype"
        raise CaptureError(
            "no-meta-kernel", what, "copy the tensor that has all of it first", {"operator": "deepcopy", "reason": what}
        )
    recorder.layout.ask("strides")
    recorder.layout.ask("offset")
    sizes, strides = tuple(tensor.shape), tensor.stride()
    with torch.no_grad():
        return known.copied.as_strided(sizes, strides, start - known.start).detach()


def _copied(recorder: OperatorRecording, base: torch.Tensor) -> _CopiedMemory:
    start, end = _extent(base)
    source = base.detach()
    if _may_have_gaps(base, end - start):  # clone() would give it other strides
        recorder.layout.ask("strides")
        recorder.layout.ask("offset")
        memory = source.as_strided((end - start,), (1,), start).clone()
        return _CopiedMemory(base, memory.as_strided(tuple(base.shape), base.stride(), 0).detach(), start, end)
    return _CopiedMemory(base, source.clone(), start, end)


def _may_have_gaps(tensor: torch.Tensor, span: Any) -> bool:
    """Whether a tensor with elements may have gaps between them, or repeat some."""
    return not statically_known_true(tensor.numel() == 0) and not statically_known_true(tensor.numel() == span)


def _extent(tensor: torch.Tensor) -> tuple[Any, Any]:
    """The elements of the storage from the first to the last that a tensor shows, the end excluded."""
    start = tensor.storage_offset()
    return start, start + sum(((n - 1) * s for n, s in zip(tensor.shape, tensor.stride())), 1)
