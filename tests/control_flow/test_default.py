"""What export does without being asked for: a plain trace first, and the capture of control flow where that ends."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import ConstraintViolation, DataDependent, GraphBreak


def _sizes(x: Tensor) -> Tensor:
    return x * 2 if x.shape[0] < 100 else x[:1]


def _summed(x: Tensor) -> Tensor:
    total = torch.zeros(x.shape[1])
    for t in range(x.shape[0]):
        total = torch.tanh(total + x[t])
    return total


def _numbered(x: Tensor) -> dict[str, Tensor]:
    return {f"row {t}": x[t] for t in range(x.shape[0])}


def test_a_program_without_decisions_on_data_is_the_same() -> None:
    plain, captured = (
        dynamo_lite.export(_sizes, (torch.ones(4, 3),), dynamic_shapes=({0: Dim.AUTO},), control_flow=control_flow)
        for control_flow in ("refuse", "capture")
    )
    assert str(plain.graph) == str(captured.graph)
    assert plain.range_constraints == captured.range_constraints


@pytest.mark.parametrize("dim", [Dim.AUTO, Dim.DYNAMIC, Dim("rows", min=1, max=99)], ids=["auto", "dynamic", "named"])
def test_a_loop_over_a_size_keeps_it_dynamic(dim: Any) -> None:
    program = dynamo_lite.export(_summed, (torch.randn(4, 3),), dynamic_shapes=({0: dim},)).module()
    for rows in (1, 4, 9):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(program(x), _summed(x))


def test_a_loop_that_cannot_be_captured_fixes_its_size() -> None:
    x = torch.randn(4, 3)
    program = dynamo_lite.export(_numbered, (x,), dynamic_shapes=({0: Dim.AUTO},))
    assert program.module()(x).keys() == _numbered(x).keys()
    assert any("x.shape[0] is static" in str(note) for note in program.notes)  # type: ignore[attr-defined]
    with pytest.raises(ConstraintViolation):
        dynamo_lite.export(_numbered, (x,), dynamic_shapes=({0: Dim.DYNAMIC},))


class Frozen(nn.Module):
    """A parameter that autograd does not see change."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        weight = self.linear.weight
        if x.sum() > 0:
            weight.detach().mul_(2)
        while weight.detach().norm() > 10:
            weight.detach().div_(2)
        return self.linear(x)


def test_a_parameter_changed_in_a_branch_and_in_a_loop() -> None:
    model = Frozen()
    with torch.no_grad():  # torch's gradient of while_loop is wrong
        program = dynamo_lite.export(copy.deepcopy(model), (torch.ones(2, 3),)).module()
        for x in (torch.ones(2, 3), -torch.ones(2, 3), torch.ones(2, 3) * 3):
            torch.testing.assert_close(program(x), model(x))
            torch.testing.assert_close(program.state_dict()["linear.weight"], model.linear.weight.data)


class OneSide(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            self.weight.detach().mul_(2)
        return (x * self.weight).sum()


def test_gradients_of_a_parameter_changed_in_a_branch() -> None:
    model = OneSide()
    program = dynamo_lite.export(copy.deepcopy(model), (torch.ones(3),)).module()
    for x in (torch.ones(3), -torch.ones(3)):
        for run in (model, program):
            run.zero_grad()
            run(x).backward()
        assert torch.equal(dict(program.named_parameters())["weight"].grad, model.weight.grad)  # type: ignore[arg-type]


REFUSED = {
    "max": (lambda x: max(x.sum(), 5), "branch-differs", "torch.maximum"),
    "a check": (lambda x: x.double() if int(x.sum()) > 2 else x, "branch-differs", "torch._check"),
    "a list": (lambda x: [x * i for i in range(int(x.sum()))], "data-dependent-value", "[branch-unsupported]"),
    "behind it": (lambda x: sorted([x[0], *[x[1]] * 12])[0] if x[0] > 0 else x, "data-dependent-branch", "torch.where"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_refusal_is_at_the_users_line_and_says_what_settles_it(name: str) -> None:
    program, id, word = REFUSED[name]
    with pytest.raises(DataDependent) as refused:
        dynamo_lite.export(program, (torch.ones(3),))
    error = refused.value
    assert error.id == id and word in str(error)
    assert all(frame.filename == __file__ for frame in error.frames)
    assert "line None" not in str(error)


def test_an_effect_on_one_side_is_the_reason() -> None:
    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.count = 0

        def forward(self, x: Tensor) -> Tensor:
            if x.sum() > 0:
                self.count += 1
            return x

    with pytest.raises(GraphBreak) as refused:
        dynamo_lite.export(Counts(), (torch.ones(3),))
    assert refused.value.id == "python-state"


class Prefixed(nn.Module):
    """What one side makes, of a size that data say, is read behind a second branch, as global attention does."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        some = mask.any().item()
        y = x
        if some:
            n = mask.sum(1).max().item()
            ahead = x[:, :1].expand(-1, n)
            y = torch.cat([ahead, x], 1)
        p = y.softmax(-1)
        if some:
            return (p.narrow(-1, 0, n) * ahead).sum(-1, keepdim=True) + x
        return p * 2


def test_sizes_of_data_on_one_side() -> None:
    x = torch.randn(2, 4)
    program = dynamo_lite.export(Prefixed(), (x, torch.zeros(2, 4, dtype=torch.bool))).module()
    for columns in ([], [1], [0, 3]):
        mask = torch.zeros(2, 4, dtype=torch.bool)
        mask[0, columns] = True
        torch.testing.assert_close(program(x, mask), Prefixed()(x, mask))


def test_what_is_said_of_unlike_values_fixes_no_size() -> None:
    def program(x: Tensor) -> Tensor:
        y = x[:, :2] if x.sum() > 0 else x.double()
        return y.sum().float()

    exported = dynamo_lite.export(program, (torch.ones(4, 3),), dynamic_shapes=({0: Dim.DYNAMIC},)).module()
    for x in (torch.ones(7, 3), -torch.ones(2, 3)):
        torch.testing.assert_close(exported(x), program(x))


class Largest(nn.Module):
    """A size that one call leaves for the next, beside a branch on data: the trace is made again with its number."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = 0

    def keep(self, rows: int) -> None:
        self.rows = max(self.rows, rows)

    def forward(self, x: Tensor) -> Tensor:
        self.keep(x.shape[0])
        y = x * self.rows
        return y + 1 if x.sum() > 0 else y - 1


class First(Largest):
    def keep(self, rows: int) -> None:
        if self.rows == 0:
            self.rows = rows


class LargestInALoop(Largest):
    def forward(self, x: Tensor) -> Tensor:
        self.keep(x.shape[0])
        total = torch.zeros(x.shape[1])
        for row in x:
            total = torch.tanh(total + row)
        return total * self.rows


@pytest.mark.parametrize("model", [Largest, First, LargestInALoop])
def test_a_size_that_is_kept_for_the_next_call(model: type[Largest]) -> None:
    program = dynamo_lite.export(model(), (torch.ones(4, 3),), dynamic_shapes=({0: Dim.AUTO},)).module()
    eager = model()
    for x in (torch.ones(4, 3), -torch.ones(4, 3)):
        torch.testing.assert_close(program(x), eager(x))
    with pytest.raises(ConstraintViolation):
        dynamo_lite.export(model(), (torch.ones(4, 3),), dynamic_shapes=({0: Dim.DYNAMIC},))
