"""`try: x.view(-1)` goes on in the handler where x lies otherwise in memory: each call is as eager's, or raises."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
import torch
from torch import nn

import dynamo_lite

Program = Callable[[torch.Tensor], torch.Tensor]
LAYOUTS: dict[str, Callable[[], torch.Tensor]] = {
    "contiguous": lambda: torch.arange(16.0).reshape(4, 4),
    "transposed": lambda: torch.arange(16.0).reshape(4, 4).t(),
    "every second row": lambda: torch.arange(32.0).reshape(8, 4)[::2],
    "every second column": lambda: torch.arange(32.0).reshape(4, 8)[:, ::2],
    "expanded": lambda: torch.arange(4.0).expand(4, 4),
}


def flat(x: torch.Tensor) -> torch.Tensor:
    try:
        return x.view(-1) * 1
    except RuntimeError:
        return x.reshape(-1) * 2


def of_a_result(x: torch.Tensor) -> torch.Tensor:
    try:
        return (x * 2).view(x.numel())
    except Exception:
        return x.reshape(-1) * 3


def of_a_view(x: torch.Tensor) -> torch.Tensor:
    y = x.t()
    try:
        return y.view(-1) * 1
    except RuntimeError:
        return y.reshape(-1) * 2


def as_integers(x: torch.Tensor) -> torch.Tensor:
    try:
        return x.view(torch.int64) * 1
    except RuntimeError:
        return x.clone().view(torch.int32) * 2


def suppressed(x: torch.Tensor) -> torch.Tensor:
    with contextlib.suppress(RuntimeError):
        x = x.view(2, -1)
    return x * 3


def as_another(x: torch.Tensor) -> torch.Tensor:
    try:
        return x.view_as(torch.zeros(16)) + 1
    except RuntimeError:
        return x.flatten() - 1


def as_complex(x: torch.Tensor) -> torch.Tensor:
    try:
        return torch.view_as_complex(x.unflatten(1, (2, 2))).abs()
    except RuntimeError:
        return x.flatten() - 1


def unsafe(x: torch.Tensor) -> torch.Tensor:
    try:
        return torch.ops.aten._unsafe_view(x, (-1,)) * 1
    except RuntimeError:
        return x.flatten() * 2


@pytest.mark.parametrize("example", ["contiguous", "transposed", "every second row"])
@pytest.mark.parametrize(
    "program",
    [flat, of_a_result, of_a_view, as_integers, suppressed, as_another, as_complex, unsafe],
    ids=lambda program: program.__name__,
)
def test_no_call_takes_the_other_way(program: Program, example: str) -> None:
    class Module(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return program(x)

    made = dynamo_lite.export(Module(), (LAYOUTS[example](),)).module()
    taken = []
    for name, make in LAYOUTS.items():
        expected = program(make())
        try:
            found = made(make())
        except AssertionError as error:
            assert "stride" in str(error)
            continue
        assert found.shape == expected.shape and torch.equal(found, expected), name
        taken.append(name)
    assert example in taken


def test_no_guard_where_no_handler_goes_on() -> None:
    class Module(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            try:
                return x.view(2, 2, 4) * 1
            except ValueError:
                return x

    made = dynamo_lite.export(Module(), (LAYOUTS["contiguous"](),)).module()
    x = LAYOUTS["every second row"]()
    assert torch.equal(made(x), x.view(2, 2, 4))
