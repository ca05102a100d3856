"""docs/migrating_from_torch_export.md runs from top to bottom, in one session."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs import expected_errors

PAGE = Path(__file__).parents[2] / "docs" / "migrating_from_torch_export.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_page_runs(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) >= 10
    lines = [""] * len(text.splitlines())
    for block in blocks:  # each line keeps its number, so that an error names the page's
        start = text[: block.start(1)].count("\n")
        code = block[1].splitlines()
        lines[start : start + len(code)] = code
    expected_errors.run("\n".join(lines), tmp_path / "migrating.py", {"__name__": "__main__"})


def test_every_argument_is_on_the_page() -> None:
    import inspect

    import torch

    import dynamo_lite

    text = PAGE.read_text(encoding="utf-8")
    for function in (torch.export.export, dynamo_lite.export):
        for name in inspect.signature(function).parameters:
            assert f"`{name}" in text, name
