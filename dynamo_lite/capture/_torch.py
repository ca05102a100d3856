"""The private torch API that capture uses.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from typing import Any

from torch._C import _VariableFunctions
from torch._dispatch.python import enable_python_dispatcher
from torch._functorch.autograd_function import custom_function_call
from torch._functorch.pyfunctorch import (
    VmapInterpreter,
    dispatch_functorch,
    retrieve_all_functorch_interpreters,
    temporarily_clear_interpreter_stack,
)
from torch._higher_order_ops.base_hop import FunctionWithNoFreeVars
from torch._library.custom_ops import OPDEFS
from torch._ops import _higher_order_ops
from torch._subclasses.fake_impls import fast_detach
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from torch.amp.autocast_mode import _enter_autocast, _exit_autocast
from torch.fx.experimental.proxy_tensor import (
    PreDispatchTorchFunctionMode,
    ProxyTorchDispatchMode,
    disable_autocast_cache,
)
from torch.fx.experimental.symbolic_shapes import (
    CallMethodKey,
    ConvertIntKey,
    DivideByKey,
    statically_known_true,
)
from torch.fx.passes.shape_prop import TensorMetadata, _extract_tensor_metadata
from torch.utils._python_dispatch import _pop_mode_temporarily

from dynamo_lite.symbolic_shapes.torch_versions import Symbol
from dynamo_lite.torch_internals._torch_dispatch import _disable_current_modes
from dynamo_lite.torch_internals._torch_fake import FakeTensor, FakeTensorMode, in_kernel_invocation_manager
from dynamo_lite.torch_internals._torch_operators import HigherOrderOperator, OpOverload

DISABLES = "every export and trace"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch._C:_VariableFunctions", "packed sequences whose lengths are data"),
    Symbol("torch._dispatch.python:enable_python_dispatcher", "a mode at the PreDispatch key works only with it on"),
    Symbol(
        "torch._functorch.autograd_function:custom_function_call",
        "autograd.Function inside of a functorch transform",
    ),
    Symbol("torch._functorch.pyfunctorch:VmapInterpreter", "operators inside of vmap"),
    Symbol("torch._functorch.pyfunctorch:dispatch_functorch", "operators inside of functorch transforms"),
    Symbol(
        "torch._functorch.pyfunctorch:retrieve_all_functorch_interpreters",
        "operators inside of functorch transforms",
    ),
    Symbol(
        "torch._functorch.pyfunctorch:temporarily_clear_interpreter_stack",
        "operators outside of the functorch transforms around them",
    ),
    Symbol("torch._higher_order_ops.base_hop:FunctionWithNoFreeVars", "the branches of eager higher-order operators"),
    Symbol("torch._library.custom_ops:OPDEFS", "the custom operators that are written in Python"),
    Symbol("torch._library.custom_ops#_init_fn", "the Python code of a custom operator"),
    Symbol("torch._library.custom_ops#_backend_fns", "the Python code of a custom operator"),
    Symbol("torch._ops:_higher_order_ops", "which higher-order operators there are"),
    Symbol("torch._subclasses.fake_impls:fast_detach", "an alias of a fake tensor without a call of the dispatcher"),
    Symbol("torch._subclasses.fake_tensor:DataDependentOutputException", "an operator whose meta kernel needs data"),
    Symbol("torch._subclasses.fake_tensor:DynamicOutputShapeException", "an operator whose result's shape needs data"),
    Symbol("torch._subclasses.fake_tensor:UnsupportedFakeTensorException", "an operator without a meta kernel"),
    Symbol("torch._subclasses.fake_tensor:UnsupportedOperatorException", "an operator without a meta kernel"),
    Symbol("torch.amp.autocast_mode:_enter_autocast", "the node at which an autocast region starts"),
    Symbol("torch.amp.autocast_mode:_exit_autocast", "the node at which an autocast region ends"),
    Symbol(
        "torch.fx.experimental.proxy_tensor:PreDispatchTorchFunctionMode",
        "grad mode and autocast are seen as nodes",
    ),
    Symbol(
        "torch.fx.experimental.proxy_tensor:ProxyTorchDispatchMode",
        "the only type of mode that torch admits at the PreDispatch key",
    ),
    Symbol(
        "torch.fx.experimental.proxy_tensor:disable_autocast_cache",
        "each cast is a node of its own, as torch.export has it",
    ),
    Symbol(
        "torch.fx.experimental.symbolic_shapes:CallMethodKey",
        "the path from an operator's result to an unbacked symbol (node.meta['unbacked_bindings'])",
    ),
    Symbol(
        "torch.fx.experimental.symbolic_shapes:ConvertIntKey",
        "the path from an operator's result to an unbacked symbol (node.meta['unbacked_bindings'])",
    ),
    Symbol(
        "torch.fx.experimental.symbolic_shapes:DivideByKey",
        "the path from an operator's result to an unbacked symbol (node.meta['unbacked_bindings'])",
    ),
    Symbol(
        "torch.fx.experimental.symbolic_shapes:statically_known_true",
        "whether a relation of sizes holds without the example",
    ),
    Symbol("torch.fx.passes.shape_prop:TensorMetadata", "node.meta['tensor_meta']"),
    Symbol("torch.fx.passes.shape_prop:_extract_tensor_metadata", "node.meta['tensor_meta']"),
    Symbol("torch.utils._python_dispatch:_pop_mode_temporarily", "the recorder is off while an operator runs"),
)

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
    "TensorMetadata",
    "_enter_autocast",
    "_exit_autocast",
    "_higher_order_ops",
    "_pad_packed_sequence",
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
    "statically_known_true",
    "in_kernel_invocation_manager",
    "python_kernels",
]


_pad_packed_sequence: Any = _VariableFunctions._pad_packed_sequence


def python_kernels(operator: OpOverload) -> list[Any]:
    """The Python functions that a custom operator runs, as torch.library.custom_op has them."""
    definition: Any = OPDEFS.get(operator._schema.name)
    return [] if definition is None else [definition._init_fn, *definition._backend_fns.values()]
