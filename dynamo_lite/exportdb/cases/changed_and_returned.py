"""A dict that was passed in, changed and returned

In eager the caller's own dict has the new entry; the program returns a new dict. By default that is a note; with
`effects="exact"` it is an error. Return a new dict.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("effects", "inputs", "python")
ERROR = "changed-and-returned"


class Module(nn.Module):
    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        batch["twice"] = batch["x"] * 2
        return batch


class Rewrite(nn.Module):
    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        return {**batch, "twice": batch["x"] * 2}


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), effects="exact")


def inputs() -> tuple[dict[str, Tensor]]:
    return ({"x": torch.ones(3)},)
