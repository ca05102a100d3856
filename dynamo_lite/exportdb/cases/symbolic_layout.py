"""A sparse tensor of varying size

The metadata of a program describes dynamic sizes of dense tensors only. Pass a dense tensor, or export with a fixed
size.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "sparse")
ERROR = "symbolic-layout"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.to_dense() * 2


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.eye(3).to_sparse(),)


def rewrite_inputs() -> tuple[Tensor, ...]:
    return (torch.eye(3),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("rows")}}
