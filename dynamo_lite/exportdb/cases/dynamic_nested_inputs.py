"""Dynamic sizes inside of containers

The specification has the structure of the arguments.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "inputs", "containers")


def dynamic_shapes() -> dict[str, Any]:
    length = torch.export.Dim("length")
    return {"batch": {"ids": {0: length}, "parts": [{0: length}, None]}}


class Module(nn.Module):
    def forward(self, batch: dict[str, Any]) -> Tensor:
        return batch["ids"] + batch["parts"][0] + batch["parts"][1]


def inputs() -> tuple[Any, ...]:
    return ({"ids": torch.randn(3), "parts": [torch.randn(3), torch.randn(1)]},)


def other_inputs() -> list[tuple[Any, ...]]:
    return [({"ids": torch.randn(5), "parts": [torch.randn(5), torch.randn(1)]},)]
