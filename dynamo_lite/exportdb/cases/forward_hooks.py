"""Forward hooks

Hooks are Python that runs around forward, and are interpreted with it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("modules", "hooks")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.lin.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
        self.lin.register_forward_hook(lambda module, args, output: output + 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.lin(x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
