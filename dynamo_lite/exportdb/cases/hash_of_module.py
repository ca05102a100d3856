"""hash() of a module

Modules and tensors hash by their address. A name or a number says the same and stays.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("python", "identity")
ERROR = "unrecordable-id"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        bucket = hash(self.lin) * 0  # stops here
        return self.lin(x) + bucket


class Rewrite(Module):
    def forward(self, x: Tensor) -> Tensor:
        bucket = len("lin") * 0
        return self.lin(x) + bucket


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
