"""The private torch API for dispatch keys and modes, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

from torch._C import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from torch._C import _dispatch_keys as _dispatch_keys

__all__ = [
    "DisableTorchFunctionSubclass",
    "_dispatch_keys",
]
