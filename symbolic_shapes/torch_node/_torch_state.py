"""The private torch API for switches of the process.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from torch._C import _get_default_device as _get_default_device

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "every dynamic shape"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch._C:_get_default_device", "the device of tensors made without one"),
)

__all__ = [
    "_get_default_device",
]
