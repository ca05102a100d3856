"""torch.cond inside of torch.func.grad

Under a transform of derivatives each tensor carries one; a sub-graph holds plain tensors. (torch.cond inside of
torch.vmap is fine.) Put the transform into the branches, or choose between values with `torch.where`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow", "torch.func")
ERROR = "control-flow-in-transform"


def rising(x: Tensor) -> Tensor:
    return x.sin().sum()


def falling(x: Tensor) -> Tensor:
    return x.cos().sum()


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        def either(x: Tensor) -> Tensor:
            return torch.cond(x.sum() > 0, rising, falling, (x,))  # stops here

        return torch.func.grad(either)(x)


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, torch.func.grad(rising), torch.func.grad(falling), (x,))


def eager(module: nn.Module, x: Tensor) -> Tensor:
    return x.cos() if x.sum() > 0 else -x.sin()


def inputs() -> tuple[Tensor, ...]:
    return (torch.tensor([1.0, 2.0, -0.5]),)
