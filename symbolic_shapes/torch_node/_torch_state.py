"""The private torch API for switches of the process, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

from torch._C import _get_default_device as _get_default_device

__all__ = [
    "_get_default_device",
]
