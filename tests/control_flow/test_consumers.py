"""What takes programs with cond, while_loop and scan: unflatten, torch.compile, AOTInductor.

(Save and load, and decompositions: test_programs.py. What torch refuses of them: docs/control_flow.md.)
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.control_flow.harness import differences, exported, module_of
from tests.control_flow.programs import PROGRAMS

CAPTURED = [name for name, program in PROGRAMS.items() if program.refused is None]
COMPILED = ["if_else", "nested", "or_of_values", "write_to_either", "for_range_item", "while_append"]
PACKAGED = ["nested", "in_submodule", "while_simple", "for_range_item", "differing_shapes", "nonzero_branch"]


@pytest.mark.parametrize("name", CAPTURED[4::9])
def test_equals_eager_unflattened(name: str) -> None:
    program, module = PROGRAMS[name], module_of(PROGRAMS[name])
    ep = exported(program, module)
    assert differences(lambda: torch.export.unflatten(copy.deepcopy(ep)), module, program.inputs) == []


@pytest.fixture
def scalars_are_captured() -> Iterator[None]:
    """What torch.compile needs for `item()` and `nonzero()` in a sub-graph, in programs by hand too."""
    with torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True):
        torch._dynamo.reset()
        yield
        torch._dynamo.reset()


@pytest.mark.parametrize("name", COMPILED)
def test_equals_eager_compiled(name: str, scalars_are_captured: None) -> None:
    program, module = PROGRAMS[name], module_of(PROGRAMS[name])
    ep = exported(program, module)

    def compiled() -> Any:
        return torch.compile(copy.deepcopy(ep).module(), backend="aot_eager")

    assert differences(compiled, module, program.inputs) == []


@pytest.mark.parametrize("name", [PACKAGED[0], *(pytest.param(name, marks=pytest.mark.long) for name in PACKAGED[1:])])
def test_equals_eager_from_an_aot_inductor_package(name: str, tmp_path: Path) -> None:
    program, module = PROGRAMS[name], module_of(PROGRAMS[name])
    with torch.no_grad():
        path = torch._inductor.aoti_compile_and_package(
            exported(program, module), package_path=str(tmp_path / "m.pt2")
        )
        run = torch._inductor.aoti_load_package(path)
        for call in program.inputs:
            torch.testing.assert_close(run(*copy.deepcopy(call)), module(*copy.deepcopy(call)))
