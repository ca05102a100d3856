"""A tensor of another FakeTensorMode

A tensor without data that another trace left behind, or that was made under a FakeTensorMode of its own, belongs to no
program: there is nothing to copy into it. Make constants with data, or as buffers under the mode of the parameters.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

TAGS = ("effects", "tensors", "fake")
ERROR = "foreign-tensor"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        with FakeTensorMode():
            self.table = torch.ones(3)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table  # stops here


class Rewrite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.ones(3)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table


def eager(module: nn.Module, x: Tensor) -> Tensor:
    return x + torch.ones(3)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
