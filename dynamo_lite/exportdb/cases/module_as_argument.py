"""A module as an argument of forward

The parameters and buffers of a program are those of the module that is exported; an argument is a tensor, a constant or
a container of these. Make the module a part of the one that is exported. Where a call chooses one of several, its name
is a constant argument (one program for each), or an entry point of its own (`dynamo_lite.export_methods`).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("inputs", "modules", "parameters", "buffers", "layer")
ERROR = "unsupported-value"


class Module(nn.Module):
    def forward(self, layer: nn.Module, x: Tensor) -> Tensor:
        return layer(x).relu()


class Rewrite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({"near": nn.Linear(3, 3), "far": nn.Linear(3, 3)})

    def forward(self, name: str, x: Tensor) -> Tensor:
        return self.layers[name](x).relu()


SAME_VALUES = False


def inputs() -> tuple[nn.Module, Tensor]:
    return nn.Linear(3, 3), torch.randn(2, 3)


def rewrite_inputs() -> tuple[str, Tensor]:
    return "near", torch.randn(2, 3)
