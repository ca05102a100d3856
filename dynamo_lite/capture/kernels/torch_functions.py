"""Functions of torch that are recorded as others: torch.equal and torch.allclose, torch.einsum of many tensors.

The first two give a Python bool in eager, which C++ reads from the data at once. Both are elementwise comparisons
reduced by `all()` (aten/src/ATen/native/TensorCompare.cpp, allclose; cpu_equal in ReduceOps.cpp). Recorded as these,
the answer is a bool that run time knows, and a branch on it is like any other.
"""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch.backends import opt_einsum


def equal(_: Any, input: torch.Tensor, other: torch.Tensor) -> Any:
    """torch.equal(input, other): False for other sizes. NaN equals nothing, itself included."""
    if input.dtype != other.dtype:
        return torch.equal(input, other)  # promoted by rules of its own: refused, as it needs the data
    if input.shape != other.shape:
        return False
    return torch.eq(input, other).all().item()


def allclose(
    _: Any,
    input: torch.Tensor,
    other: torch.Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Any:
    """torch.allclose. Raises RuntimeError for tensors of different dtypes, as eager does."""
    return torch.isclose(input, other, rtol, atol, equal_nan).all().item()


def einsum(*args: Any) -> Any:
    """torch.einsum(*args), with the order of contraction for the example's sizes if sizes vary.

    If opt_einsum is installed, torch uses it to order three or more tensors for the fewest multiplications, which takes
    the number of every size. The order changes how much there is to compute, and rounding; so no size is fixed for it.
    Checked against torch 2.13.0 (torch/functional.py, einsum).
    """
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
