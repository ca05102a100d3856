"""map, while_loop, scan and associative_scan against plain Python loops and torch.export's strict mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch._higher_order_ops import map, scan, while_loop

import dynamo_lite
from dynamo_lite.errors import GraphBreak
from tests.hops.cond_programs import Base, X
from tests.hops.harness import Program, check_equal, check_parity
from tests.hops.loop_programs import PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_equals_eager(program: Program) -> None:
    check_equal(program)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.parity], ids=lambda p: p.name)
def test_has_the_operators_of_torch_export(program: Program) -> None:
    check_parity(program)


def _module(forward: Callable[..., Any]) -> nn.Module:
    return type("M", (Base,), {"forward": forward})()


def _counts(self: Any, x: torch.Tensor) -> Any:
    seen: list[int] = []

    def step(row: torch.Tensor) -> torch.Tensor:
        seen.append(1)
        return row * 2

    return map(step, x)


ZERO = torch.tensor(0)
REFUSED = [
    ("subgraph-effect", _counts),
    ("subgraph-mutates", lambda self, x: map(lambda r: r + self.scale.add_(1), x)),
    (
        "subgraph-mutates",
        lambda self, x: while_loop(lambda i, u: i < 3, lambda i, u: (i + 1, u.add_(1) * 1), (ZERO, x)),
    ),
    ("subgraph-alias", lambda self, x: map(lambda r: r, x)),
    ("subgraph-alias", lambda self, x: while_loop(lambda i, u: i < 3, lambda i, u: (i + 1, u), (ZERO, x))),
    ("subgraph-alias", lambda self, x: scan(lambda c, v: (c + v, self.scale), torch.zeros(3), x)),
    ("subgraph-raises", lambda self, x: map(lambda r: r @ torch.ones(9), x)),
    ("loop-mismatch", lambda self, x: while_loop(lambda i, u: i < 3, lambda i, u: (i + 1,), (ZERO, x))),
    ("loop-mismatch", lambda self, x: while_loop(lambda i, u: i < 3, lambda i, u: (i + 1, u.double()), (ZERO, x))),
    ("loop-mismatch", lambda self, x: while_loop(lambda i, u: u > 3, lambda i, u: (i + 1, u * 2), (ZERO, x))),
    ("loop-mismatch", lambda self, x: scan(lambda c, v: c + v, torch.zeros(3), x)),
    ("loop-mismatch", lambda self, x: scan(lambda c, v: (c.double(), v * 2), torch.zeros(3), x)),
    ("loop-mismatch", lambda self, x: map(lambda r: (r * 2, 1), x)),
    ("loop-mismatch", lambda self, x: scan(lambda c, v: (c.sum()[None], v * 2), torch.zeros(3), x)),
]


@pytest.mark.parametrize(("id", "forward"), REFUSED, ids=[f"{n}-{id}" for n, (id, _) in enumerate(REFUSED)])
def test_is_refused(id: str, forward: Callable[..., Any]) -> None:
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(_module(forward), (X,))
    assert caught.value.id == id
