"""FakeTensors of constant sizes for tensors without a source, without TorchDynamo.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._guards import Source
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._mode_utils import no_dispatch

from dynamo_lite.symbolic_shapes.torch_node._torch_dynamo_config import is_loaded
from dynamo_lite.symbolic_shapes.torch_versions import Symbol


class UnnamedSource(Source):
    """Replaces ConstantSource, for which torch's converter would import TorchDynamo."""

    @property
    def _name_template(self) -> str:
        return "__unknown_tensor"


def constant_fake(mode: FakeTensorMode, tensor: torch.Tensor) -> FakeTensor:
    """`mode.from_tensor(tensor, static_shapes=True)`. If that would be the first to import TorchDynamo, only the part
    of it that applies to an ordinary tensor (FakeTensorConverter.from_real_tensor)."""
    if is_loaded() or not (mode.fake_tensor_converter.export and _is_ordinary(tensor)):
        return mode.from_tensor(tensor, static_shapes=True)

    def make(make_meta: Any, device: torch.device | str) -> FakeTensor:
        with no_dispatch():
            return FakeTensor(mode, make_meta(), torch.device(device))

    converter: Any = mode.fake_tensor_converter.meta_converter
    made: FakeTensor = converter(tensor, callback=make, source=UnnamedSource(), trace=False)
    return made


def _is_ordinary(tensor: torch.Tensor) -> bool:
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.layout is torch.strided
        and tensor.device.type in ("cpu", "cuda", "meta")
        and tensor._base is None
        and tensor.is_leaf
        and tensor.grad is None
        and (not tensor.requires_grad or tensor.grad_dtype == tensor.dtype)
        and not (tensor.is_conj() or tensor.is_neg() or tensor.is_quantized or tensor.is_inference())
        and not hasattr(tensor, "_is_buffer")
    )


DISABLES = "every export"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch._guards:Source", "the source of a tensor without a name"),
    Symbol("torch._subclasses.fake_tensor:FakeTensor", "the results"),
    Symbol("torch._subclasses.fake_tensor:FakeTensorMode", "whose converter is used"),
    Symbol("torch._subclasses.fake_tensor#meta_converter", "the part of the converter that makes meta tensors"),
    Symbol("torch.utils._mode_utils:no_dispatch", "a FakeTensor is made outside of all modes"),
)

__all__ = ["constant_fake"]
