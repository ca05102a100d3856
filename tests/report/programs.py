"""Programs for the reports: sizes that vary, are tied and are fixed; effects; a size and its reasons; refusals."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.traces import Trace

SETTINGS = {"scale": 3}


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = 4
        self.project = nn.Linear(32, 32)
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        self.steps += 1
        if length > 4 and length % 2 == 0:
            x = x * SETTINGS["scale"]
        y = self.project(x).view(batch, length, self.heads, width // self.heads)
        return y.transpose(1, 2) + mask[:, None, :, None]


class Refused(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            x = x + 1
        print("</script><script>document.title = 'owned'</script>", x.sum().item() > 2)
        if x.max() > 3:
            return x - 1
        return x


class Hostile(nn.Module):
    """Names and texts that would end a script or an attribute if they were not escaped."""

    def __init__(self) -> None:
        super().__init__()
        self.text = "</script><img src=x onerror=alert(1)>\"'&<!--"

    def forward(self, x: Tensor) -> Tensor:
        return x * len(self.text)


def attention() -> Trace:
    batch, half = torch.export.Dim("batch", max=64), torch.export.Dim("half", min=3, max=64)
    return dynamo_lite.trace(
        Attention(),
        (torch.randn(2, 8, 32), torch.ones(2, 8)),
        dynamic_shapes={"x": {0: batch, 1: 2 * half}, "mask": {0: batch, 1: torch.export.Dim.AUTO}},
    )


def fixed() -> Trace:
    """y's size may vary as far as the program lets it: it does not."""

    def forward(x: Tensor, y: Tensor) -> Tensor:
        return x + y.view(8, -1).sum(1)

    auto = torch.export.Dim.AUTO
    return dynamo_lite.trace(
        forward, (torch.ones(8), torch.ones(8, 2)), dynamic_shapes={"x": {0: auto}, "y": {0: auto}}
    )


def branching() -> Trace:
    def forward(x: Tensor) -> Tensor:
        if x.shape[0] > 3:
            return x + 1
        return x - 1

    rows = torch.export.Dim.AUTO(min=2)  # a size of 1 would have the branch captured
    return dynamo_lite.trace(forward, (torch.ones(8),), dynamic_shapes={"x": {0: rows}})


def captured() -> Trace:
    def forward(x: Tensor) -> Tensor:
        if x.sum() > 3:
            return x + 1
        return x - 1

    return dynamo_lite.trace(forward, (torch.ones(8),), control_flow="capture")


class Flowing(nn.Module):
    """A branch on data, a loop on data, and one over a size that varies."""

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            x = x.sin()
        else:
            x = x.cos()
        while x.sum() < 10:
            x = x.exp()
        total = torch.zeros(3)
        for row in x:
            total = total + row.tanh()
        return total


def flowing() -> Trace:
    rows = torch.export.Dim("rows", min=2, max=64)
    return dynamo_lite.trace(Flowing(), (torch.ones(4, 3),), dynamic_shapes={"x": {0: rows}})
