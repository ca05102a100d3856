"""Changing tensors that no module registers

A global, an attribute, a list of averages, the statistics of a model that a function closes over: forward may change
them in place. They are buffers of the program, and `program.module()` changes the very tensors, as eager does.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "globals")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.averages = [parameter.detach().clone() for parameter in self.layer.parameters()]

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(x)
        with torch.no_grad():
            for average, parameter in zip(self.averages, self.layer.parameters()):
                average.lerp_(parameter, 0.1)
        return y


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
