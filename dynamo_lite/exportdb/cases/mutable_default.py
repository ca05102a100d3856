"""A mutable default argument

The default list is made once and kept by the function; each call adds to it. Make it in the call.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "python", "functions")
ERROR = "python-state"


def scale(x: Tensor, seen: list[int] = []) -> Tensor:  # noqa: B006  what the case is about
    seen.append(1)  # stops here
    return x * len(seen)


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        scale.__defaults__[0].clear()  # type: ignore[index]

    def forward(self, x: Tensor) -> Tensor:
        return scale(x)


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        seen = [1]
        return x * len(seen)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
