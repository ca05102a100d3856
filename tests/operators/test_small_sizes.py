"""Operators called at sizes of 0, 1, 2 and 3: as eager, or rejected (benchmarks/op_db_small_sizes.py)."""

from __future__ import annotations

import pytest
import torch
from torch.testing._internal import common_methods_invocations as databases

from benchmarks.op_db_small_sizes import LEFT_OUT, Tally, judge
from benchmarks.time_limit import TimeIsUp, time_limit

PARTS = 6


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_values_strides_and_memory_are_eagers(part: int) -> None:
    tally = Tally()
    for info in databases.op_db[part::PARTS]:
        if info.name.rpartition(".")[2] in LEFT_OUT:
            continue
        torch.manual_seed(0)
        try:
            with time_limit(20):
                judge(info.name, info.op, next(iter(info.sample_inputs("cpu", torch.float32))), tally)
        except (TimeIsUp, StopIteration):
            continue
    assert tally.rows == []
    counts = tally.counts
    assert counts["equal"] > 4 * counts["rejected"], counts
