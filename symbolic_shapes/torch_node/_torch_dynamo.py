"""The private torch API for what TorchDynamo registers and marks.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from torch._dynamo.source import TensorProperty as TensorProperty
from torch._dynamo.source import TensorPropertySource as TensorPropertySource

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "every dynamic shape"
"""What does not work if one of these is missing."""

SYMBOLS = (
    Symbol("torch._dynamo.source:TensorProperty", "the source of a size, a stride or an offset of an input"),
    Symbol("torch._dynamo.source:TensorPropertySource", "the source of a size, a stride or an offset of an input"),
)

__all__ = [
    "TensorProperty",
    "TensorPropertySource",
]
