"""A view that a side makes has the gradients of eager where it is changed in place behind the branch."""

from __future__ import annotations

import copy

import torch
from torch import nn

import dynamo_lite
from tests.control_flow.programs.table import SIGNS


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x @ self.weight
        row = y[0] if x.sum() > 0 else y[1] * 2
        row.mul_(x[2])
        return (y * y).sum() + row.sum()


def test_gradients_equal_eager() -> None:
    model = Model()
    program = dynamo_lite.export(model, copy.deepcopy(SIGNS[0])).module()
    for (x,) in SIGNS:
        found = []
        for made in (copy.deepcopy(model), copy.deepcopy(program)):
            value = made(x.clone())
            value.backward()
            found.append((value.detach(), dict(made.named_parameters())["weight"].grad))
        (want, grad), (got, ours) = found
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(ours, grad)
