"""A refusal that rests on the data of inputs alone proposes to give them by value; the proposal works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import dynamo_lite
from dynamo_lite.errors import DataDependent

X = torch.linspace(-1, 1, 6)
WEIGHT = torch.nn.Parameter(torch.ones(6))

DECIDED: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "pooled": lambda x, n: F.adaptive_avg_pool1d(x[None], n.item()),
    "kernel": lambda x, n: F.max_pool1d(x[None], n.item()),
    "computed": lambda x, n: F.adaptive_avg_pool1d(x[None], (n * 2 + 1).clamp(max=9).item()),
}


@pytest.mark.parametrize("name", DECIDED)
def test_it_is_proposed_and_works(name: str) -> None:
    program, n = DECIDED[name], torch.tensor(2)
    with pytest.raises(DataDependent) as refusal:
        dynamo_lite.export(program, (X, n))
    text = str(refusal.value)
    proposal = 'export(..., constants={"n": None})'
    assert proposal in " ".join(text.split())
    module = dynamo_lite.export(program, (X, n), constants={"n": None}).module()
    torch.testing.assert_close(module(X, n), program(X, n))


OTHERS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "a parameter decides too": lambda x, n: F.adaptive_avg_pool1d(x[None], (n * WEIGHT.sum()).long().item()),
    "random": lambda x, n: F.adaptive_avg_pool1d(x[None], torch.randint(1, 3, ()).item()),
}


@pytest.mark.parametrize("name", OTHERS)
def test_it_is_not_proposed(name: str) -> None:
    with pytest.raises(DataDependent) as refusal:
        dynamo_lite.export(OTHERS[name], (X, torch.tensor(2)))
    assert "constants=" not in str(refusal.value)


def test_of_a_container_the_part_that_decides_is_proposed() -> None:
    """And not the whole container: the image in it would have to be the same in each call."""

    def program(batch: dict[str, torch.Tensor]) -> list[torch.Tensor]:
        return [batch["image"] * 2 for _ in range(int(batch["count"]))]

    batch = {"image": X, "count": torch.tensor(2)}
    with pytest.raises(dynamo_lite.GraphBreak) as refusal:
        dynamo_lite.export(program, (batch,), control_flow="refuse")
    assert """export(..., constants=["batch['count']"])""" in " ".join(str(refusal.value).split())
    module = dynamo_lite.export(program, (batch,), constants=["batch['count']"]).module()
    other = {"image": X + 1, "count": torch.tensor(2)}
    torch.testing.assert_close(module(other), program(other))
