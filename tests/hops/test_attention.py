"""flex_attention against plain attention."""

from __future__ import annotations

import pytest
import torch

from tests.hops.attention_programs import PROGRAMS
from tests.hops.harness import Program, check_equal, exported


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
