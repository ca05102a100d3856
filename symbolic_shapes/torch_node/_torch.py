"""The private torch API that the torch side of symbolic_shapes stands on, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

from typing import Any

import torch
from torch._guards import SLoc, Source
from torch._library.utils import is_builtin
from torch._ops import HigherOrderOperator, OpOverload, mode_stack_state_for_pre_dispatch
from torch._subclasses.fake_tensor import (
    FakeTensor,
    FakeTensorMode,
    in_kernel_invocation_manager,
)
from torch.fx.experimental import sym_node
from torch.fx.experimental.proxy_tensor import handle_sym_dispatch
from torch.fx.experimental.sym_node import METHOD_TO_OPERATOR
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    GuardOnDataDependentSymNode,
    RuntimeAssert,
    ShapeEnvSettings,
    ShapeGuard,
    StatelessSymbolicContext,
    StrictMinMaxConstraint,
    SymbolicContext,
    _eval_is_non_overlapping_and_dense_flat,
    _ShapeEnvGuardError,
)
from torch.utils._sympy import functions as heads
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

TorchSymNode: Any = sym_node.SymNode
"""As Any: our nodes differ from torch's in what they hold, not in what they answer."""

_PROXY = torch._C._TorchDispatchModeKey.PROXY
_get_mode = torch._C._get_dispatch_mode
resize_storage_bytes_ = torch.ops.inductor.resize_storage_bytes_.default
"""resize_storage_bytes_(tensor, n): sets the size of a meta tensor's storage, which may be symbolic. No questions."""
share_storage_ = torch._functionalize_unsafe_set
"""share_storage_(dst, src): dst's storage becomes src's; sizes, strides and offset stay. No checks, no questions."""


def make_fx_mode() -> Any:
    """The make_fx tracer that wants to see arithmetic on sizes, or None.

    As `proxy_tensor.get_proxy_mode`, except that a mode which has the type but no tracer (dynamo_lite's capture is one:
    torch/_ops.py admits no other type at the PreDispatch key) is not one.
    """
    mode = _get_mode(_PROXY)
    if mode is None:
        mode = mode_stack_state_for_pre_dispatch().get(0)
        if mode is None:
            return None
    return mode if hasattr(mode, "tracer") else None


__all__ = [
    "METHOD_TO_OPERATOR", "DimDynamic", "FakeTensor", "FakeTensorMode", "GuardOnDataDependentSymNode",
    "HigherOrderOperator", "OpOverload", "RuntimeAssert", "ShapeEnvSettings", "ShapeGuard", "SLoc", "Source",
    "StatelessSymbolicContext", "StrictMinMaxConstraint", "SymbolicContext", "TorchSymNode", "ValueRanges",
    "_ShapeEnvGuardError", "_eval_is_non_overlapping_and_dense_flat", "handle_sym_dispatch",
    "heads", "in_kernel_invocation_manager", "int_oo", "is_builtin", "make_fx_mode", "resize_storage_bytes_",
    "share_storage_", "sym_node",
]
