"""What sizes compare to is a bool, and so a number: with tensors, and with Python's own operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim
from torch.utils import _pytree as pytree

import dynamo_lite

WITH_TENSORS: dict[str, Callable[[Tensor, int], Any]] = {
    "times": lambda x, n: (x * (n > 0), (n > 0) * x, torch.mul(x, n > 0)),
    "in_arithmetic": lambda x, n: (x + (n > 0), x / (n > -5), x ** (n > 0)),
    "compared": lambda x, n: (x == (n > 0), x > (n > 0)),
    "filled": lambda x, n: (x.masked_fill(x > 0, n > 0), torch.where(x > 0, n > 0, x), x.clamp(0, n > 0)),
    "of_integers": lambda x, n: (x.long() * (n > 0), x.int() + (n > 0), (n > 0) * x.to(torch.uint8)),
}


@pytest.mark.parametrize("name", WITH_TENSORS)
@pytest.mark.parametrize("sizes", [None, {0: Dim.AUTO}], ids=["static", "dynamic"])
def test_a_truth_value_is_a_number_for_operators(name: str, sizes: Any) -> None:
    program = WITH_TENSORS[name]
    run = dynamo_lite.export(program, (torch.tensor([1.0, -2.0, 3.0]), 7), dynamic_shapes=(sizes, Dim.DYNAMIC)).module()
    for n in (7, 0, -3):
        torch.testing.assert_close(run(torch.tensor([2.0, -1.0, 0.5]), n), program(torch.tensor([2.0, -1.0, 0.5]), n))


IN_PYTHON: dict[str, Callable[[int], Any]] = {
    "sums": lambda n: ((n > 2) + (n > 1), sum([n > 2, n > 3]), (n > 2) - 5, 3 - (n > 2)),
    "products": lambda n: ((n > 2) * 2.5, 2.5 * (n > 2), (n > 2) / 2, 7 // (1 + (n > 2)), divmod(5, (n > 0) + 1)),
    "signs": lambda n: (-(n > 2), +(n > 2), abs(n > 2)),
    "logic": lambda n: ((n > 2) ^ (n > 3), (n > 2) ^ True, (n > 2) & (n > 3), (n > 2) | (n > 3)),
    "compared": lambda n: ((n > 2) < (n > 3), (n > 2) >= (n > 3), (n > 2) == (n > 3), (n > 2) <= 1),
    "with_the_size": lambda n: (n + (n > 2), n * (n > 4), (n > 2) * n, [1, 2][n > 2]),
}


@pytest.mark.parametrize("name", IN_PYTHON)
def test_a_truth_value_is_a_number_in_python(name: str) -> None:
    def forward(x: Tensor) -> Any:
        return x + 1, IN_PYTHON[name](x.shape[0])

    for example in (3, 6):
        run = dynamo_lite.export(forward, (torch.ones(example),), dynamic_shapes=({0: Dim.AUTO},)).module()
        admitted = 0
        for size in range(9):
            try:
                got = run(torch.ones(size))
            except RuntimeError:
                continue
            admitted += 1
            for ours, eager in zip(pytree.tree_leaves(got), pytree.tree_leaves(forward(torch.ones(size))), strict=True):
                assert type(ours) is type(eager)
                assert torch.equal(ours, eager) if isinstance(ours, Tensor) else ours == eager
        assert admitted


def test_a_truth_value_that_only_run_time_knows_is_a_number() -> None:
    def forward(x: Tensor, k: Tensor) -> Any:
        n = k.item()
        return x * (n > 3), (n > 3) + 2, (n > 3) * x

    run = dynamo_lite.export(forward, (torch.ones(3), torch.tensor(5))).module()
    for k in (5, 3, -1):
        torch.testing.assert_close(run(torch.ones(3), torch.tensor(k)), forward(torch.ones(3), torch.tensor(k)))
