"""id() of an object

An address differs from run to run, so nothing that depends on it can be written down. Use what the object holds as the
key, or compare with `is`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("python", "identity")
ERROR = "unrecordable-id"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

    def forward(self, x: Tensor) -> Tensor:
        seen = {}
        for layer in self.layers:
            seen[id(layer)] = layer(x)  # stops here
        return sum(seen.values(), torch.zeros(()))


class Rewrite(Module):
    def forward(self, x: Tensor) -> Tensor:
        seen = {}
        for name, layer in self.layers.named_children():
            seen[name] = layer(x)
        return sum(seen.values(), torch.zeros(()))


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
