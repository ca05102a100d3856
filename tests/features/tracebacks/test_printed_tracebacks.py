"""A traceback that the program reads has eager's frames, in whichever way it makes a text of it."""

from __future__ import annotations

import io
import traceback
from collections.abc import Callable

import pytest
import torch
from torch import nn

import dynamo_lite


def _print_exception(error: Exception) -> str:
    stream = io.StringIO()
    traceback.print_exception(error, file=stream)
    return stream.getvalue()


def _print_exception_in_three_parts(error: Exception) -> str:
    stream = io.StringIO()
    traceback.print_exception(type(error), error, error.__traceback__, None, stream)
    return stream.getvalue()


def _print_exc(error: Exception) -> str:
    stream = io.StringIO()
    traceback.print_exc(file=stream)
    return stream.getvalue()


def _print_tb(error: Exception) -> str:
    stream = io.StringIO()
    traceback.print_tb(error.__traceback__, file=stream)
    return stream.getvalue()


def _format_exception(error: Exception) -> str:
    return "".join(traceback.format_exception(error))


def _summary(error: Exception) -> str:
    return "".join("File" for _ in traceback.extract_tb(error.__traceback__))


def _frames(error: Exception) -> str:
    text, at = "", error.__traceback__
    while at is not None:
        text, at = text + "File", at.tb_next
    return text


class _Raises(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise ValueError("an error")


class _Reads(nn.Module):
    def __init__(self, text: Callable[[Exception], str]) -> None:
        super().__init__()
        self.raises, self.text = _Raises(), text

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        try:
            return self.raises(x)
        except ValueError as error:
            return x + self.text(error).count("File")


@pytest.mark.parametrize(
    "text",
    [_print_exception, _print_exception_in_three_parts, _print_exc, _print_tb, _format_exception, _summary, _frames],
)
def test_frames_of_a_modules_call_are_in_the_text(text: Callable[[Exception], str]) -> None:
    module, x = _Reads(text), torch.zeros(2)
    program = dynamo_lite.export(module, (x,))
    assert torch.equal(program.module()(x), module(x))
