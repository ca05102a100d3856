"""The private torch API for autograd functions.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._C import _current_autograd_node
from torch._C._autograd import _get_sequence_nr as next_sequence_number
from torch._functorch.autograd_function import autograd_function_apply as autograd_function_apply
from torch._higher_order_ops.wrap import wrap_with_set_grad_enabled as wrap_with_set_grad_enabled
from torch.nn.modules._functions import BackwardHookFunction as BackwardHookFunction

from dynamo_lite.symbolic_shapes.torch_versions import Symbol, Variant, current

DISABLES = "every export and trace"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch._C:_current_autograd_node", "which forward operator an operator of a backward belongs to"),
    Symbol("torch._C:_FunctionBase._sequence_nr", "which forward operator an operator of a backward belongs to"),
    Symbol("torch._C._autograd:_get_sequence_nr", "which forward operator an operator of a backward belongs to"),
    Symbol("torch.autograd:Function.apply", "a call of a Function is answered by a rule: the operators of its forward"),
    Symbol("torch._functorch.autograd_function:autograd_function_apply", "the backward of a Function in a program"),
    Symbol("torch.nn.modules._functions:BackwardHookFunction", "the Function around a module with backward hooks"),
    Symbol("torch._higher_order_ops.wrap:wrap_with_set_grad_enabled", "several values as one, in its sub-graphs"),
)


def number_in_backward() -> int | None:
    """The sequence number of the autograd node that the engine evaluates now; None outside of a backward."""
    node = _current_autograd_node()
    return None if node is None else int(node._sequence_nr())


def _python_function() -> Any:
    """A classmethod written in Python: tables are keyed by its function."""
    return torch.autograd.Function.__dict__["apply"].__func__


def _c_descriptor() -> Any:
    """A classmethod of torch._C._FunctionBase: tables are keyed by the descriptor, as for any method written in C."""
    return torch.autograd.Function.__dict__["apply"]


function_apply: Any = current(Variant(_python_function, until=(2, 14)), Variant(_c_descriptor, since=(2, 14)))
"""function_apply(): the object by which tables identify a call of `Function.apply`."""

APPLY_IS_PYTHON: bool = current(Variant(True, until=(2, 14)), Variant(False, since=(2, 14)))

__all__ = [
    "APPLY_IS_PYTHON",
    "BackwardHookFunction",
    "autograd_function_apply",
    "function_apply",
    "next_sequence_number",
    "number_in_backward",
    "wrap_with_set_grad_enabled",
]
