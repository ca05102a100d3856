"""What errors and `explain` say of control_flow="capture"."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import dynamo_lite
from dynamo_lite.errors import DataDependent

X = torch.ones(3)


def _branch(x: Tensor) -> Tensor:
    if x.sum() > 0:
        x = x * 2
    while x.norm() > 1:
        x = x / 2
    return x


def _differs(x: Tensor) -> Tensor:
    return x.double() if x.sum() > 0 else x


@pytest.mark.parametrize(("strict", "word"), [(True, "as they are written; or"), (False, "strict=True, which")])
def test_the_refusal_of_a_branch_names_the_option(strict: bool, word: str) -> None:
    with pytest.raises(DataDependent) as refused:
        dynamo_lite.export(_branch, (X,), strict=strict, control_flow="refuse")
    assert word in str(refused.value)


def test_a_refusal_where_branches_are_captured_does_not() -> None:
    def sorts(x: Tensor) -> Tensor:
        return sorted([x.sum(), *[x.mean()] * 12])[0]

    with pytest.raises(DataDependent) as refused:
        dynamo_lite.export(sorts, (X,), control_flow="capture")
    assert "control_flow" not in refused.value.instead


def test_explain_says_what_is_captured() -> None:
    found = dynamo_lite.explain(_branch, (X,))
    captured = found.captured
    assert isinstance(captured, list)
    assert ["torch.cond" in captured[0], "while_loop" in captured[1]] == [True, True]
    assert found and "Control flow on data:" in str(found)


def test_a_loop_over_a_size_is_no_problem() -> None:
    def summed(x: Tensor) -> Tensor:
        total = x[0]
        for row in x:
            total = total + row
        return total

    words = {"dynamic_shapes": ({0: torch.export.Dim("n", min=1)},)}
    found = dynamo_lite.explain(summed, (torch.ones(4, 3),), **words)
    assert found and isinstance(found.captured, list) and not found.specializations
    found = dynamo_lite.explain(summed, (torch.ones(4, 3),), **words, control_flow="refuse")
    assert found.ids == ["constraint-violation"]


def test_explain_says_why_it_is_not() -> None:
    found = dynamo_lite.explain(_differs, (X,))
    assert isinstance(found.captured, dynamo_lite.errors.DynamoLiteError)
    assert "branch-differs" in str(found)
    assert dynamo_lite.explain(torch.sin, (X,)).captured is None
