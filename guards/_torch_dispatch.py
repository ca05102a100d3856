"""The private torch API for dispatch keys and modes.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from torch._C import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from torch._C import _dispatch_keys as _dispatch_keys

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "guards on tensors"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol(
        "torch._C:DisableTorchFunctionSubclass",
        "__torch_function__ of subclasses off while the tracer itself works",
    ),
    Symbol("torch._C:_dispatch_keys", "the keys of a tensor, in guards"),
)

__all__ = [
    "DisableTorchFunctionSubclass",
    "_dispatch_keys",
]
