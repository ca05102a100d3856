"""Normalisations in training mode on a side of a branch on data: statistics and gradients are eager's, on both ways."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite

PROGRAMS: dict[str, type[nn.Module]] = {}


class _Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.norm, self.other = nn.BatchNorm1d(3), nn.BatchNorm1d(3, momentum=0.3, affine=False)
        self.each = nn.InstanceNorm1d(3, affine=True, track_running_stats=True)


def program(forward: Callable[..., Any]) -> Callable[..., Any]:
    name = forward.__name__
    PROGRAMS[name] = type(name, (_Normed,), {"forward": forward})
    return forward


@program
def on_both_sides(self: Any, x: Tensor) -> Tensor:
    y = self.layer(x)
    return self.other(self.norm(y).relu()) if x.sum() > 0 else self.norm(y * 2)


@program
def for_its_statistics_alone(self: Any, x: Tensor) -> Tensor:
    y = self.layer(x)
    if x.sum() > 0:
        self.norm(y)
    return y * 2


@program
def of_each_row(self: Any, x: Tensor) -> Tensor:
    y = self.layer(x)[:, :, None].expand(-1, 3, 4) * torch.arange(4)
    return self.each(y) if x.sum() > 0 else y * 2


@program
def within_another_branch(self: Any, x: Tensor) -> Tensor:
    y = self.layer(x)
    if x.sum() > 0:
        if x[0].sum() > 1.5:
            y = self.norm(y)
        y = self.norm(y) * self.norm.running_var
    return y + self.norm.running_mean


@program
def in_iterations(self: Any, x: Tensor) -> Tensor:
    y = self.layer(x)
    while y.sum() < 30:
        y = self.norm(y) + y.abs() + 1
    return y


def inputs(call: int) -> Tensor:
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(call)).abs()
    return x if call % 2 else -x


def called(module: Any, grad: bool) -> list[Any]:
    """The results, gradients and statistics of five calls."""
    found: list[Any] = []
    with torch.set_grad_enabled(grad):
        for call in range(5):
            y = module(inputs(call))
            found.append(y.detach())
            if grad:
                y.pow(3).sum().backward()
            found += [module.state_dict()[name].clone() for name in ("norm.running_mean", "other.running_var")]
            found += [module.state_dict()[name].clone() for name in ("norm.num_batches_tracked", "each.running_mean")]
    grads = {name: parameter.grad for name, parameter in module.named_parameters()}
    names = sorted(grads) if grad else []  # torch.cond gives zeros to the parameters of the other side
    return found + [torch.zeros(()) if (g := grads[name]) is None or not g.any() else g for name in names]


def _decomposed(exported: Any) -> Any:
    return exported.run_decompositions()


def _saved(exported: Any) -> Any:
    file = io.BytesIO()
    torch.export.save(exported, file)
    file.seek(0)
    return torch.export.load(file)


@pytest.mark.parametrize("name", PROGRAMS)
def test_statistics_that_a_side_changes(name: str) -> None:
    torch.manual_seed(0)
    module = PROGRAMS[name]()
    exported = dynamo_lite.export(copy.deepcopy(module), (inputs(1),))
    for way in (_decomposed, _saved):
        torch.testing.assert_close(
            called(way(copy.deepcopy(exported)).module(), False), called(copy.deepcopy(module), False)
        )
    torch.testing.assert_close(called(exported.module(), True), called(module, True))
