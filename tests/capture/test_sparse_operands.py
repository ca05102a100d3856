"""Operators in place whose other operand is sparse: it has no storage that could be compared."""

from __future__ import annotations

import torch

import dynamo_lite


def adds_a_sparse_delta(x: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    weight = x.clone()
    weight += torch.sparse_coo_tensor(torch.tensor([[0, 2], [1, 0]]), values, (3, 2))
    return weight * 2


def test_a_sparse_tensor_added_in_place_equals_eager() -> None:
    program = dynamo_lite.export(adds_a_sparse_delta, (torch.ones(3, 2), torch.ones(2))).module()
    x, values = torch.randn(3, 2), torch.randn(2)
    torch.testing.assert_close(program(x, values), adds_a_sparse_delta(x, values))
