"""An export within an `except` block: the exception that its caller is handling is none of the program's."""

from __future__ import annotations

import sys

import torch
from torch import nn

import dynamo_lite


class Module(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * (2 if sys.exc_info()[0] is None else 3)
        try:
            int("a")
        except ValueError as error:
            return y + (10 if error.__context__ is None else 20)


def test_a_program_does_not_see_it() -> None:
    try:
        raise OSError("of the caller")
    except OSError:
        program = dynamo_lite.export(Module(), (torch.ones(3),)).module()
    torch.testing.assert_close(program(torch.ones(3)), Module()(torch.ones(3)))
