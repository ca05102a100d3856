"""An operator's error that is caught

Whether a matrix can be factored is a question about its data. A program that tries it and catches the error goes one
of two ways, and the exported program has one. The `_ex` forms of torch.linalg return the failure as a tensor.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "python")
ERROR = "caught-operator-error"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        try:
            return torch.linalg.cholesky(x)  # stops here
        except RuntimeError:
            return torch.linalg.cholesky(x + 3 * torch.eye(3))


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        factor, failed = torch.linalg.cholesky_ex(x)
        shifted, _ = torch.linalg.cholesky_ex(x + 3 * torch.eye(3))
        return torch.where(failed == 0, factor, shifted)


def inputs() -> tuple[Tensor, ...]:
    return (torch.eye(3) - 2 * torch.ones(3, 3) / 3,)
