"""The private torch API that the torch side of symbolic_shapes uses.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

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
from torch.utils._mode_utils import no_dispatch
from torch.utils._sympy import functions as heads
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

TorchSymNode: Any = sym_node.SymNode
"""As Any: our nodes differ from torch's in their contents, not in their results."""

_PROXY = torch._C._TorchDispatchModeKey.PROXY
_get_mode = torch._C._get_dispatch_mode
below_autograd = torch._C._AutoDispatchBelowAutograd
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


DISABLES = "every dynamic shape"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch._C:_AutoDispatchBelowAutograd", "a fake tensor's layout is set anew, without autograd's knowledge"),
    Symbol("torch._guards:SLoc", "where a guard or a range of torch's ShapeEnv came from"),
    Symbol("torch._guards:Source", "the type of the sources that torch's ShapeEnv and FakeTensorMode hand over"),
    Symbol("torch._library.utils:is_builtin", "which operators torch itself has registered"),
    Symbol("torch._ops:HigherOrderOperator", "operators that take functions"),
    Symbol("torch._ops:OpOverload", "operators"),
    Symbol("torch._ops:mode_stack_state_for_pre_dispatch", "whether a make_fx tracer is active before dispatch"),
    Symbol("torch._subclasses.fake_tensor:FakeTensor", "fake tensors"),
    Symbol("torch._subclasses.fake_tensor:FakeTensorMode", "makes the fake tensors and runs meta kernels on them"),
    Symbol(
        "torch._subclasses.fake_tensor:in_kernel_invocation_manager",
        "a fake tensor is seen as the meta tensor that it is, to build views of it",
    ),
    Symbol("torch.fx.experimental:sym_node", "the protocol of SymNode"),
    Symbol(
        "torch.fx.experimental.proxy_tensor:handle_sym_dispatch",
        "a make_fx tracer around us sees arithmetic on sizes",
    ),
    Symbol(
        "torch.fx.experimental.sym_node:METHOD_TO_OPERATOR",
        "which operations the nodes of the installed torch have",
    ),
    Symbol("torch.utils._mode_utils:no_dispatch", "a FakeTensor is made outside of all modes"),
    Symbol("torch.fx.experimental.symbolic_shapes:DimDynamic", "how the meta converter asks for a dimension"),
    Symbol(
        "torch.fx.experimental.symbolic_shapes:GuardOnDataDependentSymNode",
        "the error that torch's own code catches",
    ),
    Symbol("torch.fx.experimental.symbolic_shapes:RuntimeAssert", "runtime assertions as torch reads them"),
    Symbol("torch.fx.experimental.symbolic_shapes:ShapeEnvSettings", "the values that the FakeTensor cache compares"),
    Symbol("torch.fx.experimental.symbolic_shapes:ShapeGuard", "the parts of guards that torch reads"),
    Symbol(
        "torch.fx.experimental.symbolic_shapes:StatelessSymbolicContext",
        "how the meta converter asks for a dimension",
    ),
    Symbol(
        "torch.fx.experimental.symbolic_shapes:StrictMinMaxConstraint",
        "how the meta converter asks for a dimension",
    ),
    Symbol("torch.fx.experimental.symbolic_shapes:SymbolicContext", "how the meta converter asks for a dimension"),
    Symbol(
        "torch.fx.experimental.symbolic_shapes:_eval_is_non_overlapping_and_dense_flat",
        "the value of that question for numbers",
    ),
    Symbol("torch.fx.experimental.symbolic_shapes:_ShapeEnvGuardError", "the error that torch's own code catches"),
    Symbol("torch.utils._sympy:functions", "the heads of sympy expressions that torch's passes match on"),
    Symbol("torch.utils._sympy.numbers:int_oo", "no bound, in range constraints"),
    Symbol("torch.utils._sympy.value_ranges:ValueRanges", "range constraints"),
    Symbol("torch.fx.experimental.sym_node:SymNode", "the base class of our nodes: torch tests with isinstance"),
    Symbol("torch._C:_TorchDispatchModeKey.PROXY", "the slot of a make_fx tracer"),
    Symbol("torch._C:_get_dispatch_mode", "whether a make_fx tracer is active"),
    Symbol("torch:_functionalize_unsafe_set", "one meta tensor takes another's storage, without questions about it"),
)

__all__ = [
    "METHOD_TO_OPERATOR", "DimDynamic", "FakeTensor", "FakeTensorMode", "GuardOnDataDependentSymNode",
    "HigherOrderOperator", "OpOverload", "RuntimeAssert", "ShapeEnvSettings", "ShapeGuard", "SLoc", "Source",
    "StatelessSymbolicContext", "StrictMinMaxConstraint", "SymbolicContext", "TorchSymNode", "ValueRanges",
    "_ShapeEnvGuardError", "_eval_is_non_overlapping_and_dense_flat", "handle_sym_dispatch", "no_dispatch",
    "heads", "in_kernel_invocation_manager", "int_oo", "is_builtin", "make_fx_mode", "resize_storage_bytes_",
    "share_storage_", "sym_node",
]
