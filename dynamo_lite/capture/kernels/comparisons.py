"""torch.equal and torch.allclose: a Python bool in eager, which C++ reads from the data at once.

Both are elementwise comparisons reduced by `all()` (aten/src/ATen/native/TensorCompare.cpp, allclose; cpu_equal in
ReduceOps.cpp). Recorded as these, the answer is a bool that run time knows, and a branch on it is like any other.
"""

from __future__ import annotations

from typing import Any

import torch


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
