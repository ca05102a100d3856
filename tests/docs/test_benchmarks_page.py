"""docs/benchmarks.md, the README's figures and the tables of docs/soundness.md are what `python -m benchmarks.page`
writes; no figure is copied by hand."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("jinja2")

from benchmarks import page

ROOT = Path(__file__).parents[2]
ROWS = tomllib.loads(page.TEMPLATES.read_text("utf-8"))
NAMES = {"gpt_12", "1 GB", "70B", "program.pt2"}
"""Words with a number in them that are the name of what is measured."""


def test_the_page_is_what_the_command_writes() -> None:
    assert page.PAGE.read_text("utf-8") == page.page()
    for path in page.SECTIONS:
        text = path.read_text("utf-8")
        assert text == page.filled(path, text), f"{path}: run python -m benchmarks.page"


def test_no_figure_stands_in_the_rows() -> None:
    texts = [ROWS["before"], ROWS["after"], *ROWS["section"].values()]
    texts += [row[part] for row in ROWS["row"] for part in ("what", "ours", "strict")]
    for text in texts:
        words = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", " ", text, flags=re.DOTALL)
        for name in NAMES:
            words = words.replace(name, "")
        assert not re.search(r"\d", words), text


def test_each_row_names_its_files() -> None:
    for row in ROWS["row"]:
        used = set(re.findall(r'(?:cells?|column|quote)\("(\w+)"', row["what"] + row["ours"] + row["strict"]))
        assert used - {"export_time"} <= set(row["results"]) and (used or "where" in row)


def test_figures_are_looked_up() -> None:
    assert page.cells("exportdb", "equal wrong", "torch.export strict") == "129 / 17"
    assert page.cell("export_time", "strict / ours", "geometric mean", nth=1) == "11.7×"
    assert page.quote("layout", "the layout <> times the time (first) and <> (later)") == ("0.98", "0.99")
    below = "torch 2.15.0 (2026-11-26"
    hand_written = "hand-written probes (946)"
    assert page.cell("soundness", "wrong", hand_written, "torch.export strict", under=below) == "243"


@pytest.mark.parametrize(
    "look",
    [
        lambda: page.cell("exportdb", "wrong", "no such exporter"),
        lambda: page.cell("exportdb", "no such column", "dynamo-lite"),
        lambda: page.cell("hostile", "wrong", "dynamo-lite"),
        lambda: page.column("soundness", "wrong"),
        lambda: page.quote("scaling", "no such text <>"),
        lambda: page.filled(page.README, "a README without the marks"),
        lambda: page.lines("dynamo_lite/no_such_folder"),
    ],
)
def test_a_place_that_is_not_there_or_not_the_only_one(look: Callable[[], object]) -> None:
    with pytest.raises(LookupError):
        look()
