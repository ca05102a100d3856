"""The private torch API for switches of the process, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

from torch._C import _get_sdp_priority_order as _get_sdp_priority_order
from torch._C import _set_deterministic_algorithms as _set_deterministic_algorithms
from torch._C import _set_grad_enabled as _set_grad_enabled
from torch._C import _set_sdp_priority_order as _set_sdp_priority_order

__all__ = [
    "_get_sdp_priority_order",
    "_set_deterministic_algorithms",
    "_set_grad_enabled",
    "_set_sdp_priority_order",
]
