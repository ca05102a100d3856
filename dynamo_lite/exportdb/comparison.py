"""Whether two results are the same: structure, types, constants, and tensors up to rounding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from dynamo_lite.value_types import SHAPES_AND_CONSTANTS


def difference(got: Any, want: Any, values: bool = True, path: str = "the result") -> str | None:
    """The first difference between two results in words, or None. Without `values` only shapes and dtypes count."""
    if isinstance(want, torch.Tensor):
        return _tensors(got, want, values, path)
    if type(got) is not type(want):
        return f"{path} is a {type(got).__name__}, not a {type(want).__name__}"
    if isinstance(want, SHAPES_AND_CONSTANTS):
        return None if got == want or not values else f"{path} is {got!r}, not {want!r}"
    mine, theirs = _parts(got), _parts(want)
    if mine.keys() != theirs.keys():
        return f"{path} has {sorted(map(str, mine))}, not {sorted(map(str, theirs))}"
    for key, part in theirs.items():
        if text := difference(mine[key], part, values, f"{path}[{key!r}]"):
            return text
    return None


def _parts(value: Any) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (list, tuple)):
        return dict(enumerate(value))
    return dict(getattr(value, "__dict__", {}))


def _tensors(got: Any, want: torch.Tensor, values: bool, path: str) -> str | None:
    if not isinstance(got, torch.Tensor):
        return f"{path} is a {type(got).__name__}, not a tensor"
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        return f"{path} is {got.dtype} of shape {list(got.shape)}, not {want.dtype} of shape {list(want.shape)}"
    if values and not torch.allclose(got.detach(), want.detach(), rtol=1e-5, atol=1e-6, equal_nan=True):
        return f"{path} has other values"
    return None
