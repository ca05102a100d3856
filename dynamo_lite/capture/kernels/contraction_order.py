"""torch.einsum of three or more tensors whose sizes vary: in which order they are contracted.

Where opt_einsum is installed, torch asks it for the order with the fewest multiplications, and it takes the number of
every size. The order changes how much there is to compute, and rounding; so the order for the example's sizes is the
program's, and no size is fixed. Checked against torch 2.13.0 (torch/functional.py, einsum).
"""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch.backends import opt_einsum


def einsum(*args: Any) -> Any:
    """torch.einsum(*args), with the order of contraction that the example's sizes give if sizes vary."""
    if len(args) == 2 and isinstance(args[1], (list, tuple)):
        args = (args[0], *args[1])
    if len(args) < 4 or type(args[0]) is not str or not (opt_einsum.enabled and opt_einsum.is_available()):
        return torch.functional.einsum(*args)
    equation, operands = args[0], args[1:]
    if not all(isinstance(operand, torch.Tensor) for operand in operands):
        return torch.functional.einsum(*args)
    if not any(type(size) is torch.SymInt for operand in operands for size in operand.shape):
        return torch.functional.einsum(*args)
    shapes = [[_in_example(size) for size in operand.shape] for operand in operands]
    return torch.ops.aten.einsum.default(equation, operands, path=_order(equation, shapes))


def _in_example(size: Any) -> int | None:
    if type(size) is not torch.SymInt:
        return int(size)
    return int(size.node.hint) if size.node.has_hint() else None


def _order(equation: str, shapes: list[list[int | None]]) -> list[int] | None:
    """Pairs of operands, as torch.einsum passes them on. None (from left to right) if only run time knows a size."""
    if any(size is None for shape in shapes for size in shape):
        return None
    found = opt_einsum.get_opt_einsum().contract_path(
        equation, *map(tuple, shapes), shapes=True, optimize=opt_einsum.strategy
    )[0]
    return [*itertools.chain.from_iterable(found)]
