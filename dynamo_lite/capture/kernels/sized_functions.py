"""Functions of torch whose C code takes a plain int where programs give a size: `F.max_pool1d(x, x.shape[-1])`.

With a symbol they are recorded as operators that take one, and that compute the same; where no rule holds, the number
is taken. Sources: RangeFactories.cpp, Onehot.cpp, Pool.h, TensorFactories.cpp in aten/src/ATen/native (torch 2.13.0).
`torch.linspace` adds and multiplies in another order than the vectorised kernel does, and a mean sums in another order
than pooling, so their last bits may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from dynamo_lite.capture.kernels.shape_rules import is_contiguous
from dynamo_lite.symbolic_shapes.expressions.relations import eq, ge
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES

aten = torch.ops.aten
_FLOATS = (torch.float32, torch.float64)


def _linspace(env: TorchShapeEnv, start: Any, end: Any, steps: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """torch.linspace of floats: from both ends to the middle, as the kernel does it."""
    dtype = dtype or torch.get_default_dtype()
    if type(steps) is not torch.SymInt or dtype not in _FLOATS or not all(map(_is_real, (start, end))):
        return None
    first = torch.full((), start, dtype=dtype, device=device)
    last = torch.full((), end, dtype=dtype, device=device)
    step = (last - first) / torch.sym_max(steps - 1, 1)
    index = aten.arange.default(steps, dtype=dtype, device=device)
    middle = torch.sym_max(steps // 2, 1)  # a single step is the start
    return torch.where(index < middle, index * step + first, last - ((steps - 1) - index) * step)


def _is_real(value: Any) -> bool:
    return type(value) in (int, float, torch.SymInt, torch.SymFloat)


def _one_hot(env: TorchShapeEnv, tensor: torch.Tensor, num_classes: Any = -1) -> Any:
    """torch.nn.functional.one_hot: scatter_ as in eager, which raises for a class that there is not."""
    if type(num_classes) is not torch.SymInt or tensor.dtype is not torch.int64:
        return None
    zeros = torch.zeros((*tensor.shape, num_classes), dtype=torch.int64, device=tensor.device)
    return zeros.scatter(-1, tensor.unsqueeze(-1), 1)


def _is_whole(env: TorchShapeEnv, space: int, input: torch.Tensor, kernel_size: Any) -> bool:
    """Whether a window of pooling is all that there is, for all sizes."""
    kernels = [*kernel_size] if isinstance(kernel_size, Sequence) else [kernel_size]
    kernels = kernels * space if len(kernels) == 1 else kernels
    if len(kernels) != space or input.dim() not in (space + 1, space + 2) or not input.is_floating_point():
        return False
    sizes = input.shape[-space:]
    if not all(env.memo.decide(eq(env.unwrap(k), env.unwrap(size))) is True for k, size in zip(kernels, sizes)):
        return False
    return all(env.demand(ge(env.unwrap(size), 1)) for size in sizes)


def _max_pool(
    space: int, env: TorchShapeEnv, input: torch.Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """torch.max_pool1d, 2d and 3d over everything: the greatest, of equal ones the first (which gets the gradient)."""
    if return_indices or not _is_all(0, padding) or not _is_all(1, dilation):
        return None
    if not _is_whole(env, space, input, kernel_size):
        return None
    found = _laid_out(env, input).flatten(-space).max(-1, keepdim=True).values
    for _ in range(space - 1):
        found = found.unsqueeze(-1)
    return found


def _average_pool(
    space: int, env: TorchShapeEnv, input: torch.Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """torch.avg_pool1d, 2d and 3d over everything: the mean."""
    if divisor_override is not None or not _is_all(0, padding) or not _is_whole(env, space, input, kernel_size):
        return None
    return _laid_out(env, input).mean([*range(-space, 0)], keepdim=True)


def _laid_out(env: TorchShapeEnv, input: torch.Tensor) -> torch.Tensor:
    """`input` without gaps; what the rules compute of it is a new tensor, so no one sees whether it is copied."""
    return input if is_contiguous(env, input) else input.clone(memory_format=torch.contiguous_format)


def _is_all(number: int, value: Any) -> bool:
    values = value if isinstance(value, Sequence) else [value]
    return all(type(part) is int and part == number for part in values)


def _triangle(upper: bool, env: TorchShapeEnv, row: Any, col: Any, offset: Any = 0, *, dtype: Any = torch.int64,
              device: Any = None) -> Any:  # fmt: skip
    """torch.triu_indices and tril_indices of a square: the places row by row, whose number is known."""
    if type(row) is not torch.SymInt or type(col) is not torch.SymInt or env.unwrap(row) is not env.unwrap(col):
        return None
    if type(offset) is not int or dtype is not torch.int64:
        return None

    def beyond(distance: int) -> Any:  # how many places lie so far from the diagonal on one side, or farther
        left = torch.sym_max(row - distance, 0)
        return left * (left + 1) // 2

    if upper:
        count = beyond(offset) if offset >= 0 else row * row - beyond(1 - offset)
    else:
        count = beyond(-offset) if offset < 0 else row * row - beyond(offset + 1)
    places = torch.ones((row, row), dtype=torch.bool, device=device)
    places = places.triu(offset) if upper else places.tril(offset)
    found = aten.nonzero_static.default(places, size=count)
    return found.t().clone(memory_format=torch.contiguous_format)


RULES: dict[Any, Callable[..., Any]] = {
    torch.linspace: _linspace,
    torch.nn.functional.one_hot: _one_hot,
    **dict.fromkeys((torch.max_pool1d, torch.nn.functional.max_pool1d), partial(_max_pool, 1)),
    **dict.fromkeys((torch.max_pool2d, torch.nn.functional.max_pool2d), partial(_max_pool, 2)),
    **dict.fromkeys((torch.max_pool3d, torch.nn.functional.max_pool3d), partial(_max_pool, 3)),
    torch.avg_pool1d: partial(_average_pool, 1),
    torch.nn.functional.avg_pool2d: partial(_average_pool, 2),
    torch.nn.functional.avg_pool3d: partial(_average_pool, 3),
    torch.triu_indices: partial(_triangle, True),
    torch.tril_indices: partial(_triangle, False),
}
"""By the function: what is recorded for its arguments, of which one is a symbol; None if no rule holds."""


def result_of(env: TorchShapeEnv, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Records a call of a function of `RULES` by its rule, if one holds; None where torch's function is to run."""
    if not any(map(_is_symbolic, (*args, *kwargs.values()))):
        return None
    try:
        return RULES[func](env, *args, **kwargs)
    except TypeError:  # an option that the rule does not know, or an argument that torch refuses
        return None


def _is_symbolic(value: Any) -> bool:
    if type(value) in (list, tuple, torch.Size):
        return any(type(part) in SYMBOLIC_TYPES for part in value)
    return type(value) in SYMBOLIC_TYPES
