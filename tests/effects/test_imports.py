"""An import inside of the program: it happens once, outside of the trace, and it stays; the report says so."""

from __future__ import annotations

import importlib
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


@pytest.mark.parametrize(
    "statement",
    [
        "from . import late",
        "from .late import SCALE",
        "from .. import outer_late",
        "from ..package_of_imports import late",
        "from package_of_imports import late",
        "import package_of_imports.late as late",
        "late = __import__('importlib').import_module('.late', __package__)",
        "late = __import__(name='package_of_imports.late')",
    ],
)
def test_the_note_has_the_full_name_of_the_module(
    statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "outer_of_imports" / "package_of_imports"
    inner.mkdir(parents=True)
    (tmp_path / "package_of_imports").symlink_to(inner)
    program = f"def program(x):\n    {statement}\n    return x * 2\n"
    for folder in (inner.parent, inner):
        (folder / "__init__.py").write_text("")
    (inner.parent / "outer_late.py").write_text("")
    (inner / "late.py").write_text("SCALE = 2\n")
    (inner / "program.py").write_text(program)
    monkeypatch.syspath_prepend(str(tmp_path))
    outer = "outer_of_imports." if ".." in statement else ""
    before = set(sys.modules)
    try:
        module = importlib.import_module(f"{outer}package_of_imports.program")
        exported = dynamo_lite.export(module.program, (torch.ones(3),))
    finally:
        for name in set(sys.modules) - before:
            if "_imports" in name:
                del sys.modules[name]
    name = "outer_of_imports.outer_late" if "outer_late" in statement else f"{outer}package_of_imports.late"
    notes = [note for note in exported.notes if "is imported" in note]  # type: ignore[attr-defined]
    assert notes == [f"the module {name} is imported; the import stays"]


def test_an_entry_of_sys_modules_is_state() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        sys.modules["this_is_for_dynamo_lite"] = sys
        return x * 2

    exported = dynamo_lite.export(program, (torch.ones(3),), effects="drop")
    (effect,) = exported.trace.effects  # type: ignore[attr-defined]
    assert effect.kind == "item" and "this_is_for_dynamo_lite" in effect.target
    assert "this_is_for_dynamo_lite" not in sys.modules
