"""Calling a module with other parameters

`torch.func.functional_call` swaps the parameters for the call; the program takes them from where they come.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.func", "parameters")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 2)

    def forward(self, x: Tensor, scale: Tensor) -> Tensor:
        scaled = {name: value * scale for name, value in self.lin.named_parameters()}
        return torch.func.functional_call(self.lin, scaled, (x,))


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3), torch.tensor(2.0))
