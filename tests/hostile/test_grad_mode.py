"""A program that fails inside of a region leaves torch's switches as they were."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import dynamo_lite


class Checked(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        with torch.no_grad():
            n = x.sum().int().item()
            torch._check(n > 0)
            z = y * n
        with torch.autocast("cpu", torch.bfloat16):
            m = x[0].int().item()
            torch._check(m > 0)
            return y + z + torch.zeros(m).sum()


@pytest.mark.parametrize("enabled", (True, False))
@pytest.mark.parametrize("bad", ([-1.0, -1.0], [-1.0, 3.0]))
def test_a_failed_assertion_leaves_the_switches(bad: list[float], enabled: bool) -> None:
    program = dynamo_lite.export(Checked(), (torch.ones(2),))
    for module in (program.module(), copy.deepcopy(program).module()):
        with torch.set_grad_enabled(enabled):
            with pytest.raises(RuntimeError):
                module(torch.tensor(bad))
            assert torch.is_grad_enabled() is enabled and not torch.is_autocast_enabled("cpu")
            torch.testing.assert_close(module(torch.ones(2)), Checked()(torch.ones(2)))
            with pytest.raises(RuntimeError):  # an argument that is rejected before the program runs
                module(torch.ones(3))
            assert torch.is_grad_enabled() is enabled
