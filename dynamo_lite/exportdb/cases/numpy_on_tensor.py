"""NumPy on the data of a tensor

`x.numpy()` hands the memory of the tensor to another library, whose operations no graph shows. The same functions are
in torch under nearly the same names.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "numpy")
ERROR = "data-dependent-value"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        spread = x.numpy().std()  # stops here
        return x / float(spread)


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x / x.std(correction=0)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(8),)
