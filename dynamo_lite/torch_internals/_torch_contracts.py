"""The private torch API that the doctor's questions are about (dynamo_lite/doctor/contracts.py).

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._decomp.decompositions import dropout as dropout_decomposition
from torch._dispatch.python import enable_python_dispatcher
from torch._export.serde.schema import SCHEMA_VERSION
from torch._ops import _set_mode_pre_dispatch as set_mode_pre_dispatch
from torch._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from torch.fx.experimental.sym_node import METHOD_TO_OPERATOR, SymNode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import keystr
from torch.utils._sympy.symbol import SymT, symbol_is_type

from dynamo_lite.symbolic_shapes.torch_versions import Symbol


def called_module() -> Any:
    """The function that `Module.__call__` is when no hook is set."""
    return torch.nn.Module._wrapped_call_impl


def mark_dynamic(*args: Any, **kwargs: Any) -> None:
    """torch._dynamo.mark_dynamic."""
    from torch._dynamo import mark_dynamic

    mark_dynamic(*args, **kwargs)


def unbacked_kinds() -> Any:
    """The kinds of symbols that have no value in the example."""
    return (SymT.UNBACKED_INT, SymT.UNBACKED_FLOAT)


DISABLES = "the doctor's contracts"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch.nn:Module._wrapped_call_impl", "a call of a module"),
    Symbol("torch._dynamo:mark_dynamic", "marks of dynamic sizes"),
    Symbol("torch._decomp.decompositions:dropout", "the result of a dropout that is off"),
    Symbol("torch._dispatch.python:enable_python_dispatcher", "which operators a mode sees"),
    Symbol("torch._export.serde.schema:SCHEMA_VERSION", "which saved programs can be loaded"),
    Symbol("torch._ops:_set_mode_pre_dispatch", "which modes are admitted"),
    Symbol("torch._subclasses.fake_tensor:DynamicOutputShapeException", "operators whose result needs data"),
    Symbol("torch._subclasses.fake_tensor:FakeTensor", "the class of fake tensors"),
    Symbol("torch._subclasses.fake_tensor:FakeTensorMode", "the mode that makes them"),
    Symbol("torch.fx.experimental.proxy_tensor:ProxyTorchDispatchMode", "which modes are admitted"),
    Symbol("torch.fx.experimental.sym_node:METHOD_TO_OPERATOR", "which operations nodes have"),
    Symbol("torch.fx.experimental.sym_node:SymNode", "the queries of a node"),
    Symbol("torch.utils:_pytree", "keys of containers"),
    Symbol("torch.utils._python_dispatch:TorchDispatchMode", "the operators that a mode sees"),
    Symbol("torch.utils._pytree:keystr", "a path of keys as text"),
    Symbol("torch.utils._sympy.symbol:SymT", "kinds of symbols"),
    Symbol("torch.utils._sympy.symbol:symbol_is_type", "kinds of symbols"),
)

__all__ = [
    "METHOD_TO_OPERATOR",
    "SCHEMA_VERSION",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "ProxyTorchDispatchMode",
    "SymNode",
    "TorchDispatchMode",
    "called_module",
    "dropout_decomposition",
    "enable_python_dispatcher",
    "keystr",
    "mark_dynamic",
    "pytree",
    "set_mode_pre_dispatch",
    "symbol_is_type",
    "unbacked_kinds",
]
