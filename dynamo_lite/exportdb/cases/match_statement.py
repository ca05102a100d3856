"""The match statement

Patterns on lists, mappings, classes and values are matched during the trace.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("python", "control-flow")


class Module(nn.Module):
    def forward(self, batch: dict[str, Any]) -> Tensor:
        match batch:
            case {"ids": [first, *rest], "mode": "sum"}:
                return sum(rest, first)
            case {"ids": [only]}:
                return only
            case _:
                raise ValueError("unknown batch")


def inputs() -> tuple[Any, ...]:
    return ({"ids": [torch.ones(3), torch.ones(3)], "mode": "sum"},)
