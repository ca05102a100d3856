"""draft_export() of programs that export refuses: a program for the example, and what it has taken from it."""

from __future__ import annotations

import bisect
import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.exportdb.case import load
from dynamo_lite.exportdb.comparison import difference

_SEEN: list[float] = []


def in_order(values: Any) -> list[Any]:
    """The values sorted by C code that compares two of them, which no export takes."""
    found: list[Any] = []
    for value in values:
        bisect.insort(found, value)
    return found


class Mixed(nn.Module):
    """State, a sort of tensors in C code, a branch, a number, and data that Python reads."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.register_buffer("calls", torch.zeros(()))
        self.seen: list[int] = []

    def forward(self, x: Tensor, shift: Tensor | None = None) -> Any:
        self.calls += 1
        self.seen.append(1)
        y = self.layer(x)
        for value in in_order(y[0]):
            if value > 0:
                y = y + value
        count = int(y.abs().sum().item())
        return {"y": y * count, "count": count, "first": y.tolist()[0][0], "shifted": y + shift}


def test_the_answers_of_the_example_are_taken_and_named() -> None:
    torch.manual_seed(0)
    module, x = Mixed(), torch.randn(2, 3)
    draft = dynamo_lite.draft_export(module, (x,), {"shift": x + 1})
    assert module.seen == [] and module.calls == 0
    assert draft.program is not None and not draft
    assert draft.program.state_dict.keys() == module.state_dict().keys()
    ours = draft.program.module()
    got, want = ours(x, shift=x + 1), copy.deepcopy(module)(x, shift=x + 1)
    assert difference(got, want) is None
    got["y"].sum().backward()
    want["y"].sum().backward()
    lines = {taken.line for taken in draft.taken}
    assert "if value > 0:" in lines and "count = int(y.abs().sum().item())" in lines
    taken = next(taken for taken in draft.taken if taken.line.startswith("count ="))
    assert taken.filename == __file__ and float(taken.answer.split()[0]) > 0
    assert taken.locals["y"] == "Tensor(float32[2, 3])"
    text = str(draft)
    assert "Answers of the example" in text and "y = Tensor(float32[2, 3])" in text


def test_a_program_that_is_exported_has_taken_nothing() -> None:
    draft = dynamo_lite.draft_export(nn.Linear(3, 3), (torch.randn(2, 3),))
    assert draft and not draft.taken


def test_random_numbers_and_a_step_of_training() -> None:
    class Trained(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 1)

        def forward(self, x: Tensor) -> Tensor:
            for value in in_order(x[0] + 0 * torch.rand(3)):
                if value > 0:
                    loss = (self.layer(x) * value).pow(2).mean()
                    (grad,) = torch.autograd.grad(loss, [self.layer.weight])
                    with torch.no_grad():
                        self.layer.weight -= 0.1 * grad
            return self.layer(x)

    module, x = Trained(), torch.tensor([[1.0, -1.0, 0.5]])
    before, want = copy.deepcopy(module.state_dict()), copy.deepcopy(module)(x)
    draft = dynamo_lite.draft_export(module, (x,))
    assert draft.program is not None
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    with torch.no_grad():  # the parameter is changed in place
        got = draft.program.module()(x)
    assert torch.allclose(got, want)


def test_what_changes_a_tensor_unseen_gives_no_program() -> None:
    def fn(x: Tensor) -> Tensor:
        y = x + 1
        in_order(y)
        y.numpy()[0] = 5.0
        return y * 2

    draft = dynamo_lite.draft_export(fn, (torch.tensor([1.0, 2.0]),))
    assert draft.program is None
    assert any("there is no program" in note for note in draft.report.notes)


def test_what_cannot_be_copied_gives_no_program() -> None:
    class Held(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.names = (name for name in ("a", "b"))

        def forward(self, x: Tensor) -> Tensor:
            return x + len(in_order(x))

    draft = dynamo_lite.draft_export(Held(), (torch.tensor([1.0, 2.0]),))
    assert draft.program is None
    assert any("no copy can be made" in note for note in draft.report.notes)


@pytest.mark.parametrize(
    "name",
    [
        "backward_in_forward",
        "branch_differs",
        "branch_unsupported",
        "buffer_becomes_shared",
        "builtin_max_of_tensors",
        "data_dependent_branch",
        "data_dependent_loop",
        "data_dependent_shape",
        "data_dependent_size",
        "dictionary_lookup_by_data",
        "dispatch_mode",
        "no_meta_kernel",
        "numpy_function",
        "parameter_assigned",
        "range_over_data",
        "script_module",
        "sorting_tensors",
        "tensor_in_list",
    ],
)
def test_cases_that_had_no_program(name: str) -> None:
    case = load(name)
    module, call = case.module(), case.inputs()
    draft = dynamo_lite.draft_export(module, call.args, call.kwargs, control_flow="refuse")
    assert draft.program is not None and draft.report.problems
    torch.manual_seed(0)
    want = case.module()(*copy.deepcopy(call.args), **copy.deepcopy(call.kwargs))
    torch.manual_seed(0)
    got = draft.program.module()(*copy.deepcopy(call.args), **copy.deepcopy(call.kwargs))
    assert difference(got, want) is None
