"""A copy made by copy.deepcopy

`copy.deepcopy` of a list, a dict or a tensor is traced: the copy can be changed, and what it was made from stays as it
is. A copied layer computes with copies of the parameters.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("python", "deepcopy", "containers")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.options: dict[str, Any] = {"scales": [1.0, 2.0]}
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        options = copy.deepcopy(self.options)
        options["scales"].append(0.5)
        y = copy.deepcopy(x)
        y.mul_(sum(options["scales"]))
        return copy.deepcopy(self.layer)(y)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
