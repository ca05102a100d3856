"""The README's examples run as they stand."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
import torch  # noqa: F401  the first example needs it: a Python without torch leaves this file out

BLOCKS = re.findall(r"```python\n(.*?)```", (Path(__file__).parent.parent / "README.md").read_text("utf-8"), re.DOTALL)


def test_readme_has_examples() -> None:
    assert len(BLOCKS) >= 2


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_readme_example_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "example.py"
    path.write_text(block, encoding="utf-8")
    runpy.run_path(str(path), run_name="__main__")
