"""A decorated forward

Decorators run when the class is made; the wrapper that they leave is interpreted with what it wraps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("python", "functions")


def doubled(fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Tensor:
        return fn(*args, **kwargs) * 2

    return wrapper


class Module(nn.Module):
    @doubled
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.randn(3))
