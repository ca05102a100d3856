"""The blocks of docs/dynamic_shapes.md run, in one session, and print what the page says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "dynamic_shapes.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_page_runs() -> None:
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    parser, ran = doctest.DocTestParser(), 0
    for block in BLOCK.finditer(text):
        at = text[: block.start()].count("\n") + 1
        test = parser.get_doctest(block[1], names, f"{PAGE.name}:{at}", str(PAGE), at)
        said: list[str] = []
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append, clear_globs=False)
        names = test.globs
        assert result.failed == 0, "".join(said)
        ran += result.attempted
    assert ran > 15
