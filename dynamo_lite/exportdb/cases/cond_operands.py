"""torch.cond with nested operands and results

Operands and results may be nested containers; both branches return the same structure.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow", "containers")


class Module(nn.Module):
    def forward(self, x: Tensor, y: dict[str, Tensor]) -> dict[str, Tensor]:
        def true_branch(a: Tensor, b: dict[str, Tensor]) -> dict[str, Tensor]:
            return {"sum": a + b["left"], "other": b["right"].sin()}

        def false_branch(a: Tensor, b: dict[str, Tensor]) -> dict[str, Tensor]:
            return {"sum": a - b["left"], "other": b["right"].cos()}

        return torch.cond(x.max() > y["left"].max(), true_branch, false_branch, (x, y))


def inputs() -> tuple[Any, ...]:
    return (torch.ones(3), {"left": torch.zeros(3), "right": torch.ones(2)})


def other_inputs() -> list[tuple[Any, ...]]:
    return [(-torch.ones(3), {"left": torch.zeros(3), "right": torch.ones(2)})]
