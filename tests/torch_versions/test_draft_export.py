"""draft_export beside torch's own: both give a program that is eager's on the example, and ours names what is wrong."""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import dynamo_lite

X = torch.linspace(-1, 2, 6).reshape(2, 3)
Forward = Callable[[Any, torch.Tensor], torch.Tensor]


class Program(nn.Module):
    def __init__(self, forward: Forward) -> None:
        super().__init__()
        self.of_test, self.calls, self.last = forward, 0, None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.of_test(self, x)


def counts(self: Any, x: torch.Tensor) -> torch.Tensor:
    self.calls += 1
    return x * self.calls


def branches_on_data(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.sum() > 0 else x - 1


def makes_a_size_of_data(self: Any, x: torch.Tensor) -> torch.Tensor:
    n = int(x.sum().abs().item())
    return x * n + torch.ones(n + 1).sum()


def fixes_a_size(self: Any, x: torch.Tensor) -> torch.Tensor:
    return x.reshape(2, 3) * 2 if x.shape[0] == 2 else x


def makes_a_leaf(self: Any, x: torch.Tensor) -> torch.Tensor:
    return (x * 2).requires_grad_()


PROGRAMS: dict[str, tuple[Forward, Any, list[str]]] = {
    "nothing is wrong": (lambda self, x: x.sin(), {0: Dim("rows", max=9)}, []),
    "counts its calls": (counts, None, ["python-state"]),
    "branches on data": (branches_on_data, None, []),
    "makes a size of data": (makes_a_size_of_data, None, []),
    "fixes a size": (fixes_a_size, {0: Dim("rows", min=1, max=9)}, ["constraint-violation"]),
    "prints": (lambda self, x: (print(x.shape), x + 1)[1], None, []),
    "makes a leaf": (makes_a_leaf, None, ["made-leaf"]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_draft_is_eagers_on_the_example(name: str) -> None:
    forward, rows, ids = PROGRAMS[name]
    shapes = None if rows is None else {"x": rows}
    ours = dynamo_lite.draft_export(Program(forward), (X,), dynamic_shapes=shapes)
    with contextlib.redirect_stdout(io.StringIO()):
        logging.disable(logging.CRITICAL)
        try:
            theirs = torch.export.draft_export(Program(forward), (X,), dynamic_shapes=shapes)
        finally:
            logging.disable(logging.NOTSET)
        expected = Program(forward)(X)
        assert ours.report.ids == ids and bool(ours) == (not ids)
        assert ours.program is not None and isinstance(ours.program, type(theirs))
        for program in (ours.program, theirs):
            torch.testing.assert_close(program.module()(X), expected)
    if not ids:  # right on other data too, which is not asked of theirs
        for other in (-X, X + 1):
            torch.testing.assert_close(ours.program.module()(other), Program(forward)(other))


@torch.library.custom_op("dynamo_lite_tests::halved", mutates_args=())
def halved(x: torch.Tensor, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    return x[:rows].double() / 2, x.sum()


@halved.register_fake
def _(x: torch.Tensor, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    return x.new_empty(rows + 1, *x.shape[1:]), x.new_empty(())


@torch.library.custom_op("dynamo_lite_tests::tripled", mutates_args=())
def tripled(x: torch.Tensor) -> torch.Tensor:
    return x * 3


tripled.register_fake(torch.empty_like)


def test_fake_kernels_that_are_wrong() -> None:
    """torch's MISMATCHED_FAKE_KERNEL: what the real kernel gives on the example is compared with the fake one."""

    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        half, total = halved(tripled(self.norm(x)), 1)
        return half.sum() + total

    program = Program(forward)
    program.norm = nn.BatchNorm1d(3)
    draft = dynamo_lite.draft_export(program, (X,), dynamic_shapes={"x": {0: Dim("rows", min=2)}})
    result = "result 0 of dynamo_lite_tests.halved.default: the fake kernel returns"
    assert draft.mismatched_fake_kernels == [
        f"{result} dtype torch.float32, the real one gives torch.float64",
        f"{result} dimension 0 2, the real one gives 1",
    ]
    assert not draft and "Fake kernels that are wrong:" in str(draft) and draft.report.ids == []
    assert program.norm.num_batches_tracked == 0
    right = dynamo_lite.draft_export(Program(lambda self, x: tripled(x)), (X,))
    assert right and right.mismatched_fake_kernels == []


def test_a_program_that_a_fake_kernel_led_astray() -> None:
    draft = dynamo_lite.draft_export(Program(lambda self, x: halved(x, 1)[0].view(2, 3)), (X,))
    assert "does not run on the example: RuntimeError: shape '[2, 3]' is invalid" in draft.mismatched_fake_kernels[-1]
