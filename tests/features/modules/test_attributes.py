"""nn.Module.__getattr__ by a rule: the program, its metadata and its guards are those of the interpreted function."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.features.modules import attributes


class Parts(nn.Module):
    """A parameter, a buffer, a submodule, an attribute that is not there, and one of a class of its own making."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("scale", torch.full((3,), 2.0))
        self.linear = nn.Linear(3, 3)

    def __getattr__(self, name: str) -> Any:
        if name == "alias":
            return super().__getattr__("weight")
        return super().__getattr__(name)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        try:
            x = x * self.missing
        except AttributeError as error:
            x = x + len(str(error))
        return self.linear(x * self.weight) * self.scale + self.alias + self.weight


class Replaced(Parts):
    """A parameter that forward takes out and puts back."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.weight
        del self.weight
        missing = hasattr(self, "weight")
        self.weight = weight
        return super().forward(x) + missing


def _seen(cls: type[nn.Module]) -> list[Any]:
    torch.manual_seed(0)
    found = dynamo_lite.trace(cls(), (torch.ones(2, 3),))
    nodes = [
        (n.name, str(n.args), str(n.meta.get("stack_trace")), str(n.meta.get("torch_fn")))
        for n in found.program.graph.nodes
    ]
    return [nodes, sorted((guard.text, str(guard.line)) for guard in found.guards)]


@pytest.mark.parametrize("cls", [Parts, Replaced])
def test_the_rule_tells_what_the_function_reads(cls: type[nn.Module], monkeypatch: pytest.MonkeyPatch) -> None:
    by_rule = _seen(cls)
    monkeypatch.setattr(attributes, "_CHECKED", False)
    assert not attributes.table()
    assert by_rule == _seen(cls)


def test_a_part_that_is_replaced_is_another_program() -> None:
    module = Parts()
    found = dynamo_lite.trace(module, (torch.ones(2, 3),))
    assert found.guards.check(module, (torch.ones(2, 3),), {}) is None
    module.linear = nn.Linear(3, 3, bias=False)
    assert found.guards.check(module, (torch.ones(2, 3),), {}) is not None


def test_torchs_function_is_the_one_that_is_told() -> None:
    assert attributes._CHECKED
