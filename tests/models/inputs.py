"""Example inputs from a seed: shapes and dtypes fixed, values drawn again for every seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .registry import Inputs

Maker = Callable[[torch.Generator], Any]


def floats(*shape: int) -> Maker:
    """Standard normal float32 values of the given shape."""
    return lambda generator: torch.randn(*shape, generator=generator)


def unit(*shape: int) -> Maker:
    """float32 values in [0, 1)."""
    return lambda generator: torch.rand(*shape, generator=generator)


def ints(high: int, *shape: int, low: int = 0) -> Maker:
    """int64 values in [low, high)."""
    return lambda generator: torch.randint(low, high, shape, generator=generator)


def ones(*shape: int, dtype: torch.dtype = torch.int64) -> Maker:
    """All ones: an attention mask that hides nothing."""
    return lambda generator: torch.ones(shape, dtype=dtype)


def const(value: Any) -> Maker:
    """The same value for every seed; a tensor is cloned, so that no two calls share it."""
    return lambda generator: value.clone() if isinstance(value, Tensor) else value


def ids_with(token: int, high: int, *shape: int, low: int = 0) -> Maker:
    """int64 token ids below `high` whose last column is `token` (an end-of-sequence or image token, say)."""

    def make(generator: torch.Generator) -> Tensor:
        ids = torch.randint(low, high, shape, generator=generator)
        ids[..., -1] = token
        return ids

    return make


def inputs(*args: Maker, **kwargs: Maker) -> Callable[[int], Inputs]:
    """`Case.inputs` from makers: positional ones and keyword ones, drawn in that order from one generator."""

    def make(seed: int) -> Inputs:
        generator = torch.Generator().manual_seed(seed)
        positional = tuple(maker(generator) for maker in args)
        return positional, {name: maker(generator) for name, maker in kwargs.items()}

    return make
