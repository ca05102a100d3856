"""Gradients of programs with captured branches equal eager's, whatever switches gradients inside or around them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak

MIX = torch.tensor([[1.0, -2.0], [3.0, 0.5], [-1.0, 2.0]])
INPUTS = (torch.ones(3, 2), -torch.ones(3, 2), MIX, MIX * -0.3)


def enabled_within_no_grad(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x * 2
        if y.sum() > 0:
            with torch.enable_grad():
                y = x * 7
    return y + x


def input_passed_on_within_no_grad(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x if x.sum() > 0 else x * 2
    return y * y + x


def modes_in_one_another(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        if x.sum() > 0:
            with torch.enable_grad():
                y = x * 2
                if x.max() > 2:
                    y = y * x
            z = x * 3
        else:
            y, z = x * 5, x
    return y + z + x


def detached_on_both_sides(x: torch.Tensor) -> torch.Tensor:
    y = x.detach() * 2 if x.sum() > 0 else x.detach()
    return y + x if y.requires_grad else y * x


def changed_in_place(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    if x.sum() > 0:
        y.mul_(3)
    else:
        y[0] = x[1] * x[1]
    return y * x


def generator_without_gradients(x: torch.Tensor) -> torch.Tensor:
    @torch.no_grad()
    def rows():
        yield x * 2 if x.sum() > 0 else x
        yield x * 3

    return sum(row * x for row in rows())


def detached_in_place(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    if x.sum() > 0:
        y.detach_()
    return y * x


def rows_written_on_one_side(x: torch.Tensor) -> torch.Tensor:
    rows = torch.zeros(3, 2)
    for i in range(3):
        if x[i].sum() > 0:
            rows[i] = x[i] * 2
    return rows + x * 0


def operand_changed_behind_the_branch(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    z = y + 1 if x.sum() > 0 else y - 1
    y.mul_(3)
    return z + y


def operand_changed_within_a_side(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    if x.sum() > 0:
        rows = y.clone()
        rows.add_(1)
        y = rows.exp()
        if x.max() > 2:
            rows.add_(2)
            y = rows.sin()
    return y * x


def changed_by_each_try(x: torch.Tensor) -> torch.Tensor:
    rows = x * 2
    if rows.sum() > 0:
        rows = rows.clone()
        for _ in range(3):
            rows.mul_(2)
            if rows.max() > 9:
                return rows * x
    return rows


class Parameters(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.full((2,), 2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            weight = self.a if x.sum() > 0 else self.b
        return x * weight


def _kept(x: torch.Tensor) -> torch.Tensor | None:
    return x * 2 if x.sum() > 0 else None


def no_grad_ends_behind_the_branch(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        z = None
        if x.sum() > 0:
            z = x * 2
        w = 3
    return x * w if z is None else x * z


def no_grad_ends_in_the_caller(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        z = _kept(x)
    return x * 3 if z is None else x * z


@torch.no_grad()
def _decorated(x: torch.Tensor) -> torch.Tensor | None:
    return _kept(x)


def the_call_is_without_gradients(x: torch.Tensor) -> torch.Tensor:
    z = _decorated(x)
    return x * x if z is None else x * z + x.sin()


MODES = (
    no_grad_ends_behind_the_branch,
    no_grad_ends_in_the_caller,
    the_call_is_without_gradients,
    enabled_within_no_grad,
    input_passed_on_within_no_grad,
    modes_in_one_another,
)
PROGRAMS = (
    *MODES,
    detached_on_both_sides,
    changed_in_place,
    detached_in_place,
    rows_written_on_one_side,
    operand_changed_behind_the_branch,
    operand_changed_within_a_side,
    changed_by_each_try,
    generator_without_gradients,
)


def _gradients(module: Callable[..., torch.Tensor], x: torch.Tensor) -> list[torch.Tensor]:
    """The result, the input's gradient, then those of parameters (zeros where torch.cond gives zeros for none)."""
    x = x.clone().requires_grad_()
    parameters = dict(module.named_parameters()) if isinstance(module, nn.Module) else {}
    for parameter in parameters.values():
        parameter.grad = None
    result = module(x)
    (result * torch.arange(1.0, 7.0).view(3, 2)).sum().backward()
    given = [x, *(parameters[name] for name in sorted(parameters))]
    return [result.detach(), *(torch.zeros_like(t) if t.grad is None else t.grad for t in given)]


@pytest.mark.parametrize("program", (*PROGRAMS, Parameters()), ids=lambda p: getattr(p, "__name__", type(p).__name__))
def test_gradients_equal(program: Callable[..., torch.Tensor]) -> None:
    made = dynamo_lite.export(program, (INPUTS[0].clone().requires_grad_(),)).module()
    for x in INPUTS:
        torch.testing.assert_close(_gradients(made, x), _gradients(program, x))


@pytest.mark.parametrize("program", MODES, ids=lambda p: p.__name__)
def test_gradients_of_a_program_exported_without_are_equal(program: Callable[..., torch.Tensor]) -> None:
    made = dynamo_lite.export(program, (INPUTS[0].clone(),)).module()
    for x in INPUTS:
        torch.testing.assert_close(_gradients(made, x), _gradients(program, x))


class _Scales(nn.Module):
    """One result of the branch requires grad in no example without: it has nothing of the parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if x.sum() > 0:
            y, z = x * 2, self.weight * 2
        else:
            y, z = x * 3, self.weight * 3
        return y, z


def test_no_gradient_is_cut_off_silently() -> None:
    example = INPUTS[0].clone()
    made = dynamo_lite.export(_Scales(), (example,)).module()
    y, z = made(MIX)
    torch.testing.assert_close(y, MIX * 2)
    assert not y.requires_grad and z.requires_grad
    with pytest.raises(Exception, match=r"Guard failed: not \(torch.is_grad_enabled\(\) and x.requires_grad\)"):
        made(MIX.clone().requires_grad_())
    made = dynamo_lite.export(_Scales(), (example.requires_grad_(),)).module()
    x = MIX.clone().requires_grad_()
    made(x)[0].sum().backward()
    torch.testing.assert_close(x.grad, torch.full((3, 2), 2.0))


class _HalvesWithoutGradients(nn.Module):
    """A loop without an iteration hands its operand on, which has a gradient, unless it is made under no_grad, too."""

    def __init__(self, inside: bool) -> None:
        super().__init__()
        self.inside = inside

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        with torch.no_grad():
            if self.inside:
                y = x * 2
            while y.sum() > 10:
                y = y * 0.5
        return y * x


class _HalvesOnOneSide(nn.Module):
    """The side has nothing of `y` but in the loop, whose test is on something else."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, n = x * 2, x.sum().detach()
        with torch.no_grad():
            if x.max() > 0:
                while n > 10:
                    y, n = y * 0.5, n - 1
            else:
                y = x * 3
        return y * x


def test_no_gradient_is_lost_in_a_loop_without_a_round() -> None:
    made = dynamo_lite.export(_HalvesWithoutGradients(False), (INPUTS[0].clone(),)).module()
    torch.testing.assert_close(made(INPUTS[1]), INPUTS[1] * INPUTS[1] * 2)
    with pytest.raises(Exception, match=r"Guard failed: not \(torch.is_grad_enabled\(\) and x.requires_grad\)"):
        made(INPUTS[1].clone().requires_grad_())
    made = dynamo_lite.export(_HalvesOnOneSide(), (INPUTS[0].clone(),)).module()
    torch.testing.assert_close(made(MIX), MIX * MIX * 2)
    with pytest.raises(Exception, match=r"Guard failed: not \(torch.is_grad_enabled\(\) and x.requires_grad\)"):
        made(MIX.clone().requires_grad_())
    inside = _HalvesWithoutGradients(True)
    made = dynamo_lite.export(inside, (INPUTS[0].clone(),)).module()
    for x in INPUTS:
        torch.testing.assert_close(_gradients(made, x), _gradients(inside, x))


def asks_what_a_side_decides(x: torch.Tensor) -> torch.Tensor:
    y = x.detach()
    if x.sum() > 0:
        y = y + x
    return y * 2 if y.requires_grad else y


def asks_what_a_side_writes(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros(3, 2)
    if x.sum() > 0:
        y.add_(x)
    return y * 2 if y.requires_grad else y


def loop_within_no_grad(x: torch.Tensor) -> torch.Tensor:
    y = x
    with torch.no_grad():
        while y.abs().sum() > 7:
            y = y / 2
    return y * y  # x * x after no round at all


def test_a_loop_within_no_grad_hands_nothing_on() -> None:
    """What it begins with requires grad in the example: the gradient behind no iteration at all is not the
    program's."""
    made = dynamo_lite.export(loop_within_no_grad, (MIX.clone().requires_grad_(),)).module()
    with pytest.raises(Exception, match=r"not torch.is_grad_enabled\(\)"):
        made(MIX.clone().requires_grad_())
    with torch.no_grad():
        for x in INPUTS:
            torch.testing.assert_close(made(x), loop_within_no_grad(x))


def drops_out_on_one_side(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    if x.sum() > 0:
        y = nn.functional.dropout(y * y, 0.5)
    return y


def drops_out_behind_a_return(x: torch.Tensor) -> torch.Tensor:
    if x.sum() < 0:
        return x
    with torch.no_grad():
        noise = torch.rand_like(x)
    if x.max() > 2:
        return x * noise
    return x


def drops_out_in_front(x: torch.Tensor) -> torch.Tensor:
    mask = nn.functional.dropout(torch.ones_like(x), 0.5)
    return x * x * mask if x.sum() > 0 else x


def drops_out_in_eval_mode(x: torch.Tensor) -> torch.Tensor:
    return nn.functional.dropout(x * x, 0.5, training=False) if x.sum() > 0 else x


def drops_out_without_gradients(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        mask = nn.functional.dropout(torch.ones_like(x), 0.5) if x.sum() > 0 else torch.ones_like(x)
    return x * x * mask


def samples_of_what_a_side_computes(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    if x.sum() > 0:
        y = y * torch.bernoulli(y.detach().sigmoid())
    return y


@pytest.mark.parametrize(
    "program",
    [
        *(drops_out_in_front, drops_out_in_eval_mode, drops_out_without_gradients),
        *(drops_out_on_one_side, drops_out_behind_a_return),
    ],
)
def test_random_numbers_with_gradients_equal(program: Callable[..., torch.Tensor]) -> None:
    """torch.cond runs a side again for its backward, which has to compute with what the forward drew."""
    made = dynamo_lite.export(program, (INPUTS[0].clone().requires_grad_(),)).module()
    for x in INPUTS:
        both = []
        for function in (made, program):
            torch.manual_seed(3)
            both.append(_gradients(function, x))
        torch.testing.assert_close(*both)


@pytest.mark.parametrize("program", [drops_out_on_one_side, drops_out_behind_a_return, samples_of_what_a_side_computes])
def test_random_numbers_of_a_side_without_gradients_equal(program: Callable[..., torch.Tensor]) -> None:
    """What is refused where a gradient is asked for is taken where none is."""
    made = dynamo_lite.export(program, (INPUTS[0],)).module()
    for x in INPUTS:
        torch.manual_seed(3)
        expected = program(x)
        torch.manual_seed(3)
        torch.testing.assert_close(made(x), expected)


@pytest.mark.parametrize(
    ("program", "id"),
    [
        (samples_of_what_a_side_computes, "branch-gradient"),
        (asks_what_a_side_decides, "branch-unsupported"),
        (asks_what_a_side_writes, "branch-unsupported"),
    ],
)
def test_refused(program: Callable[..., torch.Tensor], id: str) -> None:
    with pytest.raises(GraphBreak) as refusal:
        dynamo_lite.export(program, (MIX.clone().requires_grad_(),))
    assert refusal.value.id == id
