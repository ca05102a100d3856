"""flex_attention against eager: score and mask functions that close over tensors, numbers and block masks."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from tests.hops.harness import Program, check_equal, exported

Q = torch.randn(1, 2, 128, 16, generator=torch.Generator().manual_seed(0))


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("bias", torch.linspace(-1, 1, 2))
        self.slope = 0.5


class Scores(Base):
    def forward(self, q: torch.Tensor) -> torch.Tensor:
        def score(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
            return s + self.bias[h] * (i - j) * self.slope

        return flex_attention(q, q * 2, q, score)


class Causal(Base):
    def forward(self, q: torch.Tensor) -> torch.Tensor:
        mask = create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 128, 128, device="cpu")
        return flex_attention(q, q, q, block_mask=mask)


PROGRAMS = [
    Program("scores", Scores, [(Q,), (-Q,)], lowers=False, saves=False),
    Program("causal", Causal, [(Q,), (-Q,)], lowers=False, saves=False),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_equals_eager(program: Program) -> None:
    check_equal(program)


def test_the_form_is_that_of_torch_export() -> None:
    _, ep = exported(PROGRAMS[0])
    (call,) = [n for n in ep.graph.nodes if n.target is torch.ops.higher_order.flex_attention]
    score, block_mask, score_buffers = call.args[3], call.args[4], call.args[7]
    assert (score.target, block_mask[-1].target) == ("sdpa_score0", "sdpa_mask0")
    assert [n.name for n in score_buffers] == ["b_bias"]
    operators = [str(n.target) for n in ep.graph_module.sdpa_score0.graph.nodes if n.op == "call_function"]
    assert "aten.index.Tensor" in operators and not any("item" in o for o in operators)
