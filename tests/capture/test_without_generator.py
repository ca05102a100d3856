"""`generator=None`, as libraries pass it on, with sizes that vary: torch has no kernel for it (randn.generator)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.export import Dim

import dynamo_lite

DRAWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "randn": lambda x: torch.randn(x.shape, generator=None, dtype=x.dtype, device=x.device, layout=torch.strided),
    "rand": lambda x: torch.rand(x.shape, generator=None),
    "randint": lambda x: torch.randint(7, x.shape, generator=None),
    "randint_low": lambda x: torch.randint(-2, 7, x.shape, generator=None),
    "randperm": lambda x: torch.randperm(x.shape[0], generator=None),
    "normal": lambda x: torch.normal(0.0, 1.0, x.shape, generator=None),
    "normal_of_means": lambda x: torch.normal(x, 1.0, generator=None),
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid(), generator=None),
    "normal_": lambda x: x.clone().normal_(generator=None),
}


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_are_those_of_eager_for_each_size(name: str) -> None:
    draw = DRAWS[name]
    program = dynamo_lite.export(draw, (torch.ones(3, 4),), dynamic_shapes=({0: Dim("n", min=2)},)).module()
    for size in (2, 3, 9):
        torch.manual_seed(size)
        expected = draw(torch.ones(size, 4))
        torch.manual_seed(size)
        torch.testing.assert_close(program(torch.ones(size, 4)), expected, rtol=0, atol=0)


def test_constant_sizes_keep_the_operator_of_torch_export() -> None:
    x = torch.ones(3, 4)
    made = dynamo_lite.export(DRAWS["randn"], (x,)), torch.export.export(_Module(DRAWS["randn"]), (x,))
    ours, theirs = ([node.target for node in p.graph.nodes if node.op == "call_function"] for p in made)
    assert ours == theirs


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)
