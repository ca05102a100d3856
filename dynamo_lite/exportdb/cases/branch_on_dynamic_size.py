"""A branch that holds for a part of the sizes

The example is longer than 8, so the program is that of long inputs. Promise only those, and export the short ones as
another program.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "control-flow")
ERROR = "constraint-violation"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] > 8:
            return x[:8]
        return x * 2


def rewrite_dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("rows", min=9)}}


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(12),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("rows")}}
