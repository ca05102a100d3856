"""docs/soundness.md lists the programs of the corpus that dynamo-lite gets wrong: all of them, and no others."""

from __future__ import annotations

import re
from pathlib import Path

from dynamo_lite.lab import exporters, programs
from dynamo_lite.lab.judge import judge

PAGE = Path(__file__).parents[2] / "docs/soundness.md"


def test_the_page_lists_what_is_wrong() -> None:
    listed = re.findall(r"^\| `(\w+\.\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    exporter = exporters.load("dynamo-lite")
    answers = {id: judge(programs.find(id), exporter) for id in programs.chosen([])}
    assert sorted(id for id, answer in answers.items() if answer.verdict == "wrong") == sorted(listed)
    assert {id: answer.changed for id, answer in answers.items() if answer.changed} == {}
