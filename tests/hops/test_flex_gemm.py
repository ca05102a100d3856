"""flex_gemm (torch 2.14 and later): a product of matrices with what follows it in one operator, against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite

flex_gemm: Any = pytest.importorskip("torch._higher_order_ops.flex_gemm", reason="new in torch 2.14").flex_gemm

A, B, BIAS = torch.randn(4, 3), torch.randn(3, 5), torch.randn(5)
ROWS = {"a": {0: torch.export.Dim("rows", max=9)}}


class Scaled(nn.Module):
    """The function after the product uses a parameter and a Python number from around it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.scale, self.shift = nn.Parameter(B.clone()), nn.Parameter(BIAS.clone()), 2.0

    def forward(self, a: torch.Tensor) -> Any:
        return flex_gemm(torch.mm, (a, self.weight), lambda y: (y * self.scale + self.shift).relu())


class WithBias(nn.Module):
    def forward(self, a: torch.Tensor) -> Any:
        out = flex_gemm(torch.addmm, (BIAS, a, B), lambda y: (y.sin(), {"cos": y.cos()}), gemm_kwargs={"beta": 0.5})
        return out[0] + out[1]["cos"]


class Square(nn.Module):
    """One matrix in both places."""

    def forward(self, a: torch.Tensor) -> Any:
        square = a @ a.T
        return flex_gemm(torch.mm, (square, square), torch.tanh, kernel_options={"backend": "QUACK"})


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("module", [Scaled, WithBias, Square])
def test_one_node_with_eagers_values(module: Callable[[], nn.Module], strict: bool) -> None:
    mod = module()
    with torch.no_grad():
        program = dynamo_lite.export(mod, (A,), dynamic_shapes=ROWS, strict=strict)
    (node,) = [node for node in program.graph.nodes if str(node.target) == "flex_gemm"]
    assert len(set(node.args[2])) == len(node.args[2]) >= 2
    for run in (program.module(), program.run_decompositions().module()):
        for rows in (1, 4, 7):
            a = torch.randn(rows, 3)
            torch.testing.assert_close(run(a), mod(a))


def test_a_backward_raises_as_in_eager() -> None:
    mod = Scaled()
    program = dynamo_lite.export(mod, (A,)).module()
    for run in (mod, program):
        with pytest.raises(RuntimeError, match="Autograd not implemented for flex_gemm"):
            run(A).sum().backward()


def test_what_eager_refuses() -> None:
    def forward(a: torch.Tensor) -> Any:
        return flex_gemm(torch.mm, (a, B), torch.relu, kernel_options={"backend": "OTHER"})

    with pytest.raises(RuntimeError, match="unsupported FlexGEMM backend: OTHER"):
        dynamo_lite.export(forward, (A,))
