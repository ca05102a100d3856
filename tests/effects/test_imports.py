"""An import inside of the program: it happens once, outside of the trace, and it stays; the report says so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

import dynamo_lite


def test_an_import_is_noted_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "imported_by_a_program.py").write_text("import torch\nSCALE = float(torch.ones(3).sum())\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def program(x: torch.Tensor) -> torch.Tensor:
        import imported_by_a_program

        return x * imported_by_a_program.SCALE

    exported = dynamo_lite.export(program, (torch.ones(3),))
    assert sys.modules.pop("imported_by_a_program").SCALE == 3
    torch.testing.assert_close(exported.module()(torch.ones(3)), torch.full((3,), 3.0))
    notes = exported.notes  # type: ignore[attr-defined]
    assert "the module imported_by_a_program is imported; the import stays" in notes


def test_an_entry_of_sys_modules_is_state() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        sys.modules["this_is_for_dynamo_lite"] = sys
        return x * 2

    exported = dynamo_lite.export(program, (torch.ones(3),), effects="drop")
    (effect,) = exported.trace.effects  # type: ignore[attr-defined]
    assert effect.kind == "item" and "this_is_for_dynamo_lite" in effect.target
    assert "this_is_for_dynamo_lite" not in sys.modules
