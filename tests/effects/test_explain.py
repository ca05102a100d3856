"""dynamo_lite.explain: all problems of a program, in the order of the run, with what would fix each."""

from __future__ import annotations

import ctypes
import random
import time
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import GraphBreak
from dynamo_lite.exportdb import catalogue

X = torch.ones(4, 3)
FOREIGN = ctypes.CDLL(None).abs


def _module(body: Any, **attributes: Any) -> nn.Module:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.__dict__.update(attributes)

        def forward(self, x: torch.Tensor) -> Any:
            return body(self, x)

    return M()


def everything(self: Any, x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        x = x + 1
    self.count += 1
    for _ in range(int(x[0, 0].item())):
        x = x * 2
    y = x * random.random() * FOREIGN(-3)
    random.seed(1)
    if x.nonzero().shape[0] > 3:
        y = y + 1
    len(f"{y}")
    return y


def test_all_problems_of_a_program_are_found_in_order() -> None:
    module = _module(everything, count=0)
    found = dynamo_lite.explain(module, (X,), control_flow="refuse")
    assert found.ids == [
        *("data-dependent-branch", "data-dependent-value", "unrecordable-value", "opaque-call", "global-rng"),
        *("data-dependent-branch", "tensor-repr", "python-state"),
    ]
    assert found.complete and not found
    lines = [problem.error.frame.lineno for problem in found.problems]  # type: ignore[attr-defined]
    assert lines[:-1] == sorted(lines[:-1]) and all(problem.then for problem in found.problems)


def test_each_problem_has_its_fix_and_its_case() -> None:
    text = str(dynamo_lite.explain(_module(everything, count=0), (X,), control_flow="refuse"))
    assert text.count("What to write instead:") == text.count("exportdb:") == 8
    assert "8. [python-state] The program changes self.count from 0 to 1" in text


def test_the_users_objects_are_as_before() -> None:
    module = _module(everything, count=0)
    before = random.getstate()
    dynamo_lite.explain(module, (X,))
    assert module.count == 0 and random.getstate() == before and torch.equal(X, torch.ones(4, 3))


def test_the_first_problem_is_what_export_raises() -> None:
    module = _module(everything, count=0)
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(module, (X,))
    first = dynamo_lite.explain(module, (X,)).problems[0].error
    assert caught.value.id == first.id and caught.value.frame == first.frame  # type: ignore[attr-defined]


def test_branches_that_are_captured_are_no_problems() -> None:
    found = dynamo_lite.explain(_module(everything, count=0), (X,))
    assert found.ids[:3] == ["unrecordable-value", "opaque-call", "global-rng"]


def test_a_program_without_problems_is_said_to_have_none() -> None:
    found = dynamo_lite.explain(nn.Linear(3, 3), (X,))
    assert found and found.complete and found.problems == []
    assert str(found).startswith("Nothing to fix")


def test_an_unused_clock_is_no_problem() -> None:
    def body(self: Any, x: torch.Tensor) -> torch.Tensor:
        start = time.time()
        y = x * 2
        print("took", time.time() - start) if self.verbose else None
        return y

    assert dynamo_lite.explain(_module(body, verbose=False), (X,))


def test_the_branch_that_the_example_takes_is_followed() -> None:
    def body(self: Any, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            self.positive = getattr(self, "positive", 0) + 1
        else:
            self.negative = getattr(self, "negative", 0) + 1
        return x * 2

    found = dynamo_lite.explain(_module(body), (-X,))
    assert [effect.target for effect in found.effects] == ["self.negative"]
    assert "self.positive" in str(found.captured)  # where both sides are traced


def test_a_size_that_cannot_vary_is_a_problem() -> None:
    def body(self: Any, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(4, 3) + 1

    found = dynamo_lite.explain(_module(body), (X,), dynamic_shapes=({0: Dim("n")},))
    assert len(found.problems) == 1 and "n" in str(found.problems[0].error)


def test_specialisations_are_listed() -> None:
    def body(self: Any, x: torch.Tensor) -> torch.Tensor:
        return x * [1, 2, 3, 4, 5][int(x.shape[0])]

    found = dynamo_lite.explain(_module(body), (X,), dynamic_shapes=({0: Dim.AUTO},))
    assert found.specializations


def test_what_ends_the_search_is_the_last_problem() -> None:
    def body(self: Any, x: torch.Tensor) -> torch.Tensor:
        self.n = 2
        x.data = torch.ones(4, 3)
        return x * 2

    found = dynamo_lite.explain(_module(body, n=1), (X.clone(),))
    assert found.ids == ["tensor-data-assigned"] and not found.complete
    assert "there may be more" in str(found)


def test_errors_of_the_program_itself_are_raised() -> None:
    def body(self: Any, x: torch.Tensor) -> torch.Tensor:
        raise KeyError("no")

    with pytest.raises(KeyError):
        dynamo_lite.explain(_module(body), (X,))


KERNELS = torch.library.Library("dynamo_lite_explain", "DEF")
KERNELS.define("first_rows(Tensor x) -> Tensor")
KERNELS.impl("first_rows", lambda x: x[:2] * 2, "CPU")  # none for tensors without data
TOTAL = torch.zeros(3)


def passes_over(self: Any, x: torch.Tensor) -> torch.Tensor:
    y = torch.ops.dynamo_lite_explain.first_rows(x)
    if y.sum() > 3:  # 12 on the example
        self.summed = 1
    TOTAL.add_(y.sum(0))
    self.weight.grad = torch.ones(3)
    self.weight.label = "seen"
    self.weight.requires_grad_(False)
    if TOTAL.sum() > 11:
        self.totalled = 1
    return y * self.weight


@pytest.mark.parametrize("dynamic_shapes", [None, ({0: Dim("n")},)])
def test_it_goes_on_past_kernels_constants_and_attributes_of_tensors(dynamic_shapes: Any) -> None:
    module = _module(passes_over)
    weight = module.weight = nn.Parameter(torch.ones(3))
    found = dynamo_lite.explain(module, (X,), dynamic_shapes=dynamic_shapes)
    assert found.ids[:2] == ["no-meta-kernel", "data-dependent-branch"]
    assert found.ids[2:4] == ["tensor-attribute", "data-dependent-branch"]
    assert "tensor-attribute" in found.ids[4:]  # the flag: at the end of the run, since it may be turned back
    text = str(found)
    assert found.complete and "self.summed" in text and "self.totalled" in text  # the branches of the example's values
    assert torch.equal(TOTAL, torch.zeros(3)) and weight.grad is None and weight.requires_grad
    assert "label" not in vars(weight) and "summed" not in vars(module)


def test_what_a_program_cannot_hold_is_found_when_it_is_built() -> None:
    pairs = catalogue.load("unbound_size").module()

    def body(self: Any, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        return pairs(x[:, 0])

    found = dynamo_lite.explain(_module(body, count=0), (X,))
    assert found.ids == ["python-state", "unbound-size"] and found.complete
    assert "The run had come to its end by then." in str(found)
