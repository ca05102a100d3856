"""A symbolic bool as an operand: `x * (n > 0)`.

torch's rules convert an operand to the tensor's dtype with int() or float(), and int() of a SymBool takes its value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


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
