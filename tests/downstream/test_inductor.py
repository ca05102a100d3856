"""Inductor compiles dynamic programs: torch.compile of `program.module()`, and AOTInductor's packages."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import Dim

from tests.dynamic.bridge_programs import CASES, Case, Oracle

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("g++") is None, reason="Inductor needs a C++ compiler"),
]

COMPILED = [name for name in CASES if name != "derived"]
"""AOTInductor refuses integer arguments, of torch.export's programs as well: see `_Derived`."""


class _Derived(torch.nn.Module):
    def forward(self, left: torch.Tensor, right: torch.Tensor) -> Any:
        return left + right[1:], left.new_ones(left.shape[0] // 2)


def _derived() -> Case:
    n = Dim("n", min=1, max=64)
    calls = [(torch.randn(size, 2), torch.randn(size + 1, 2)) for size in (4, 1, 9)]
    return Case(_Derived(), {"left": {0: n}, "right": {0: n + 1}}, calls)


MAKERS: dict[str, Callable[[], Case]] = {**{name: CASES[name] for name in COMPILED}, "derived tensors": _derived}


@pytest.mark.parametrize("name", [*CASES])
def test_torch_compile(name: str) -> None:
    case = CASES[name]()
    program = case.export()
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True):
        for call in case.calls:
            Oracle(case.module).agrees(torch.compile(program.module()), call)


@pytest.mark.parametrize("name", MAKERS)
def test_aot_inductor(name: str, tmp_path: Path) -> None:
    case = MAKERS[name]()
    path = torch._inductor.aoti_compile_and_package(case.export(), package_path=str(tmp_path / "model.pt2"))
    for call in case.calls:
        Oracle(case.module).agrees(torch._inductor.aoti_load_package(path), call, numbers_as_tensors=True)


def test_aot_inductor_asserts_at_run_time(tmp_path: Path) -> None:
    """The facts about unbacked values are in the compiled code, with their message."""
    case = CASES["item"]()
    path = torch._inductor.aoti_compile_and_package(case.export(), package_path=str(tmp_path / "model.pt2"))
    with pytest.raises(RuntimeError):
        torch._inductor.aoti_load_package(path)(torch.ones(5, 3), torch.tensor(0))


def test_aot_inductor_after_loading(tmp_path: Path) -> None:
    case = CASES["tutorial"]()
    torch.export.save(case.export(), tmp_path / "program.pt2")
    loaded = torch.export.load(tmp_path / "program.pt2")
    path = torch._inductor.aoti_compile_and_package(loaded, package_path=str(tmp_path / "model.pt2"))
    for call in case.calls:
        Oracle(case.module).agrees(torch._inductor.aoti_load_package(path), call)


def test_sizes_in_auto_dimensions_stay_dynamic_in_the_compiled_module() -> None:
    """One compilation serves several sizes."""
    case = CASES["scalars"]()
    module = case.export().module()
    counter = torch._dynamo.testing.CompileCounterWithBackend("inductor")
    torch._dynamo.reset()
    compiled = torch.compile(module, backend=counter, dynamic=True, fullgraph=True)
    for rows in (6, 9, 13):
        Oracle(case.module).agrees(compiled, (torch.randn(rows, 2),))
    assert counter.frame_count == 1
