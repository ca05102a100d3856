"""The private torch API for operators and higher-order operators, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

from torch._higher_order_ops.flex_attention import create_fw_bw_graph as create_fw_bw_graph
from torch._ops import HigherOrderOperator as HigherOrderOperator
from torch._ops import OpOverload as OpOverload

__all__ = [
    "HigherOrderOperator",
    "OpOverload",
    "create_fw_bw_graph",
]
