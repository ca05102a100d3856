"""`tolist()` of tensors whose length is data: rounds and lists of numbers. Against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import dynamo_lite
from tests.control_flow.harness import same


def rows_by_number(x: Tensor) -> Tensor:
    out = torch.zeros(3)
    for i in (x > 0).nonzero().squeeze(1).tolist():
        out = out + x[i] * (i + 1)
    return out


def pairs(x: Tensor) -> Tensor:
    out = torch.zeros(2)
    for i, j in (x.view(2, 2) > 0).nonzero().tolist():
        out = out + x.view(2, 2)[i] * (j + 1)
    return out


def kept_and_changed(x: Tensor) -> Any:
    """The list has what the tensor held at the call."""
    hit = (x > 0).nonzero().squeeze(1)
    numbers = hit.tolist()
    hit.add_(5)
    total = 0
    for k, i in enumerate(numbers):
        total = total + i * (k + 1)
    return total, len(numbers), x[numbers], hit


def floats(x: Tensor) -> float:
    total = 0.0
    for v in x[x > 0].tolist():
        total = total + v
    return total


def groups(x: Tensor) -> Tensor:
    outs, start = [], 0
    for n in x.long().clamp(min=0).bincount(minlength=4).tolist():
        outs.append(x[start : start + n].sum())
        start += n
    return torch.stack(outs)


@pytest.mark.parametrize("fn", [rows_by_number, pairs, kept_and_changed, floats, groups])
def test_numbers_of_a_tensor(fn: Callable[[Tensor], Any]) -> None:
    module = dynamo_lite.export(fn, (torch.ones(4),)).module()
    for given in ((1.0, 1.0, 1.0, 1.0), (-1.0, -1.0, -1.0, -1.0), (1.0, -1.0, 2.0, 3.0), (0.0, 1.0, 1.0, 2.0)):
        assert same(module(torch.tensor(given)), fn(torch.tensor(given))), given


def test_experts_that_are_hit() -> None:
    experts = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(4))

    class Experts(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.experts = experts

        def forward(self, x: Tensor, chosen: Tensor) -> Tensor:
            out = torch.zeros_like(x)
            mask = torch.nn.functional.one_hot(chosen, 4).t()
            for e in mask.sum(1).nonzero().squeeze(1).tolist():
                (token,) = torch.where(mask[e])
                out.index_add_(0, token, self.experts[e](x[token]))
            return out

    module, x = Experts(), torch.randn(3, 2)
    with torch.no_grad():
        program = dynamo_lite.export(module, (x, torch.tensor([0, 1, 1]))).module()
        for chosen in ([0, 1, 1], [3, 3, 3], [2, 0, 1]):
            assert torch.allclose(program(x, torch.tensor(chosen)), module(x, torch.tensor(chosen)))
