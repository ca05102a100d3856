"""Numbers that a function given to a control-flow operator takes from its operands: each sub-graph has its own."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch._higher_order_ops import while_loop

import dynamo_lite


class Rows(nn.Module):
    """The check holds within the body only: the last number that the condition sees fails it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def goes_on(index: torch.Tensor, total: torch.Tensor) -> bool:
            return index.item() < x.size(0)

        def step(index: torch.Tensor, total: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            i = index.item()
            torch._check(i >= 0)
            torch._check(i < x.size(0))
            return index + 1, total + x[i]

        return while_loop(goes_on, step, (torch.zeros((), dtype=torch.int64), torch.zeros(x.size(1))))[1]


class OtherChecks(nn.Module):
    def forward(self, p: torch.Tensor, n: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        def low(n: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            i = n.item()
            torch._check(i >= 0)
            torch._check(i < 3)
            return x.narrow(0, i, 1).clone()

        def high(n: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            i = n.item()
            torch._check(i >= 5)
            torch._check(i < 8)
            return x.narrow(0, i - 2, 1) * 2

        return torch.cond(p, low, high, [n, x])


class Afterwards(nn.Module):
    """What a branch found in an operand is not what the program finds in it behind."""

    def forward(self, p: torch.Tensor, marks: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        def marked(x: torch.Tensor) -> torch.Tensor:
            found = marks.nonzero()
            torch._check(found.shape[0] >= 3)
            return x + found.sum()

        return torch.cond(p, marked, lambda x: x - marks.nonzero().sum(), [x]) * marks.nonzero().shape[0]


@pytest.mark.parametrize("strict", [True, False])
def test_a_check_in_the_body_is_none_of_the_condition(strict: bool) -> None:
    x = torch.rand(8, 4)
    run = dynamo_lite.export(Rows(), (x,), strict=strict).module()
    torch.testing.assert_close(run(x), x.sum(0))


@pytest.mark.parametrize("strict", [True, False])
def test_branches_check_the_same_operand_differently(strict: bool) -> None:
    x = torch.rand(9, 2)
    run = dynamo_lite.export(OtherChecks(), (torch.tensor(True), torch.tensor(1), x), strict=strict).module()
    torch.testing.assert_close(run(torch.tensor(True), torch.tensor(2), x), x[2:3])
    torch.testing.assert_close(run(torch.tensor(False), torch.tensor(6), x), x[4:5] * 2)
    for p, n in ((True, 5), (False, 2)):
        with pytest.raises(RuntimeError, match="Runtime assertion failed for expression u"):
            run(torch.tensor(p), torch.tensor(n), x)


@pytest.mark.parametrize("strict", [True, False])
def test_the_program_may_ask_again_behind_the_branch(strict: bool) -> None:
    x, many, one = torch.rand(2, 3), torch.tensor([1, 1, 0, 1]), torch.tensor([0, 0, 1, 0])
    run = dynamo_lite.export(Afterwards(), (torch.tensor(True), many, x), strict=strict).module()
    torch.testing.assert_close(run(torch.tensor(True), many, x), (x + 4) * 3)
    torch.testing.assert_close(run(torch.tensor(False), one, x), x - 2)
    with pytest.raises(RuntimeError, match="for expression u"):
        run(torch.tensor(True), one, x)
