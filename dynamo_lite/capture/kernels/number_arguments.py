"""Numbers that torch's C code does not take as symbols: F.interpolate(x, scale_factor=n), x.std(correction=k).

Its argument parser and its schemas raise a TypeError, or a RuntimeError with a fixed message. The call is then repeated
with the numbers: they become facts of the program, or a graph break if they are unbacked.

A symbolic bool as an operand (`x * (n > 0)`) becomes a symbolic int: torch's rules convert an operand to the tensor's
dtype with int() or float(), and int() of a SymBool takes its value.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import PYTHON_TYPE

_SEQUENCES = (list, tuple)


def may_need_numbers(error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the error may be about a symbol among the arguments."""
    if not isinstance(error, TypeError) and "Expected a value of type" not in str(error):
        return False
    return "Sym" in str(error) and any(map(_holds, (*args, *kwargs.values())))


def plain(value: Any) -> Any:
    """The value with numbers in place of symbols, in new lists and tuples.

    Raises: GuardOnDataDependentSymNode if only run time knows one.
    """
    kind = PYTHON_TYPE.get(type(value))
    if kind is not None:
        return kind(value.node.evaluate())
    if type(value) in _SEQUENCES and _holds(value):
        return type(value)(map(plain, value))
    return value


def _holds(value: Any) -> bool:
    return type(value) in PYTHON_TYPE or (type(value) in _SEQUENCES and any(map(_holds, value)))


def as_numbers(args: Sequence[Any]) -> Sequence[Any]:
    """The operands of an operator with a SymInt, one or zero, for each SymBool.

    Not beside a tensor of bools, nor without any tensor: there the result may be bools, and of ints it would be ints.
    """
    if not any(type(arg) is torch.SymBool for arg in args):
        return args
    tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
    if not tensors or any(tensor.dtype is torch.bool for tensor in tensors):
        return args
    return tuple(torch.sym_ite(arg, 1, 0) if type(arg) is torch.SymBool else arg for arg in args)


_POWERS: dict[Any, Any] = {
    torch.ops.aten.pow.Tensor_Scalar: torch.ops.aten.pow.Tensor_Tensor,
    torch.ops.aten.pow.Scalar: torch.ops.aten.pow.Tensor_Tensor,
    torch.ops.aten.pow_.Scalar: torch.ops.aten.pow_.Tensor,
}
"""`v ** n` and `n ** v`, n a size or an int of the data, if autograd runs during the trace (torch.func.grad).

To compute a power's gradient, torch checks in C++ whether the number is zero, which fails for a symbolic int (torch
2.13: "NYI SymInt equality"). A tensor with the number gives the same powers, and a gradient without the check.
"""


def of_powers(mode: AbstractContextManager[Any], func: Any, args: Any) -> tuple[Any, Any]:
    """The operator and its arguments, or those that do the same with a tensor for the number. mode: what records them.

    Not for ints, of which a negative power is an error with a number.
    """
    if func not in _POWERS or all(type(arg) is not torch.SymInt for arg in args):
        return func, args
    tensor = next(arg for arg in args if isinstance(arg, torch.Tensor))
    if not tensor.is_floating_point() and not tensor.is_complex():
        return func, args
    with mode:
        powers = tuple(_as_tensor(arg, tensor.device) if type(arg) is torch.SymInt else arg for arg in args)
    return _POWERS[func], powers


def _as_tensor(number: Any, device: torch.device) -> torch.Tensor:
    return torch.scalar_tensor(number, dtype=torch.int64, device=device)
