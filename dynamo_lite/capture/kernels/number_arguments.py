"""Where torch's C code takes a number and no symbol: F.interpolate(x, scale_factor=n), x.std(correction=k).

Its argument parser and its schemas say so by a TypeError, or a RuntimeError of one wording. The call is then made again
with the numbers: they are facts of the program, or a refusal where only run time knows them.

A symbolic bool as an operand (`x * (n > 0)`) becomes a symbolic int: torch's rules convert an operand to the tensor's
dtype with int() or float(), and int() of a SymBool takes its value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import PYTHON_TYPE

_CONTAINERS = (list, tuple)


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
    if type(value) in _CONTAINERS and _holds(value):
        return type(value)(map(plain, value))
    return value


def _holds(value: Any) -> bool:
    return type(value) in PYTHON_TYPE or (type(value) in _CONTAINERS and any(map(_holds, value)))


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
