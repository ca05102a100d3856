"""Errors about sizes that the program catches: at sizes of 0 and 1, where an operator may not raise them."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite

AUTO = {0: Dim.AUTO, 1: Dim.AUTO}
EXAMPLE = (2, 5), (3, 3)
OPERATORS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "added": lambda m, x: m + x,
    "added in place": lambda m, x: m.add_(x),
    "compared in place": lambda m, x: m.logical_and_(x),
    "broadcast": lambda m, x: torch.broadcast_tensors(m, x)[0],
    "einsum": lambda m, x: torch.einsum("ij,kj->ik", m, x),
    "addmm": lambda m, x: torch.addmm(m, m, x.t()),
    "gathered": lambda m, x: m.gather(1, torch.zeros_like(x, dtype=torch.int64)),
}


class Tries(nn.Module):
    def __init__(self, operator: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.operator = operator

    def forward(self, m: Tensor, x: Tensor) -> Tensor:
        m = m.clone()
        try:
            self.operator(m, x)
        except RuntimeError:
            m.zero_()
        return m * 2


@pytest.mark.parametrize("name", OPERATORS)
def test_no_call_takes_the_handler_that_eager_does_not(name: str) -> None:
    module = Tries(OPERATORS[name])
    program = dynamo_lite.export(module, tuple(map(torch.randn, EXAMPLE)), dynamic_shapes=(AUTO, AUTO)).module()
    taken = 0
    for rows, columns, others, width in itertools.product((1, 2, 3), (1, 2, 5), (0, 1, 3), (0, 1, 2, 3)):
        call = torch.ones(rows, columns), torch.ones(others, width)
        try:
            found = program(*call)
        except (AssertionError, dynamo_lite.DynamoLiteError):
            continue
        taken += 1
        assert torch.equal(found, module(*call)), (rows, columns, others, width)
    assert taken
