"""The README's examples run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch  # noqa: F401  the first example needs it: a Python without torch leaves this file out

BLOCKS = re.findall(r"```python\n(.*?)```", (Path(__file__).parent.parent / "README.md").read_text("utf-8"), re.DOTALL)


def test_readme_has_examples() -> None:
    assert len(BLOCKS) >= 2


def test_readme_examples_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for number, block in enumerate(BLOCKS):
        path = tmp_path / f"example_{number}.py"
        path.write_text(block, encoding="utf-8")  # the sources of classes are looked up there
        exec(compile(block, str(path), "exec"), names)
