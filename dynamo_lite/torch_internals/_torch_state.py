"""The private torch API for switches of the process.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from torch import _GLOBAL_DEVICE_CONTEXT as _GLOBAL_DEVICE_CONTEXT
from torch._C import _get_fp32_precision_getter as _get_fp32_precision_getter
from torch._C import _get_sdp_priority_order as _get_sdp_priority_order
from torch._C import _set_deterministic_algorithms as _set_deterministic_algorithms
from torch._C import _set_fp32_precision_setter as _set_fp32_precision_setter
from torch._C import _set_grad_enabled as _set_grad_enabled
from torch._C import _set_sdp_priority_order as _set_sdp_priority_order

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "every export and trace"
"""What does not work if one of these is missing."""

SYMBOLS = (
    Symbol("torch:_GLOBAL_DEVICE_CONTEXT", "whether a default device was set, which a guard asks at each check"),
    Symbol("torch._C:_get_fp32_precision_getter", "the precision of float32 operators is put back after a run"),
    Symbol("torch._C:_get_sdp_priority_order", "the order of attention kernels is put back after a run"),
    Symbol("torch._C:_set_deterministic_algorithms", "the setting is put back after a run"),
    Symbol("torch._C:_set_fp32_precision_setter", "the precision of float32 operators is put back after a run"),
    Symbol("torch._C:_set_grad_enabled", "grad mode is put back after a run, without a guard of its own"),
    Symbol("torch._C:_set_sdp_priority_order", "the order of attention kernels is put back after a run"),
)

__all__ = [
    "_GLOBAL_DEVICE_CONTEXT",
    "_get_fp32_precision_getter",
    "_get_sdp_priority_order",
    "_set_deterministic_algorithms",
    "_set_fp32_precision_setter",
    "_set_grad_enabled",
    "_set_sdp_priority_order",
]
