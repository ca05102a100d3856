"""dynamo_lite.check: equal programs pass, and each kind of difference is found, with the line that made the node."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.checking import Report


class Running(nn.Module):
    """A buffer that follows its inputs."""

    def __init__(self, rate: float = 0.5) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.linear = nn.Linear(3, 3)
        self.rate = rate

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.mean.mul_(self.rate).add_(x.mean(0))
        return self.linear(x) - self.mean


def _check(exported: nn.Module, other: nn.Module, *args: Any, **options: Any) -> Report:
    """Export one module and check the program against another with the same state."""
    other.load_state_dict(exported.state_dict())
    program = dynamo_lite.export(exported, copy.deepcopy(args), dynamic_shapes=options.pop("dynamic_shapes", None))
    return dynamo_lite.check(program, other, args, **options)


def test_an_equal_program_passes_on_all_sets_of_arguments() -> None:
    report = _check(Running(), Running(), torch.randn(4, 3), dynamic_shapes=({0: Dim("n", min=1, max=9)},))
    assert report, report
    outcomes = {replay.label: replay.outcome for replay in report.replays}
    assert outcomes["the example"] == outcomes["fresh data 1"] == "equal"
    assert {"sizes s0 = 1", "sizes s0 = 9"} <= outcomes.keys() and set(outcomes.values()) == {"equal"}


def test_nothing_of_the_users_changes() -> None:
    module, x = Running(), torch.randn(4, 3)
    program = dynamo_lite.export(module, (x,))
    state, data = copy.deepcopy(module.state_dict()), x.clone()
    assert dynamo_lite.check(program, module, (x,))
    assert all(torch.equal(state[name], value) for name, value in module.state_dict().items())
    assert torch.equal(x, data)


def test_another_output_names_the_line() -> None:
    class Other(Running):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x) + 1

    report = _check(Running(), Other(), torch.randn(4, 3))
    difference = report.difference
    assert not report and difference is not None
    assert "output 0" in difference.what and difference.where == "the example, call 1"
    assert difference.line is not None and "return self.linear(x) - self.mean" in difference.line
    assert __file__ in difference.line and difference.node == "sub"


def test_state_that_is_carried_wrongly_shows_in_the_buffer() -> None:
    class Other(Running):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = super().forward(x)
            self.mean.add_(0.25)
            return y

    report = _check(Running(), Other(), torch.randn(4, 3))
    assert report.difference is not None and "the state 'mean'" in report.difference.what
    assert "self.mean.mul_(self.rate).add_(x.mean(0))" in (report.difference.line or "")


def test_state_that_the_program_lost_shows_in_the_second_call() -> None:
    """A counter was dropped on the caller's word; check tells what that means."""

    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.n = 1

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.n += 1
            return x * self.n

    module = Counts()
    program = dynamo_lite.export(module, (torch.randn(3),), effects="drop")
    report = dynamo_lite.check(program, module, (torch.randn(3),))
    assert report.difference is not None and report.difference.where == "the example, call 2"
    assert "x * self.n" in (report.difference.line or "")


def test_an_input_that_is_changed_differently() -> None:
    class Adds(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            y.add_(x)
            return x * 2

    class Keeps(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x * 2

    report = _check(Adds(), Keeps(), torch.ones(3), torch.ones(3))
    assert report.difference is not None and "argument 1 after the call" in report.difference.what
    assert "y.add_(x)" in (report.difference.line or "")


def test_exceptions_and_structures_are_compared() -> None:
    class Fails(Running):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise KeyError("no")

    class Pairs(Running):
        def forward(self, x: torch.Tensor) -> Any:
            return (super().forward(x),)

    failed = _check(Running(), Fails(), torch.randn(4, 3)).difference
    assert failed is not None and "KeyError" in failed.what
    structure = _check(Running(), Pairs(), torch.randn(4, 3)).difference
    assert structure is not None and "structure" in structure.what


def test_sizes_that_the_program_does_not_admit_are_rejected_not_different() -> None:
    class Halves(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.reshape(2, -1).sum(1)

    module = Halves()
    program = dynamo_lite.export(module, (torch.randn(8),), dynamic_shapes=({0: Dim.AUTO},))
    report = dynamo_lite.check(program, module, (torch.randn(8),))
    assert report, report


def test_random_numbers_are_drawn_alike() -> None:
    module = nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 3)).train()
    program = dynamo_lite.export(module, (torch.randn(4, 3),))
    assert dynamo_lite.check(program, module, (torch.randn(4, 3),), calls=3)


def test_a_function_is_checked_too() -> None:
    def fn(x: torch.Tensor, *, scale: int) -> dict[str, torch.Tensor]:
        return {"y": x * scale}

    program = dynamo_lite.export(fn, (torch.randn(3),), {"scale": 2})
    report = dynamo_lite.check(program, fn, (torch.randn(3),), {"scale": 2})
    assert report and "the example: equal" in str(report)


def test_sizes_as_outputs_are_no_difference() -> None:
    def fn(x: torch.Tensor) -> Any:
        return x * 2, x.shape, [x.shape[:1]]

    report = dynamo_lite.check(dynamo_lite.export(fn, (torch.randn(3),)), fn, (torch.randn(3),))
    assert report, report
