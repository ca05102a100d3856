"""Python's max() of tensors

`max(a, b)` compares the two and asks Python whether the answer is true. `torch.maximum` compares without asking; for
more than two, stack them and call `amax`.

Export captures such a branch as it is written. With `control_flow="refuse"` it is refused, and so is one whose
sides cannot be merged.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "python", "builtins")
ERROR = "data-dependent-branch"


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x * max(x.sum(), y.sum())  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x * torch.maximum(x.sum(), y.sum())


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="refuse")


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.randn(3))
