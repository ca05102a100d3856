"""map over a dynamic number of rows

The function is traced once for one row; how many there are is known at run time.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch._higher_order_ops import map as map_rows

TAGS = ("dynamic-shapes", "control-flow")


class Module(nn.Module):
    def forward(self, rows: Tensor, y: Tensor) -> Tensor:
        return map_rows(lambda row, z: row + z, rows, y)  # type: ignore[arg-type]  # torch's annotation is too narrow


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 3), torch.randn(3))


def dynamic_shapes() -> dict[str, Any]:
    return {"rows": {0: torch.export.Dim("rows", min=2)}, "y": None}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(7, 3), torch.randn(3))]
