"""Specifying sizes by tensor

`ShapesCollection` maps tensors to their dynamic sizes, which is shorter than a specification with the structure of
nested arguments.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("dynamic-shapes", "call of export")


class Module(nn.Module):
    def forward(self, batch: dict[str, list[Tensor]]) -> Tensor:
        return batch["ids"][0] * 2 + batch["ids"][1].sum()


def export(module: nn.Module) -> ExportedProgram:
    (batch,) = inputs()
    shapes = torch.export.ShapesCollection()
    shapes[batch["ids"][0]] = {0: torch.export.Dim("length")}
    return dynamo_lite.export(module, (batch,), dynamic_shapes=shapes)


def inputs() -> tuple[Any, ...]:
    return ({"ids": [torch.randn(4), torch.randn(2)]},)


def other_inputs() -> list[tuple[Any, ...]]:
    return [({"ids": [torch.randn(7), torch.randn(2)]},)]
