"""The table of real modules: what is exported, with which example call, and what else it is called with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

Call = tuple[Any, ...]


@dataclass(frozen=True)
class Module:
    """One module. The first call is the example of the export; the others take each way, or have other lengths."""

    make: type[nn.Module]
    calls: tuple[Call, ...]
    shapes: Any
    no_grad: bool
    what: str


MODULES: dict[str, Module] = {}


def module(*calls: Call, shapes: Any = None, grad: bool = False) -> Callable[[type[nn.Module]], type[nn.Module]]:
    """Enter the class. grad: exported with gradients, as for training; else under torch.no_grad(), as for inference."""

    def enter(make: type[nn.Module]) -> type[nn.Module]:
        assert len(calls) >= 4, make
        MODULES[make.__name__] = Module(make, calls, shapes, not grad, (make.__doc__ or "").strip())
        return make

    return enter


def rand(*shape: int, seed: int = 0, scale: float = 1.0, shift: float = 0.0) -> torch.Tensor:
    """Normal values, the same each time."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale + shift


def ids(*shape: int, below: int = 11, seed: int = 0) -> torch.Tensor:
    """Token ids, the same each time."""
    return torch.randint(0, below, shape, generator=torch.Generator().manual_seed(seed))


def spd(n: int, seed: int = 0) -> torch.Tensor:
    """A symmetric positive definite matrix."""
    a = rand(n, n, seed=seed)
    return a @ a.T / n + torch.eye(n) * 2
