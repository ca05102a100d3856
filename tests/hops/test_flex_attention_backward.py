"""A program that calls torch.ops.higher_order.flex_attention_backward itself, against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._higher_order_ops.flex_attention import flex_attention, flex_attention_backward
from torch.nn.attention.flex_attention import create_block_mask

import dynamo_lite

Score = Callable[..., Tensor]
SCALE = torch.tensor(1.5)
SHIFT = torch.tensor(3, dtype=torch.int32)


def plain(score: Tensor, b: Tensor, h: Tensor, m: Tensor, n: Tensor) -> Tensor:
    return score


def closed_over(score: Tensor, b: Tensor, h: Tensor, m: Tensor, n: Tensor) -> Tensor:
    return score * SCALE


def causal(b: Tensor, h: Tensor, m: Tensor, n: Tensor) -> Tensor:
    return m + SHIFT >= n


class Gradients(nn.Module):
    """The gradients of query, key and value."""

    def __init__(self, score: Score) -> None:
        super().__init__()
        self.score = score
        self.mask = create_block_mask(causal, 1, 2, 64, 64, device="cpu").as_tuple()

    def forward(self, q: Tensor, k: Tensor, v: Tensor, grad: Tensor) -> Any:
        out, logsumexp, _ = flex_attention(q, k, v, self.score, self.mask, 0.25, {})
        given = (q, k, v, out, logsumexp, grad, None, self.score, None, self.mask, 0.25, {})
        return flex_attention_backward(*given)


def test_it_equals_eager() -> None:
    """Eager finds no gradient of a score function that computes something, unless it is given."""
    module = Gradients(plain)
    args = tuple(torch.rand(1, 2, 64, 16) for _ in range(4))
    program = dynamo_lite.export(module, args)
    others = tuple(torch.rand(1, 2, 64, 16) for _ in range(4))
    expected = module(*others)
    for run in (program.module(), program.run_decompositions().module()):
        torch.testing.assert_close(run(*others), expected)


def test_a_score_that_closes_over_a_tensor_is_refused() -> None:
    with pytest.raises(dynamo_lite.errors.DynamoLiteError, match="higher-order-rejected"):
        dynamo_lite.export(Gradients(closed_over), tuple(torch.rand(1, 2, 64, 16) for _ in range(4)))


def test_a_backward_function_of_its_own_is_refused() -> None:
    def slope(*args: Tensor) -> list[Tensor]:
        return [args[5], *args[1:5]]

    class Own(Gradients):
        def forward(self, q: Tensor, k: Tensor, v: Tensor, grad: Tensor) -> Any:
            out, logsumexp, _ = flex_attention(q, k, v, self.score, self.mask, 0.25, {})
            given = (q, k, v, out, logsumexp, grad, None, self.score, slope, self.mask, 0.25, {})
            return flex_attention_backward(*given)

    with pytest.raises(dynamo_lite.errors.DynamoLiteError, match="higher-order-rejected"):
        dynamo_lite.export(Own(plain), tuple(torch.rand(1, 2, 64, 16) for _ in range(4)))
