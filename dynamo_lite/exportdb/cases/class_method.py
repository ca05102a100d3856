"""Class methods and static methods

Methods of a class are interpreted like any other function; `cls` is the class itself.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("python", "classes")


class Module(nn.Module):
    factor = 3.0

    @classmethod
    def scaled(cls, x: Tensor) -> Tensor:
        return x * cls.factor

    @staticmethod
    def shifted(x: Tensor) -> Tensor:
        return x + 1

    def forward(self, x: Tensor) -> Tensor:
        return self.shifted(self.scaled(x)) + type(self).scaled(x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
