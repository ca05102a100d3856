"""The same function for each row, as an operator

`map` traces its function once for a row, whatever the number of rows.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch._higher_order_ops import map as map_rows

TAGS = ("control-flow",)


class Module(nn.Module):
    def forward(self, rows: Tensor, y: Tensor) -> Tensor:
        return map_rows(lambda row, z: row * z + 1, rows, y)  # type: ignore[arg-type]  # torch's annotation is too narrow


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 3), torch.randn(3))
