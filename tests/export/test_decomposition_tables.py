"""run_decompositions with torch's tables filled in less time: the same operators, and a process that is as before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch._export import utils
from torch._ops import OperatorBase
from torch.export import Dim, ExportedProgram, default_decompositions, exported_program

import dynamo_lite
from dynamo_lite.program.decomposition._torch_tables import filled_once

aten = torch.ops.aten


class Layers(torch.nn.Module):
    """Composite operators that are decomposed, kept by default, and without a gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.SiLU(), torch.nn.LayerNorm(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.nn.functional.interpolate(self.layers(x)[None], scale_factor=2.0)
        return torch.nn.functional.scaled_dot_product_attention(y, y, y)


def _table(name: str) -> Any:
    table = default_decompositions()
    if name == "linear kept":
        del table[aten.linear.default]
    elif name == "one of one's own":
        table[aten.silu.default] = lambda x: x * torch.sigmoid(x) * 1
    return {} if name == "none" else table


@pytest.mark.parametrize("table", ["none", "the default", "linear kept", "one of one's own"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_the_decomposed_program_is_torchs(table: str, dynamic: bool) -> None:
    shapes = ({0: Dim.AUTO},) if dynamic else None
    program = dynamo_lite.export(Layers(), (torch.randn(3, 4),), dynamic_shapes=shapes)
    want = ExportedProgram.run_decompositions(program, _table(table))
    assert program.run_decompositions(_table(table)).graph_module.code == want.graph_module.code


@pytest.fixture
def composite() -> Iterator[Any]:
    with torch.library._scoped_library("dynamo_lite_tables", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")
        yield torch.ops.dynamo_lite_tables.twice


def test_a_composite_operator_of_the_user(composite: Any) -> None:
    class Program(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return composite(x)

    program = dynamo_lite.export(Program(), (torch.ones(2),))
    for table in ({}, None):
        want = ExportedProgram.run_decompositions(program, table)
        assert program.run_decompositions(table).graph_module.code == want.graph_module.code


def _changed() -> tuple[Any, ...]:
    kernels = {str(op): dict(op.py_kernels) for op in (aten.linear.default, aten.silu.default, aten.dropout.default)}
    return utils._materialize_cpp_cia_ops, OperatorBase.py_impl, exported_program.autograd_not_implemented, kernels


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_the_process_is_as_before(error: type[BaseException] | None) -> None:
    def silu(x: torch.Tensor) -> torch.Tensor:
        if error is not None:
            raise error("of the table")
        return x

    program = dynamo_lite.export(Layers(), (torch.randn(3, 4),))
    before = _changed()
    if error is None:
        program.run_decompositions({aten.silu.default: silu})
    else:
        with pytest.raises(error, match="of the table"):
            program.run_decompositions({aten.silu.default: silu})
    assert _changed() == before


def test_errors_of_a_registration_are_torchs() -> None:
    with filled_once():
        with pytest.raises(RuntimeError, match="Trying to override a python impl"):
            for _ in range(2):
                aten.sin.default.py_impl(torch._C.DispatchKey.AutogradIPU)(torch.sin)
        with pytest.raises(AssertionError, match="register a mode"):
            aten.sin.default.py_impl(torch._C.DispatchKey.Python)(torch.sin)
    del aten.sin.default.py_kernels[torch._C.DispatchKey.AutogradIPU]
