"""torch's profiler in forward: what it keeps for itself is no effect of the program."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.autograd import profiler

import dynamo_lite


class Marked(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.profiler.record_function("block"):
            return x * 2


@pytest.mark.parametrize("strict", [True, False])
def test_the_first_region_of_the_process_may_be_the_programs(strict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiler, "_cupti_monitor_checked", False, raising=False)  # torch looks for a monitor once
    monkeypatch.setattr(profiler, "_cupti_monitor_module", None, raising=False)
    run = dynamo_lite.export(Marked(), (torch.ones(3),), strict=strict).module()
    torch.testing.assert_close(run(torch.ones(3)), torch.full((3,), 2.0))
