"""Branches on sizes that are no guards: what shows that both sides compute the same values is checked again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.report import document
from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, not_, or_
from dynamo_lite.symbolic_shapes.proofs.checker import BadCertificate


def expanded(x: Tensor, p: Tensor) -> Tensor:
    if x.shape[0] > 1:
        p = p.expand(x.shape[0], -1)
    return x + p


def causal(x: Tensor, p: Tensor) -> Tensor:
    rows = x[None, None]
    return nn.functional.scaled_dot_product_attention(rows, rows, rows, is_causal=x.shape[0] > 1 and p is not None)


def within_a_side(x: Tensor, p: Tensor) -> Tensor:
    n = x.shape[0]
    if n >= 4:
        k = n - 4 if n > 3 else 7
    else:
        k = 0 if n > 5 else n - n
    return x + p * k


def of_a_fact(x: Tensor, p: Tensor) -> Tensor:
    torch._check(x.shape[0] % 2 == 0)
    half = x.shape[0] // 2 if x.shape[0] > 6 else (x.shape[0] + 1) // 2
    return x + p * half


PROGRAMS = [expanded, causal, within_a_side, of_a_fact]


def traced(function: Callable[..., Any]) -> Any:
    class Module(nn.Module):
        def forward(self, x: Tensor, p: Tensor) -> Tensor:
            result: Tensor = function(x, p)
            return result

    args = (torch.randn(4, 4), torch.randn(1, 4))
    return dynamo_lite.trace(Module(), args, dynamic_shapes=({0: Dim.AUTO(min=1)}, None))


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_what_shows_that_sides_are_equal_is_checked_again(function: Callable[..., Any]) -> None:
    trace = traced(function)
    assert trace.compared
    asked = {fact.relation for fact in trace.solution.guard_set.facts}
    for row in trace.compared:
        row.verify()
        for certificate in row.certificates():
            assert {fact.relation for fact in certificate.facts} <= asked  # the guards of the program hold them
            facts = [fact.relation for fact in certificate.facts]
            for n in range(1, 40):
                values = dict.fromkeys(symbols_of(certificate.conclusion), n)
                if all(evaluate(fact, values) for fact in facts):
                    assert evaluate(certificate.conclusion, values)


def test_an_equality_that_does_not_follow_is_refused() -> None:
    (row,) = traced(expanded).compared
    ((side, shown),) = row.equalities
    for wrong in ((side, not_(shown)), (or_(side, not_(side)), shown), (side, FALSE)):
        with pytest.raises(BadCertificate, match="do not prove"):
            replace(row, equalities=(wrong,)).verify()


def test_the_trace_and_the_report_show_the_equalities() -> None:
    trace = traced(expanded)
    assert "x.shape[0] == 1 where x.shape[0] <= 1" in trace.explain()
    (row,) = [row for row in document.of_trace(trace)["branches"] if "same values" in row["text"]]
    assert row["proof"]["checked"] and row["proof"]["steps"][0]["proof"]
    assert row["origin"]["at"]["code"] == "if x.shape[0] > 1:"
