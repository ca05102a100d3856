"""id() of an object as a number

An address differs from run to run, so nothing that depends on it can be written down. As a key (`id(layer) in seen`) it
is taken. Use what the object holds instead (a name, an index).
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
        return self.layers[id(self) % 16](x)  # stops here


class Rewrite(Module):
    def forward(self, x: Tensor) -> Tensor:
        return self.layers[0](x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
