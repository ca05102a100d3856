"""A refusal ends the export, whatever the program catches: an invariant of docs/design.md."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak


def _refused(x: torch.Tensor) -> torch.Tensor:
    return x + float(x.data_ptr())


def _exception(x: torch.Tensor) -> torch.Tensor:
    try:
        return _refused(x)
    except Exception:
        return x * 2


def _base_exception(x: torch.Tensor) -> torch.Tensor:
    try:
        return _refused(x)
    except BaseException:
        return x * 2


def _bare(x: torch.Tensor) -> torch.Tensor:
    try:
        return _refused(x)
    except:  # noqa: E722
        return x * 2


def _finally(x: torch.Tensor) -> torch.Tensor:
    try:
        return _refused(x)
    finally:
        return x * 2  # noqa: B012, SIM107


def _suppressed(x: torch.Tensor) -> torch.Tensor:
    with contextlib.suppress(BaseException):
        return _refused(x)
    return x * 2


def _another_error(x: torch.Tensor) -> torch.Tensor:
    try:
        return _refused(x)
    except BaseException:
        raise ValueError("the program's own") from None


class _Program(nn.Module):
    def __init__(self, body: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)


@pytest.mark.parametrize("body", [_exception, _base_exception, _bare, _finally, _suppressed, _another_error])
def test_no_handler_of_the_program_hides_a_refusal(body: Callable[[torch.Tensor], torch.Tensor]) -> None:
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(_Program(body), (torch.randn(3),))
    assert caught.value.id == "data-dependent-value"
