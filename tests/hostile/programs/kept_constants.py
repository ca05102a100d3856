"""What the first call keeps, made with numbers that it reads from constant tensors"""

from __future__ import annotations

import torch
from torch import nn

from tests.export.probe import equal, refused, t


def anchors(features, strides, offset=0.5):
    points, scales = [], []
    for feature, stride in zip(features, strides):
        height, width = feature.shape[2:]
        across, down = torch.arange(width) + offset, torch.arange(height) + offset
        points.append(torch.stack(torch.meshgrid(across, down, indexing="ij"), -1).view(-1, 2))
        scales.append(torch.full((height * width, 1), stride))
    return torch.cat(points), torch.cat(scales)


class Keeps(nn.Module):
    """Makes a table for each new shape."""

    def __init__(self, make):
        super().__init__()
        self.make, self.shape, self.table = make, None, None
        self.stride, self.steps = torch.tensor([8.0, 16.0]), torch.tensor([3, 5])
        self.register_buffer("scales", torch.tensor([2.0, 4.0]))

    def forward(self, x):
        if self.shape != x.shape:
            self.table = self.make(self, x)
            self.shape = x.shape
        return x.sum(-1) * self.table.sum()


@equal
def anchors_of_a_detection_head():
    class Detect(nn.Module):
        def __init__(self):
            super().__init__()
            self.stride, self.shape = torch.tensor([8.0, 16.0]), None
            self.anchors = self.strides = torch.empty(0)

        def forward(self, x, y):
            if self.shape != x.shape:
                self.anchors, self.strides = (part.t() for part in anchors([x, y], self.stride))
                self.shape = x.shape
            joined = torch.cat([v.flatten(2) for v in (x, y)], 2)
            return (joined[:, :2] + self.anchors) * self.strides

    return Detect().eval(), (t(1, 4, 4, 4), t(1, 4, 2, 2))


@equal
def filled_with_an_item_of_a_constant():
    return Keeps(lambda self, x: x.new_full((4, 1), self.stride[1])), (t(3, 4),)


@equal
def filled_with_an_item_of_a_buffer():
    return Keeps(lambda self, x: x.new_full((2,), self.scales[0].item())), (t(3, 4),)


@equal
def computed_with_items():
    return Keeps(lambda self, x: torch.full((2,), int(self.steps[1]) * 2.5 + 1) * self.stride.max().item()), (t(3, 4),)


@equal
def computed_with_a_list_of_items():
    return Keeps(lambda self, x: [x.new_full((2, 1), v) for v in self.stride.tolist()][1]), (t(3, 4),)


@refused("python-state", "new-state-tensor")
def filled_with_an_item_of_an_input():
    return Keeps(lambda self, x: x.new_full((2,), self.stride[0].item() + x[0, 0].item())), (t(3, 4),)


@refused("python-state", "new-state-tensor")
def filled_with_a_random_item():
    return Keeps(lambda self, x: torch.full((2,), torch.rand(()).item())), (t(3, 4),)


@refused("python-state", "new-state-tensor")
def filled_with_an_item_of_a_buffer_that_changes():
    def make(self, x):
        table = torch.full((2,), self.scales[0].item())
        self.scales.mul_(2)
        return table

    return Keeps(make), (t(3, 4),)
