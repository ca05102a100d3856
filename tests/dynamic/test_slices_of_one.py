"""`x[1:]` of a size from 2 on may have one row: programs hold for that, too, below autograd and in torch's kernels."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch.export import Dim

import dynamo_lite

Rows = Callable[[torch.Tensor], torch.Tensor]
CUTS: dict[str, tuple[Rows, int]] = {
    "x[1:]": (lambda x: x[1:], 2),
    "x[1:-1]": (lambda x: x[1:-1], 3),
}
"""What it is called → the rows, and the least size that leaves one."""
OPERATIONS: dict[str, Rows] = {
    "add": lambda v: v + 1,
    "sort": lambda v: v.sort(0).values,
    "diff": lambda v: v.diff(dim=1),
    "clone": lambda v: v.t().clone(),
    "einsum": lambda v: torch.einsum("ij,kj->ik", v, v),
    "eye": lambda v: torch.eye(v.shape[0]) @ v,
    "index": lambda v: v[torch.arange(v.shape[0])],
    "pool": lambda v: F.avg_pool1d(v.t()[None], 1),
    "attention": lambda v: F.scaled_dot_product_attention(v[None], v[None], v[None]),
    "layer_norm": lambda v: F.layer_norm(v, (4,)),
    "expand": lambda v: v[:, None].expand(-1, 3, 4),
    "cat": lambda v: torch.cat([v, v * 2]),
    "softmax": lambda v: v.softmax(0),
    "broadcast": lambda v: v + v[:1] - v.sum(0),
}


def _least_admitted(program: Rows, least: int) -> None:
    exported = dynamo_lite.export(program, (torch.randn(5, 4),), dynamic_shapes=({0: Dim("n", min=least)},)).module()
    for size in (least, least + 1, 7):
        x = torch.randn(size, 4)
        torch.testing.assert_close(exported(x), program(x))


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_one_row(name: str, cut: str) -> None:
    rows, least = CUTS[cut]
    operation = OPERATIONS[name]
    _least_admitted(lambda x: operation(rows(x)), least)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", [name for name in OPERATIONS if name != "attention"])
def test_gradient_of_one_row(name: str, cut: str) -> None:
    rows, least = CUTS[cut]
    operation = OPERATIONS[name]
    _least_admitted(torch.func.grad(lambda x: (operation(rows(x)) * rows(x).sum()).sum()), least)


def test_gradient_by_autograd() -> None:
    def gradient(x: torch.Tensor) -> torch.Tensor:
        leaf = x.detach().requires_grad_()
        return torch.autograd.grad((leaf[1:] ** 2).sum(), leaf)[0]

    _least_admitted(gradient, 2)


def test_a_branch_on_one_row_is_no_condition() -> None:
    _least_admitted(lambda x: x[1:] * (2 if x[1:].shape[0] == 1 else 3), 2)
    _least_admitted(lambda x: x[1:].sin() if x[1:].shape[0] == 1 else x[1:].cos(), 2)
    _least_admitted(lambda x: x[1:] * (2.5 if x[1:].t().is_contiguous() else 3.5), 2)
