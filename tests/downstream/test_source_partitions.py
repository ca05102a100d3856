"""torch's source matcher, which quantizers look for patterns with, finds in our programs what it finds in torch's."""

from __future__ import annotations

import operator
from collections import Counter
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram
from torch.fx.passes.utils.source_matcher_utils import get_source_partitions

import dynamo_lite

OPERATORS = (operator.add, operator.iadd, operator.mul, operator.neg, operator.matmul, operator.getitem, operator.lt)
SOURCES = (*OPERATORS, operator.invert, getattr, torch.add, torch.cat, nn.Linear)


class Mixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        for _ in range(2):
            x = self.linear(x) + y
        x += 1
        z = torch.add(x, y) * 2
        z[0] = y
        with torch.no_grad():
            mask = ~(y < 0)
        return torch.cat([-z[1:], z @ z.T]) * operator.add(mask, 1)


def test_partitions_by_source() -> None:
    args = (torch.randn(4, 4), torch.randn(4))
    torchs = torch.export.export(Mixed(), args, strict=True)
    assert _partitions(dynamo_lite.export(Mixed(), args)) == _partitions(torchs)


def _partitions(program: ExportedProgram) -> dict[Any, Counter[tuple[str, ...]]]:
    """Source → the operators of each of its partitions."""
    graph = program.module().graph
    found: dict[Any, Counter[tuple[str, ...]]] = {}
    for source, partitions in get_source_partitions(graph, list(SOURCES)).items():
        targets = [tuple(str(n.target) for n in p.nodes if n.op == "call_function") for p in partitions]
        found[source] = Counter(targets)
    return found
