"""A batch of one as the example

A size of 1 broadcasts, and operators take another way for it than for other sizes. Give an example with a size of 2 or
more; the program then admits 1 where it can.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("dynamic-shapes",)
ERROR = "constraint-violation"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.lin(x).relu()


def rewrite_export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, (torch.randn(2, 4),), dynamic_shapes=dynamic_shapes())


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(1, 4),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("batch", max=32)}}
