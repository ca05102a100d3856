"""The private torch API that capture stands on, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

from torch._dispatch.python import enable_python_dispatcher
from torch._functorch.autograd_function import custom_function_call
from torch._functorch.pyfunctorch import (
    VmapInterpreter,
    dispatch_functorch,
    retrieve_all_functorch_interpreters,
    temporarily_clear_interpreter_stack,
)
from torch._higher_order_ops.base_hop import FunctionWithNoFreeVars
from torch._ops import HigherOrderOperator, OpOverload, _higher_order_ops
from torch._subclasses.fake_impls import fast_detach
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
    in_kernel_invocation_manager,
)
from torch.amp.autocast_mode import _enter_autocast, _exit_autocast
from torch.fx.experimental.proxy_tensor import (
    PreDispatchTorchFunctionMode,
    ProxyTorchDispatchMode,
    disable_autocast_cache,
)
from torch.fx.experimental.symbolic_shapes import CallMethodKey, ConvertIntKey, DivideByKey
from torch.fx.passes.shape_prop import _extract_tensor_metadata
from torch.utils._python_dispatch import _disable_current_modes, _pop_mode_temporarily

__all__ = [
    "CallMethodKey",
    "ConvertIntKey",
    "DivideByKey",
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
    "FakeTensor",
    "FakeTensorMode",
    "FunctionWithNoFreeVars",
    "HigherOrderOperator",
    "OpOverload",
    "PreDispatchTorchFunctionMode",
    "ProxyTorchDispatchMode",
    "_enter_autocast",
    "_exit_autocast",
    "_higher_order_ops",
    "custom_function_call",
    "VmapInterpreter",
    "dispatch_functorch",
    "retrieve_all_functorch_interpreters",
    "temporarily_clear_interpreter_stack",
    "_disable_current_modes",
    "_pop_mode_temporarily",
    "_extract_tensor_metadata",
    "disable_autocast_cache",
    "enable_python_dispatcher",
    "fast_detach",
    "in_kernel_invocation_manager",
]
