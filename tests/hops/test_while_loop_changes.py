"""while_loop whose body changes a buffer or an input in place, without gradients. The oracle is a Python loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._higher_order_ops import while_loop

import dynamo_lite


class Counting(nn.Module):
    seen: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(2))

    def step(self, x: Tensor, y: Tensor) -> Tensor:
        self.seen.add_(1)
        y.mul_(2)
        return x + self.seen * y

    def forward(self, x: Tensor, y: Tensor, times: Tensor) -> Tensor:
        def body(i: Tensor, x: Tensor) -> Any:
            return i + 1, self.step(x, y)

        return while_loop(lambda i, x: i < times, body, (torch.tensor(0), x))[1] * 2 + self.seen


def by_hand(module: Counting, x: Tensor, y: Tensor, times: int) -> Tensor:
    for _ in range(times):
        x = module.step(x, y)
    return x * 2 + module.seen


def test_changes_are_made_in_each_step() -> None:
    with torch.no_grad():
        x, y = torch.randn(2), torch.randn(2)
        program, module = dynamo_lite.export(Counting(), (x, y, torch.tensor(3))).module(), Counting()
        for times in (3, 0, 5):
            mine, yours = y.clone(), y.clone()
            torch.testing.assert_close(program(x, mine, torch.tensor(times)), by_hand(module, x, yours, times))
            torch.testing.assert_close(mine, yours)
            torch.testing.assert_close(program.seen, module.seen)


def test_with_gradients_they_are_refused() -> None:
    with pytest.raises(dynamo_lite.errors.DynamoLiteError, match="subgraph-mutates"):
        dynamo_lite.export(Counting(), (torch.randn(2), torch.randn(2), torch.tensor(3)))


def carried_changed(x: Tensor) -> Any:
    return while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z.add_(1) * 2), (torch.tensor(0), x))


def first_value_changed(x: Tensor) -> Any:
    return while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * x.add_(1)), (torch.tensor(0), x))


def view_of_first_value_changed(x: Tensor) -> Any:
    row = x[0]
    return while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * row.add_(1)), (torch.tensor(0), x))


@pytest.mark.parametrize("program", [carried_changed, first_value_changed, view_of_first_value_changed])
def test_what_is_carried_may_not_change(program: Callable[[Tensor], Any]) -> None:
    with torch.no_grad(), pytest.raises(dynamo_lite.errors.DynamoLiteError, match="subgraph-mutates"):
        dynamo_lite.export(program, (torch.randn(2, 2),))
