"""Programs of one tensor with a varying number of rows, exported once and called with many numbers of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.export import Dim

from tests.control_flow.harness import same

Program = Callable[[Any], Any]
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 10, 13)
SPECS = {"auto": Dim.AUTO, "named": Dim("rows", min=1, max=40)}


def of(rows: int) -> torch.Tensor:
    return torch.randn(rows, 3, generator=torch.Generator().manual_seed(rows))


def check(program: Program, module: Any, rows: int) -> None:
    """The call gives what eager gives, and leaves the argument as eager does."""
    ours, theirs = of(rows), of(rows)
    got, want = module(ours), program(theirs)
    assert same(got, want)
    assert same(ours, theirs)


def check_admitted(program: Program, module: Any) -> None:
    """So it is for each size that the program takes, 10 among them."""
    for rows in SIZES:
        try:
            module(of(rows))
        except (AssertionError, RuntimeError):
            assert rows != 10
            continue
        check(program, module, rows)
