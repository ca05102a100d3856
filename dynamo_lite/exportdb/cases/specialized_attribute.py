"""An enum attribute that picks the computation

Attributes read from the module are constants of the program: the branch is taken once, during the export.
"""

from __future__ import annotations

from enum import Enum

import torch
from torch import Tensor, nn

TAGS = ("python", "enums", "state")


class Animal(Enum):
    COW = "moo"
    CAT = "meow"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.animal = Animal.COW
        self.legs = 4

    def forward(self, x: Tensor) -> Tensor:
        if self.animal is Animal.COW:
            return x * x + self.legs
        raise ValueError(self.animal.value)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
