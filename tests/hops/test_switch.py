"""torch.switch (torch 2.14 and later) against eager: every branch, indices out of range, sizes, vmap, closures."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import UnsupportedCall

switch: Any = pytest.importorskip("torch._higher_order_ops.switch", reason="new in torch 2.14").switch

X = torch.linspace(-2, 2, 8).reshape(2, 4)
INDICES = (-1, 0, 1, 2, 7)


class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return switch(i, [*(lambda t, layer=layer: layer(t) for layer in self.layers), torch.sin], (x,))


class Dicts(nn.Module):
    """Operands and results in containers; one number is the same in both branches, one is not."""

    def forward(self, x: torch.Tensor, i: torch.Tensor) -> Any:
        branches = (lambda d: {"a": d["a"] * 2, "n": 3, "k": 1}, lambda d: {"a": d["a"] + 1, "n": 5, "k": 1})
        return switch(i, branches, ({"a": x},))


class ByAnElement(nn.Module):
    def forward(self, x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        branches = [lambda t: t + 1, lambda t: t * 2, lambda t: t.sin()]
        rows = torch.stack([i, i + 1])
        return torch.vmap(lambda row, j: switch(j, branches, (row,)))(x, rows)


class ByAnElementInEager(nn.Module):
    def forward(self, x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        branches = [lambda t: t + 1, lambda t: t * 2, lambda t: t.sin()]
        return torch.stack([switch(int(i) + n, branches, (row,)) for n, row in enumerate(x)])


class BySize(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return switch(x.shape[0] - 2, [lambda t: t + 1, lambda t: t * 2, lambda t: t.sin()], (x,))


def _equal(got: Any, want: Any) -> None:
    torch.testing.assert_close(got, want, rtol=0, atol=0)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("module", [Experts, Dicts])
def test_every_branch_as_in_eager(module: Any, dynamic: bool, strict: bool) -> None:
    mod = module()
    shapes = {"x": {0: torch.export.Dim("rows")}, "i": None} if dynamic else None
    program = dynamo_lite.export(mod, (X, torch.tensor(1)), dynamic_shapes=shapes, strict=strict)
    assert any("switch" in str(node.target) for node in program.graph.nodes)
    for run in (program.module(), program.run_decompositions().module()):
        for index in INDICES:
            i = torch.tensor(index)
            _equal(run(X, i), mod(X, i))
            if dynamic:
                _equal(run(X[:1], i), mod(X[:1], i))


def test_one_index_for_all_elements_of_vmap() -> None:
    """Against eager by hand: torch 2.15 has no batching rule of the operator."""

    class PerRow(nn.Module):
        def forward(self, x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
            return torch.vmap(lambda row: switch(i, [lambda t: t + 1, lambda t: t * 2, torch.sin], (row,)))(x)

    run = dynamo_lite.export(PerRow(), (X, torch.tensor(1))).module()
    for index in INDICES:
        _equal(run(X, torch.tensor(index)), (X + 1, X * 2, X.sin())[min(max(index, 0), 2)])


def test_an_index_for_each_element_of_vmap() -> None:
    run = dynamo_lite.export(ByAnElement(), (X, torch.tensor(1))).module()
    for index in INDICES:
        _equal(run(X, torch.tensor(index)), ByAnElementInEager()(X, torch.tensor(index)))


def test_a_size_as_the_index() -> None:
    program = dynamo_lite.export(BySize(), (X,), dynamic_shapes={"x": {0: torch.export.Dim("rows", max=9)}})
    for rows in (0, 1, 2, 3, 4, 9):
        x = torch.rand(rows, 4)
        _equal(program.module()(x), BySize()(x))


def test_branches_that_return_different_things_are_refused() -> None:
    class Mismatch(nn.Module):
        def forward(self, x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
            return switch(i, [torch.sin, torch.cos, lambda t: t.long()], (x,))

    with pytest.raises(UnsupportedCall, match=r"torch\.switch.*float32 from branch 0, torch.int64 from branch 2"):
        dynamo_lite.export(Mismatch(), (X, torch.tensor(1)))


def test_gradients_go_through_the_branch_that_ran() -> None:
    mod = Experts()
    program = dynamo_lite.export(mod, (X, torch.tensor(1)))
    for index in (0, 1):
        grads = []
        for run in (mod, program.module()):
            x = X.clone().requires_grad_()
            run(x, torch.tensor(index)).sum().backward()
            grads.append(x.grad)
        _equal(grads[1], grads[0])
