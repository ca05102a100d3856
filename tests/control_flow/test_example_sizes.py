"""A branch on sizes that cannot be captured, in a program with a branch on data: the example answers it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite


class Chunks(nn.Module):
    """As in LED: the input is padded, and its overlapping chunks are asked for by strides."""

    def forward(self, x: Tensor) -> Tensor:
        pad = (4 - x.shape[1] % 4) % 4
        if pad > 0:
            x = nn.functional.pad(x, (0, 0, 0, pad))
        x = x.relu() if x.sum() > 0 else x * 2
        batch, length, width = x.shape
        x = x.view(batch, length, 2, width // 2).transpose(1, 2).reshape(batch * 2, length, width // 2)
        x = x.view(x.size(0), torch.div(x.size(1), 4, rounding_mode="trunc"), 4, x.size(2))
        size, stride = list(x.size()), list(x.stride())
        size[1], stride[1] = size[1] * 2 - 1, stride[1] // 2
        return x.as_strided(size=size, stride=stride)


def test_the_example_answers_it() -> None:
    shapes = ({0: Dim.AUTO, 1: Dim.AUTO},)
    program = dynamo_lite.export(Chunks(), (torch.randn(2, 8, 8),), dynamic_shapes=shapes).module()
    for x in (torch.ones(2, 8, 8), -torch.ones(3, 8, 8), torch.randn(2, 12, 8)):
        torch.testing.assert_close(program(x), Chunks()(x))
