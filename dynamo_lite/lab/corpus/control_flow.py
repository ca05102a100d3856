"""Control flow on data: branches, loops, early returns, assertions, values read."""

from __future__ import annotations

import torch
from torch import nn

from dynamo_lite.lab.programs import Args, Example, program, t


@program("a branch on a sum")
def branch() -> Example:
    also: list[Args] = [((torch.ones(3),), {}), ((-torch.ones(3),), {})]
    return Example(lambda x: x * 2 if x.sum() > 0 else x - 1, (t(3),), also=also)


@program("a branch on a sum, with an early return")
def early_return() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        if x.max() > 1:
            return x.clamp(max=1)
        y = x.exp()
        return y / y.sum()

    return Example(forward, (t(4),), also=[((torch.full((4,), 2.0),), {}), ((torch.zeros(4),), {})])


@program("a branch that writes a buffer")
def buffer_in_branch() -> Example:
    class Peak(nn.Module):
        peak: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("peak", torch.tensor(0.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.max() > self.peak:
                self.peak.copy_(x.max())
            return x / self.peak.clamp(min=1)

    return Example(Peak(), (t(4),), also=[((torch.full((4,), 9.0),), {}), ((torch.zeros(4),), {})])


@program("a loop until a value is small")
def while_loop() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        while x.abs().max() > 0.1:
            x = x / 2
        return x

    return Example(forward, (t(3),), also=[((torch.full((3,), 100.0),), {}), ((torch.zeros(3),), {})])


@program("a loop with a break on data")
def break_on_data() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x
        for i in range(4):
            if y.sum() > 10:
                break
            y = y + x * i
        return y

    return Example(forward, (torch.ones(3),), also=[((torch.full((3,), 5.0),), {}), ((-torch.ones(3),), {})])


@program("a number read from data")
def item() -> Example:
    return Example(lambda x: x * x.sum().item(), (t(3),))


@program("an index read from data")
def index() -> Example:
    return Example(lambda x, i: x[int(i)], (t(5), torch.tensor(2)), also=[((t(5), torch.tensor(4)), {})])


@program("a number of rows read from data")
def length_of_data() -> Example:
    also: list[Args] = [((t(5), torch.tensor(0)), {}), ((t(5), torch.tensor(5)), {})]
    return Example(lambda x, n: x[: int(n)].sum(), (t(5), torch.tensor(2)), also=also)


@program("selection by a mask: the size of the result depends on data")
def masked() -> Example:
    return Example(lambda x: x[x > 0].sum(), (t(6),), also=[((-torch.ones(6),), {})])


@program("nonzero, and its number")
def nonzero() -> Example:
    return Example(lambda x: (x.nonzero(), len(x.nonzero())), (t(6),), also=[((torch.zeros(6),), {})])


@program("an assertion on data that fails later")
def assertion() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        assert (x >= 0).all(), "negative"
        return x.sqrt()

    return Example(forward, (torch.rand(3),), also=[((-torch.ones(3),), {})])


@program("an error that forward raises on data")
def raises_on_data() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        if x.isnan().any():
            raise ValueError("not a number")
        return x * 2

    return Example(forward, (t(3),), also=[((torch.tensor([1.0, float("nan"), 2.0]),), {})])


@program("and, or and not of conditions on data")
def boolean() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if (x[0] > 0 and not x[1] > 0) or x[2] > 5 else x - 1

    values = [(1.0, -1.0, 0.0), (-1.0, 1.0, 9.0), (-1.0, -1.0, 0.0)]
    return Example(forward, (t(3),), also=[((torch.tensor(v),), {}) for v in values])


@program("a branch on data whose sides have other shapes")
def other_shapes() -> Example:
    also: list[Args] = [((torch.ones(3),), {}), ((-torch.ones(3),), {})]
    return Example(lambda x: x[:2] if x.sum() > 0 else x, (t(3),), also=also)


@program("a Python number that a branch on data decides")
def number_of_branch() -> Example:
    def forward(x: torch.Tensor) -> tuple[torch.Tensor, int]:
        n = 1
        if x.sum() > 0:
            n = 2
        return x * n, n

    return Example(forward, (t(3),), also=[((torch.ones(3),), {}), ((-torch.ones(3),), {})])


@program("tolist, and Python arithmetic on it")
def tolist() -> Example:
    return Example(lambda x: sum(v for v in x.tolist() if v > 0), (t(4),))
