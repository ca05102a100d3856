"""torch.jit.trace in forward

The tracer of TorchScript runs a model on example inputs, compares the results with eager's, and keeps what it has seen.
In an export there are no data to run on. A module that was traced before is captured.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("modules", "torch.jit")
ERROR = "script-trace"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        traced = torch.jit.trace(self.layer, x)  # stops here
        result: Tensor = traced(x)
        return result


class Rewrite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.jit.trace(nn.Linear(3, 3), torch.randn(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layer(x)
        return result


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
