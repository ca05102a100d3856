"""Programs saved under one version load under the others as far as torch's own do (written by saved_programs.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dynamo_lite.symbolic_shapes.torch_versions.supported import CHECKED, parse
from tests.torch_versions.saved_programs import FOLDER, PROGRAMS, folder

VERSIONS = [parse(version) for version in CHECKED]


def _loads(path: Path) -> str:
    try:
        torch.export.load(path)
    except Exception as error:
        return type(error).__name__
    return "loads"


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"saved under {version[0]}.{version[1]}")
def test_a_saved_program(version: tuple[int, int], name: str) -> None:
    here, program = folder(version), PROGRAMS[name]
    assert _loads(here / f"{name}.theirs.pt2") == "loads", "torch's own does not, so that ours need not"
    loaded = torch.export.load(here / f"{name}.pt2").module()
    assert torch.equal(loaded(*program.others), torch.load(here / f"{name}.pt"))
    if program.rejected is not None:
        with pytest.raises((RuntimeError, AssertionError)):
            loaded(*program.rejected)


def test_there_are_programs_of_each_version() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == [f"{a}.{b}" for a, b in VERSIONS]
    size = sum(path.stat().st_size for path in FOLDER.rglob("*.pt*"))
    assert size < 1_000_000
