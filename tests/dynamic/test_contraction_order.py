"""torch.einsum of three or more tensors where opt_einsum is installed: it takes the number of every size for the order
of contraction, which changes no result. The package itself is replaced by one function, as torch calls it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import dynamo_lite

ASKED: list[list[tuple[int, ...]]] = []


def contract_path(equation: str, *operands: Any, optimize: Any, shapes: bool = False) -> Any:
    """The two smallest operands first, as opt_einsum answers: (path, information about it)."""
    sizes = [tuple(int(size) for size in (operand if shapes else operand.shape)) for operand in operands]
    ASKED.append(sizes)
    order = sorted(range(len(operands)), key=lambda at: torch.Size(sizes[at]).numel())[:2]
    return [tuple(order), *[(0, 1)] * (len(operands) - 2)], None


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    package = SimpleNamespace(contract_path=contract_path)
    monkeypatch.setattr(torch.backends.opt_einsum, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.opt_einsum, "get_opt_einsum", lambda: package)
    monkeypatch.setattr(torch.backends.opt_einsum, "enabled", True)
    ASKED.clear()


EQUATIONS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "text": lambda x, y, z: torch.einsum("...de,...nd,...n->...ne", x, y, z),
    "list": lambda x, y, z: torch.einsum("...de,...nd,...n->...ne", [x, y, z]),
    "subscripts": lambda x, y, z: torch.einsum(x, [0, 1, 2], y, [0, 4, 1], z, [0, 4], [0, 4, 2]),
}


def tensors(batch: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(batch)
    shapes = (batch, 4, 8), (batch, 5, 4), (batch, 5)
    x, y, z = (torch.randn(shape, generator=generator) for shape in shapes)
    return x, y, z


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", EQUATIONS)
def test_the_order_fixes_no_size(name: str, strict: bool) -> None:
    def forward(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        return EQUATIONS[name](x, y, z)

    batch = Dim("batch", min=1, max=64)
    program = dynamo_lite.export(forward, tensors(3), dynamic_shapes=({0: batch},) * 3, strict=strict)
    assert ASKED == [[(3, 4, 8), (3, 5, 4), (3, 5)]]
    (node,) = program.graph.find_nodes(op="call_function", target=torch.ops.aten.einsum.default)
    assert node.kwargs["path"] == [2, 1, 0, 1]
    run = program.module()
    for size in (3, 7, 1):
        given = tensors(size)
        torch.testing.assert_close(run(*given), forward(*given))


def test_a_size_that_only_run_time_knows() -> None:
    def forward(x: Tensor) -> Tensor:
        rows = x[x > 0]
        return torch.einsum("i,i,i->i", rows, rows, rows)

    program = dynamo_lite.export(forward, (torch.tensor([1.0, -2.0, 3.0]),))
    (node,) = program.graph.find_nodes(op="call_function", target=torch.ops.aten.einsum.default)
    assert not ASKED and not node.kwargs
    x = torch.tensor([1.0, 2.0, 3.0])
    torch.testing.assert_close(program.module()(x), forward(x))
