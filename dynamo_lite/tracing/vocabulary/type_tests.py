"""Type tests for values of the program that run none of the program's code.

`isinstance(x, C)` reads `x.__class__` unless the type of x is a subclass of C, and so may run a `__getattribute__` that
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
    """Whether a value is a tensor, real or fake."""
    return issubclass(type(value), torch.Tensor)


def is_wrapped(value: torch.Tensor) -> bool:
    """Whether a tensor is one inside of torch.vmap, torch.func.grad, ...: made by the transform, never older."""
    return is_functorch_wrapped_tensor(value)


def is_fake(value: Any) -> TypeGuard[FakeTensor]:
    """Whether a value is a fake tensor: one without data."""
    return issubclass(type(value), FakeTensor)


def is_array(value: Any) -> bool:
    """Whether `value` is an array that a trace has made of a tensor."""
    cls = type(value)
    return cls.__name__ == "ndarray" and cls.__module__ == "torch._numpy._ndarray"
