"""The private torch API for what TorchDynamo registers and marks, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

from torch._dynamo.source import TensorProperty as TensorProperty
from torch._dynamo.source import TensorPropertySource as TensorPropertySource

__all__ = [
    "TensorProperty",
    "TensorPropertySource",
]
