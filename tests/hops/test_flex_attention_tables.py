"""flex_attention whose score function reads parameters: exported first, compared with eager."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention.flex_attention import flex_attention

import dynamo_lite

Score = Any


class Tables(nn.Module):
    def __init__(self, score: Any) -> None:
        super().__init__()
        self.score, self.mlp = score, nn.Linear(1, 2)
        self.rel, self.slopes, self.pairs = (nn.Parameter(torch.randn(size)) for size in ((7,), (2,), (2, 7)))
        self.register_buffer("places", torch.randn(7, 1))
        self.register_buffer("ids", torch.tensor([0, 0, 1, 1]))

    def forward(self, x: Tensor) -> Tensor:
        q = x.view(2, 4, 2, 4).transpose(1, 2)
        result: Tensor = flex_attention(q, q, q, score_mod=self.score(self))
        return result


def _of_a_computed_table(m: Any) -> Score:
    table = m.mlp(m.places)
    return lambda s, b, h, i, j: s + table[i - j + 3, h]


SCORES: dict[str, Any] = {
    "one": lambda m: lambda s, b, h, i, j: s + m.rel[i - j + 3],
    "two_indices": lambda m: lambda s, b, h, i, j: s + m.pairs[h, i - j + 3],
    "a_number_and_an_index": lambda m: lambda s, b, h, i, j: s + m.pairs[1, i - j + 3],
    "a_number": lambda m: lambda s, b, h, i, j: s + m.rel[0],
    "slopes": lambda m: lambda s, b, h, i, j: s + m.slopes[h] * (i - j),
    "two_tables": lambda m: lambda s, b, h, i, j: s * m.slopes[h] + torch.tanh(m.rel[(i - j).clamp(-3, 3) + 3]),
    "through_ids": lambda m: lambda s, b, h, i, j: s + m.slopes[m.ids[i]],
    "computed": _of_a_computed_table,
    "masked": lambda m: lambda s, b, h, i, j: torch.where(i >= j, s + m.rel[i - j + 3], -float("inf")),
    "twice": lambda m: lambda s, b, h, i, j: s + m.rel[i] - m.rel[j],
    "a_buffer": lambda m: lambda s, b, h, i, j: s + m.places[i - j + 3, 0],
}


@pytest.mark.parametrize("name", SCORES)
def test_gradients_of_what_it_reads(name: str) -> None:
    torch.manual_seed(0)
    model, x = Tables(SCORES[name]), torch.randn(2, 4, 8)
    program = dynamo_lite.export(model, (x,))
    before = program.graph_module.sdpa_score0.graph.python_code("self").src
    ours = [_gradients(m, x) for m in (program.module(), copy.deepcopy(program.module()))]
    eager = _gradients(model, x)
    for found in (*ours, _gradients(program.run_decompositions().module(), x)):
        torch.testing.assert_close(found, eager)
    assert program.graph_module.sdpa_score0.graph.python_code("self").src == before


def _gradients(module: Any, x: Tensor) -> Any:
    result = module(x)
    if not result.requires_grad:
        return result, []
    loss = (result * torch.linspace(0, 1, result.numel()).view(result.shape)).sum()
    parameters = dict(sorted(module.named_parameters())).values()
    return result.detach(), torch.autograd.grad(loss, [*parameters], allow_unused=True)


def test_flags_of_the_results() -> None:
    def forward(self: Any, x: Tensor) -> Any:
        q = x.view(2, 4, 2, 4).transpose(1, 2)
        return flex_attention(q, q, q, score_mod=self.score(self), return_lse=True)

    model = type("M", (Tables,), {"forward": forward})(SCORES["one"])
    x = torch.randn(2, 4, 8)
    results = dynamo_lite.export(model, (x,)).module()(x)
    assert [t.requires_grad for t in results] == [t.requires_grad for t in model(x)]
