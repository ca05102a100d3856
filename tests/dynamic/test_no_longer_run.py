"""A program that holds no table is not run with longer inputs to look for one: such a run may take very long."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import dynamo_lite
from dynamo_lite.run import growing_tables


def collatz(x: Tensor) -> Tensor:
    n = x.shape[0]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        x = x + 1
    return x


def test_no_longer_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(*_: Any) -> Any:
        raise AssertionError("run with longer inputs")

    monkeypatch.setattr(growing_tables, "_longer", unexpected)
    module = dynamo_lite.export(collatz, (torch.randn(8, 3),), dynamic_shapes=({0: Dim("n", min=1)},)).module()
    for rows in (1, 2, 3, 6, 7, 8):
        torch.testing.assert_close(module(torch.ones(rows, 3)), collatz(torch.ones(rows, 3)))
