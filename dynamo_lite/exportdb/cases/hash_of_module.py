"""hash() of a module as a number

Modules and tensors hash by their address, which differs from run to run. As a key (`cache[hash(layer)]`) it is taken.
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
        bucket = int(hash(self.lin) % 2)
        return self.lin(x) + bucket  # stops here


class Rewrite(Module):
    def forward(self, x: Tensor) -> Tensor:
        bucket = len({hash(self.lin): "lin"})
        return self.lin(x) + bucket


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
