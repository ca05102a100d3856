"""Models whose layers branch on data in front of `backward()`."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class _Layers(nn.Module):
    def __init__(self, *sizes: tuple[int, int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(*size) for size in sizes)


class EitherLayer(_Layers):
    """The gradient of the layer that is not taken is None: the optimizer leaves it, and its state."""

    def __init__(self) -> None:
        super().__init__((3, 4), (3, 4))

    def forward(self, x: Tensor) -> Tensor:
        one, other = self.layers
        if x.sum() > 0:
            result: Tensor = one(x)
            return result
        return torch.tanh(other(x))


class OneMoreLayer(_Layers):
    def __init__(self) -> None:
        super().__init__((3, 4), (4, 4))

    def forward(self, x: Tensor) -> Tensor:
        first, further = self.layers
        h: Tensor = first(x)
        if h.sum() > 0:
            h = h + further(h).relu()
        return h * 2


class EarlyExit(_Layers):
    def __init__(self) -> None:
        super().__init__((3, 3), (3, 3))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x).tanh()
            if x.abs().mean() < 0.35:
                return x
        return x * 2


class DropoutOnSides(_Layers):
    """Each side draws its own mask, once."""

    def __init__(self) -> None:
        super().__init__((3, 4))

    def forward(self, x: Tensor) -> Tensor:
        h: Tensor = self.layers[0](x)
        if x.sum() > 0:
            h = F.dropout(h, 0.5)
        else:
            h = F.dropout(h.tanh(), 0.2)
        return h


class NormedOnOneSide(_Layers):
    """The statistics are those of the calls that take this side."""

    def __init__(self) -> None:
        super().__init__((3, 4))
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: Tensor) -> Tensor:
        h: Tensor = self.layers[0](x)
        if x.sum() > 0:
            h = self.norm(h).relu()
        return h


class Experts(_Layers):
    """An expert runs on the rows that chose it, if there are any."""

    def __init__(self) -> None:
        super().__init__((3, 2), (3, 3), (3, 3))

    def forward(self, x: Tensor) -> Tensor:
        gate, *experts = self.layers
        weights, chosen = gate(x).softmax(-1).topk(1, dim=-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(experts):
            mine = chosen[:, 0] == number
            if mine.any():
                rows = mine.nonzero()[:, 0]
                out = out.index_add(0, rows, expert(x[rows]) * weights[rows])
        return out


_KINDS = (EitherLayer, OneMoreLayer, EarlyExit, DropoutOnSides, NormedOnOneSide, Experts)
BRANCHING = {kind.__name__: kind for kind in _KINDS}
