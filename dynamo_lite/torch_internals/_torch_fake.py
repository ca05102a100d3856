"""The private torch API for FakeTensors.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from torch._subclasses.fake_tensor import FakeTensor as FakeTensor

from symbolic_shapes.torch_versions import Symbol

DISABLES = "every export and trace"
"""What does not work if one of these is missing."""

SYMBOLS = (
    Symbol("torch._subclasses.fake_tensor:FakeTensor", "stand-ins for tensors"),
)

__all__ = [
    "FakeTensor",
]
