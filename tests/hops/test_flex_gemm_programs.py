"""flex_gemm (torch 2.14 and later) in programs: the products, what a function may do, refusals; against eager."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import DynamoLiteError

flex_gemm: Any = pytest.importorskip("torch._higher_order_ops.flex_gemm", reason="new in torch 2.14").flex_gemm

A, B = torch.linspace(-1, 1, 12).reshape(4, 3), torch.linspace(-2, 1, 15).reshape(3, 5)
BATCH = torch.linspace(-1, 2, 24).reshape(2, 4, 3), torch.linspace(-1, 1, 30).reshape(2, 3, 5)
MM = torch.ops.aten.mm.default
Forward = Callable[..., Any]


class WithState(nn.Module):
    """A program with a buffer, a parameter and a number."""

    def __init__(self, forward: Forward) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(5), requires_grad=False)
        self.register_buffer("seen", torch.zeros(1))
        self.number, self.of_test = 2, forward

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> Any:
        return self.of_test(self, a, b)


ROWS_VARY: dict[str, Forward] = {
    "an overload": lambda self, a, b: flex_gemm(MM, (a, b), torch.relu),
    "the product alone": lambda self, a, b: flex_gemm(torch.mm, (a, b), lambda y: y),
    "inputs from around": lambda self, a, b: flex_gemm(torch.mm, (a, b), lambda y: y * a.sum() + b[0]),
    "a size from around": lambda self, a, b: flex_gemm(torch.mm, (a, b), lambda y: y * a.shape[0] + self.number),
    "numbers in results": lambda self, a, b: flex_gemm(torch.mm, (a, b), lambda y: (y, 3, None)),
    "containers": lambda self, a, b: flex_gemm(torch.mm, (a, b), lambda y: {"m": y.amax(1), "s": [y.sum(0)]}),
    "a view": lambda self, a, b: flex_gemm(torch.mm, (a, b), lambda y: y.t()),
    "its own product changed": lambda self, a, b: flex_gemm(torch.mm, (a, b), lambda y: y.add_(1)),
    "a module": lambda self, a, b: flex_gemm(torch.mm, (a, b), nn.Softmax(-1)),
    "a partial": lambda self, a, b: flex_gemm(torch.mm, (a, b), partial(torch.mul, other=2.0)),
    "another dtype": lambda self, a, b: flex_gemm(torch.mm, (a, b), lambda y: torch.where(y > 0, y, 0.1 * y).half()),
    "dropout that is off": lambda self, a, b: flex_gemm(torch.mm, (a, b), lambda y: torch.dropout(y, 0.5, False)),
    "in itself": lambda self, a, b: flex_gemm(torch.mm, (a, b), lambda y: flex_gemm(torch.mm, (y, b.t()), torch.relu)),
    "a branch on data": lambda self, a, b: flex_gemm(torch.mm, (a, b), lambda y: y + 1 if y.sum() > 0 else y - 1),
    "cond": lambda self, a, b: flex_gemm(
        torch.mm, (a, b), lambda y: torch.cond(y.sum() > 0, torch.sin, torch.cos, (y,))
    ),
    "in cond": lambda self, a, b: torch.cond(
        a.sum() > 0, lambda a, b: flex_gemm(torch.mm, (a, b), torch.relu), lambda a, b: a @ b, (a, b)
    ),
}
BATCHES: dict[str, Forward] = {
    "bmm": lambda self, a, b: flex_gemm(torch.bmm, (a, b), lambda y: y.sigmoid() * self.weight),
    "baddbmm": lambda self, a, b: flex_gemm(
        torch.baddbmm, (torch.ones(2, 4, 5), a, b), lambda y: y + 1, gemm_kwargs={"beta": 2, "alpha": 0.5}
    ),
}
REFUSED: dict[str, Forward] = {
    "subgraph-mutates": lambda self, a, b: flex_gemm(torch.mm, (a, b), lambda y: y + self.seen.add_(1)),
    "subgraph-effect": lambda self, a, b: flex_gemm(torch.mm, (a, b), lambda y: (setattr(self, "number", 5), y)[1]),
    "control-flow-in-transform": lambda self, a, b: torch.vmap(lambda r: flex_gemm(torch.mm, (r, b), torch.relu))(
        a.expand(2, 4, 3)
    ),
}


@pytest.mark.parametrize("name", ROWS_VARY)
def test_programs_whose_rows_vary(name: str) -> None:
    module = WithState(ROWS_VARY[name])
    rows = {"a": {0: torch.export.Dim("rows", min=1, max=9)}, "b": None}
    with torch.no_grad():
        program = dynamo_lite.export(module, (A, B), dynamic_shapes=rows)
        assert "flex_gemm" in str(program.graph_module.print_readable(print_output=False))
        for run in (program.module(), program.run_decompositions().module()):
            for count in (4, 1, 7):
                a = torch.linspace(-1, 0.5, 3 * count).reshape(count, 3)
                torch.testing.assert_close(run(a, B), module(a, B))
                torch.testing.assert_close(run(-a, B), module(-a, B))


@pytest.mark.parametrize("name", BATCHES)
def test_batches_of_products(name: str) -> None:
    module = WithState(BATCHES[name])
    with torch.no_grad():
        program = dynamo_lite.export(module, BATCH).module()
        for a in (BATCH[0], BATCH[0].cos()):
            torch.testing.assert_close(program(a, BATCH[1]), module(a, BATCH[1]))


@pytest.mark.parametrize("id", REFUSED)
def test_refusals(id: str) -> None:
    with torch.no_grad(), pytest.raises(DynamoLiteError, match=rf"\[{id}\]"):
        dynamo_lite.export(WithState(REFUSED[id]), (A, B))


def test_what_is_no_product() -> None:
    def forward(a: torch.Tensor) -> Any:
        return flex_gemm(torch.add, (a, a), torch.relu)

    with pytest.raises(RuntimeError, match="unsupported GEMM op for FlexGEMM"):
        dynamo_lite.export(forward, (A,))
