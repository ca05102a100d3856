"""The blocks of the pages on sizes run, each page in one session, and print what the page says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name, examples", [("dynamic_shapes.md", 15), ("sizes_in_python.md", 10)])
def test_the_page_runs(name: str, examples: int) -> None:
    page = DOCS / name
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    parser, ran = doctest.DocTestParser(), 0
    for block in BLOCK.finditer(text):
        at = text[: block.start()].count("\n") + 1
        test = parser.get_doctest(block[1], names, f"{page.name}:{at}", str(page), at)
        said: list[str] = []
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append, clear_globs=False)
        names = test.globs
        assert result.failed == 0, "".join(said)
        ran += result.attempted
    assert ran > examples
