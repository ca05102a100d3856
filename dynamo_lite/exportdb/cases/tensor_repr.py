"""The text of a tensor

`str`, `repr` and f-strings print the data, which is not known during export. Name the shape or the dtype instead; they
are known. (An f-string that is only the message of a check, an exception or a print() may have a tensor in it.)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "python")
ERROR = "tensor-repr"


class Module(nn.Module):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        name = f"doubled {x}"
        return {name[:7]: x * 2}  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        name = f"doubled {x.dtype}"
        return {name[:7]: x * 2}


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
