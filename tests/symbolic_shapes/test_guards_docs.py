"""The blocks of docs/symbolic_shapes.md run, in one session, and print what the page says."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "symbolic_shapes.md"
BLOCK = re.compile(r"^```python( torch)?\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_page_runs() -> None:
    has_torch = importlib.util.find_spec("torch") is not None
    names: dict[str, object] = {}
    parser, ran = doctest.DocTestParser(), 0
    for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        if block[1] and not has_torch:
            continue
        at = PAGE.read_text(encoding="utf-8")[: block.start()].count("\n") + 1
        test = parser.get_doctest(block[2], names, f"{PAGE.name}:{at}", str(PAGE), at)
        said: list[str] = []
        runner = doctest.DocTestRunner()
        result = runner.run(test, out=said.append, clear_globs=False)
        names = test.globs
        assert result.failed == 0, "".join(said)
        ran += result.attempted
    assert ran > 30
