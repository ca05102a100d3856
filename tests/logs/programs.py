"""Programs whose logs are looked at. Lines that a test names are marked by a comment, which `line_of` finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.export import Dim

TEXT = Path(__file__).read_text(encoding="utf-8").splitlines()


def line_of(mark: str) -> str:
    """`programs.py:<line>` of the line that ends with the comment `# <mark>`."""
    (number,) = [i for i, text in enumerate(TEXT, 1) if text.endswith(f"# {mark}")]
    return f"programs.py:{number}"


class Sizes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.scale = 3

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 3:  # branch
            x = x + 1
        x = x + y  # broadcast
        return torch.relu(self.lin(x)) * self.scale  # scale


def sizes() -> tuple[Any, ...]:
    batch = {0: Dim.AUTO(min=2)}  # a size of 1 would have the branch captured
    return Sizes(), (torch.randn(5, 4), torch.randn(5, 4)), {"x": batch, "y": batch}


class Fixed(nn.Module):
    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [x + i for i in range(x.shape[0])]  # needs the number


def fixed() -> tuple[Any, ...]:
    return Fixed(), (torch.randn(3, 4),), {"x": {0: Dim.AUTO}}


class Unbacked(nn.Module):
    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        k = n.item()  # unbacked
        torch._check(k >= 2)  # check
        torch._check(k <= x.shape[0])
        return x[:k] + 1


def unbacked() -> tuple[Any, ...]:
    return Unbacked(), (torch.randn(6, 4), torch.tensor(3)), {"x": {0: Dim.AUTO}, "n": None}


class Branches(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:  # on data
            return x
        return -x


def branches() -> tuple[Any, ...]:
    return Branches(), (torch.randn(3),), None


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen = self.seen + 1  # effect
        return x + self.seen


def counts() -> tuple[Any, ...]:
    return Counts(), (torch.randn(3),), None


EXPORTED = {"sizes": sizes, "fixed": fixed, "unbacked": unbacked, "counts": counts}
