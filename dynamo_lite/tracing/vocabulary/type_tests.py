"""Tests of what a value of the program is, which run none of the program's code.

`isinstance(x, C)` reads `x.__class__` when the type of x is no subclass of C, and so may run a `__getattribute__` that
the program defines.
"""

from __future__ import annotations

import functools
from typing import Any, TypeGuard

import torch

from dynamo_lite.torch_internals._torch_fake import FakeTensor
from dynamo_lite.torch_internals._torch_functorch import is_functorch_wrapped_tensor

LruCacheWrapper = type(functools.lru_cache(lambda: None))
"""The type of a function that functools.lru_cache has wrapped."""


def is_tensor(value: Any) -> TypeGuard[torch.Tensor]:
    """A tensor, real or a stand-in."""
    return issubclass(type(value), torch.Tensor)


def is_wrapped(value: torch.Tensor) -> bool:
    """A tensor inside of torch.vmap, torch.func.grad, ...: made by the transform, so never one from outside."""
    return is_functorch_wrapped_tensor(value)


def is_fake(value: Any) -> TypeGuard[FakeTensor]:
    """A stand-in: a tensor without data."""
    return issubclass(type(value), FakeTensor)
