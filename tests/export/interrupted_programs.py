"""Programs whose exports are interrupted: a static one, a dynamic one, with a captured branch, with a loop, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite


class Static(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("seen", torch.zeros(()))
        self.calls: list[int] = []
        self.table = {"a": 1}

    def forward(self, x: Tensor) -> Tensor:
        self.calls.append(len(self.calls))
        self.calls.pop()
        self.seen += 1
        with torch.no_grad():
            y = x * self.table["a"]
        return self.linear(y) + sorted([2, 1], key=lambda n: -n)[0]


class Dynamic(Static):
    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[0]
        return self.linear(x) * n + (n // 2) + x.new_ones(n, 3).sum()


class Branch(Static):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            self.calls.append(1)
            x = self.linear(x)
        else:
            self.calls.append(1)
            x = x * 2
        self.calls.pop()
        return x + 1


class Loop(Static):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            while x.sum() < 10:
                x = x + 1
        return x


def _exported(module: nn.Module, **options: Any) -> Callable[[], Any]:
    return lambda: dynamo_lite.export(module, (torch.ones(2, 3),), **options)


def programs() -> dict[str, tuple[nn.Module, Callable[[], Any]]]:
    """name → the module, and its export."""
    made: dict[str, tuple[nn.Module, Callable[[], Any]]] = {}
    for module, options in [
        (Static(), {}),
        (Dynamic(), {"dynamic_shapes": {"x": {0: Dim("n", min=2, max=9)}}}),
        (Branch(), {}),
        (Loop(), {}),
    ]:
        made[type(module).__name__.lower()] = (module, _exported(module, **options))
    made["nonstrict"] = (static := Static(), _exported(static, strict=False))
    return made
