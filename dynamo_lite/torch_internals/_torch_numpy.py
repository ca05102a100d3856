"""The private torch API for arrays that are tensors.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

import torch._numpy as arrays

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "programs with numpy arrays; the import of the tracer"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch:_numpy", "numpy arrays in the program, as torch._numpy implements them"),
)

__all__ = ["arrays"]
