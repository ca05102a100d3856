"""Changing a list that was passed in

The program gets its own list; the caller's would stay as it was. Return what is new.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("effects", "inputs", "python")
ERROR = "input-container"


class Module(nn.Module):
    def forward(self, states: list[Tensor]) -> Tensor:
        states.append(states[-1] * 2)
        return states[-1]


class Rewrite(nn.Module):
    def forward(self, states: list[Tensor]) -> Tensor:
        new = [*states, states[-1] * 2]
        return new[-1]


def inputs() -> tuple[Any, ...]:
    return ([torch.randn(3)],)
