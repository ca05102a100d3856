"""The private torch API for FakeTensors, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

from torch._subclasses.fake_tensor import FakeTensor as FakeTensor

__all__ = [
    "FakeTensor",
]
