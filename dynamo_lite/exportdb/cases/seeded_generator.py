"""A torch.Generator that forward makes with a seed of its own

It draws the same in each call, so what it draws is a constant of the program. Without a `generator` the program draws
from the default one on each call (dropout, global_rng); one from outside is refused (generator_argument).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("random", "rng", "seed", "generator")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        generator = torch.Generator(device=x.device).manual_seed(3)
        return x + torch.randn(x.shape, generator=generator)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
