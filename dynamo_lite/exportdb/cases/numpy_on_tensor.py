"""NumPy code on a tensor

`x.numpy()` gives an array whose operations are recorded as torch's, through torch._numpy, as under torch.compile.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

TAGS = ("numpy",)


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        a = x.numpy()
        return torch.from_numpy(np.tanh(a) / (1 + a.std()))


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(8),)
