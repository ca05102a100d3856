"""The figures of tools/house.py and tools/words.py against the ceilings of tests/house.json."""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import house  # noqa: E402
import words  # noqa: E402

TABLE = house.house()
LOWER = "`python tools/house.py hold` writes lower figures; a higher one takes a reason: `hold --raise REASON`"


def test_each_source_file_has_a_place() -> None:
    """In the table of tests/house.json, or as a file of dynamo_lite/features/NAME/; and no row is without its file."""
    assert house.unclassified(TABLE) == []


def test_features_need_what_is_there() -> None:
    assert {name for names in TABLE.needs.values() for name in names} <= {*TABLE.needs, "*"}


def test_no_more_imports_of_features() -> None:
    found = {kind: len(places) for kind, places in house.arrows(TABLE).items()}
    assert house.over(found, TABLE.ceilings["arrows"]) == [], LOWER


def test_no_more_lines_and_files() -> None:
    assert house.over(house.sizes(TABLE), TABLE.ceilings["size"]) == [], LOWER


def test_no_more_retired_words() -> None:
    found = words.counts(words.all_uses())
    assert house.over(found, TABLE.ceilings["words"]) == [], "`python tools/words.py --list WORD` names the places"


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="an export")
@pytest.mark.parametrize("program", house.PROGRAMS)
def test_an_export_enters_no_more(program: str) -> None:
    if house.version() != TABLE.version:
        pytest.skip(f"the ceilings are those of {TABLE.version}")
    figures = house.walked_alone(program)
    assert figures["functions"] > 300
    assert house.over(figures, TABLE.ceilings[f"path {program}"]) == [], LOWER


def test_arrows_are_found() -> None:
    """With another table: errors.py as a feature, which everything imports."""
    rows = TABLE.rows | {"errors": house.Owner("feature", "errors")}
    more, before = house.arrows(TABLE._replace(rows=rows)), house.arrows(TABLE)
    assert any(place.startswith("dynamo_lite.pipeline:") for place in more["wiring to features"])
    assert len(more["core to features"]) > len(before["core to features"])
    assert any(place.endswith("from control_flow") and "(errors)" in place for place in more["beyond needs"])
    assert "dynamo_lite.errors" not in str(before)


def test_a_feature_folder_is_a_feature() -> None:
    assert TABLE.owner("dynamo_lite.features.numpy.rules") == house.Owner("feature", "numpy")
    assert TABLE.owner("dynamo_lite.tracing.tensors.something_new") is None


def test_the_table_is_written_as_it_was() -> None:
    text = house.HOUSE.read_text(encoding="utf-8")
    assert house.dumped(json.loads(text)) + "\n" == text


SOURCE = '''
"""Young objects are found."""

class YoungObjects:
    """A young object."""

    grows: bool
    """Whether young."""

    def _find(self):
        """Not public: young."""
        self.young_ones = raised(f"the {1} young objects are lost", "young")
'''


def test_words_are_found_where_they_count() -> None:
    table = words.words(
        {"young": {"instead": "new", "prose": "young", "parts": ["young"]}, "g": {"instead": "", "names": ["grows"]}}
    )
    found = list(words.uses({"m": ast.parse(SOURCE)}, table))
    assert [(use.word, use.kind, use.place) for use in found] == [
        ("young", "docstrings", "m:2"),
        ("young", "docstrings", "m:5"),
        ("young", "docstrings", "m:8"),
        ("young", "identifiers", "m:4"),
        ("g", "identifiers", "m:7"),
        ("young", "identifiers", "m:12"),
        ("young", "texts", "m:12"),
    ]
