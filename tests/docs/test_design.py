"""docs/design.md is true: its files, functions, tests, excerpts, features, and the walks of three exports.

Also the ten questions of tests/README.md: a page or a file that answers is there.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch  # noqa: F401  the walks export

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import house  # noqa: E402
import words  # noqa: E402

PAGE = ROOT / "docs/design.md"
TEXT = PAGE.read_text(encoding="utf-8")
HOUSE = house.house()
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
FILE = re.compile(r"`([\w/]+\.py)`")
FOLDER = re.compile(r"`((?:dynamo_lite|tests|symbolic_shapes|guards)/[\w/]*)`")


def table(heading: str, text: str = TEXT) -> list[list[str]]:
    """The rows of the table behind `<!-- heading -->`, without its head."""
    behind = text.partition(f"<!-- {heading} -->\n\n")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in behind.splitlines()[2:]]


def walk(program: str) -> list[tuple[str, str]]:
    return [(row[0].strip("`"), row[1].strip("`")) for row in table(f"walk {program}")]


def is_there(name: str) -> bool:
    """Paths are from the root, or from dynamo_lite."""
    return (ROOT / name).exists() or (ROOT / "dynamo_lite" / name).exists()


def missing(text: str) -> list[str]:
    """The files, folders and tests that a text names and that are not there."""
    lost = [name for name in (*FILE.findall(text), *FOLDER.findall(text)) if not is_there(name)]
    for file, name in TEST.findall(text):
        path = ROOT / file
        tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])
        if name not in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}:
            lost.append(f"{file}::{name}")
    return lost


def excerpts() -> Iterator[tuple[str, str]]:
    """The file that the paragraph before a block of code names last, and the block."""
    parts = re.split(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    for before, block in zip(parts[::2], parts[1::2]):
        yield FILE.findall(before)[-1], block


@pytest.fixture(scope="module")
def entered() -> dict[str, list[tuple[str, str]]]:
    return {program: house.calls_alone(program) for program in house.PROGRAMS}


@pytest.mark.parametrize("path", [PAGE, *sorted((ROOT / "docs/features").glob("*.md")), ROOT / "tests/README.md"],
                         ids=lambda path: path.name)  # fmt: skip
def test_what_is_named_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.parent == ROOT / "tests":
        text = text.partition("## Ten questions")[2]  # the rows above name files from tests/ on
    assert text and missing(text) == []


def test_what_is_gone_is_found() -> None:
    named = "`tracing/gone.py`, `dynamo_lite/gone/`, `tests/docs/test_design.py::test_gone`, `tests/gone.py::test_gone`"
    assert len(missing(named)) == 4
    assert missing("`tests/docs/test_design.py::test_what_is_gone_is_found`, `api.py`, `dynamo_lite/run`") == []


@pytest.mark.parametrize("program", house.PROGRAMS)
def test_a_walk_is_in_the_order_of_first_calls(program: str, entered: dict[str, list[tuple[str, str]]]) -> None:
    rows, calls = walk(program), entered[program]
    assert len(rows) >= 9
    assert [row for row in rows if row not in calls] == []
    places = [calls.index(row) for row in rows]
    assert [rows[i] for i in range(1, len(rows)) if places[i] <= places[i - 1]] == []


@pytest.mark.parametrize("program", ["dynamic", "branch"])
def test_a_later_walk_names_what_it_adds(program: str, entered: dict[str, list[tuple[str, str]]]) -> None:
    assert [row for row in walk(program) if row in entered["relu"]] == []


@pytest.mark.parametrize(("program", "number"), [*zip(house.PROGRAMS, range(3))])
def test_the_figures_of_a_walk(program: str, number: int, entered: dict[str, list[tuple[str, str]]]) -> None:
    """Within a tenth: the exact ones are in tests/house.json."""
    found = re.findall(r"about ([\d,]+) functions\s+in\s+([\d,]+)\s+files", TEXT)
    assert len(found) == 3
    functions, files = (int(figure.replace(",", "")) for figure in found[number])
    calls = entered[program]
    assert functions == pytest.approx(len(calls), rel=0.1)
    assert files == pytest.approx(len({file for file, _ in calls}), rel=0.1)


def test_the_files_of_the_evening_are_named() -> None:
    assert len(HOUSE.evening) == 12
    assert [name for name in HOUSE.evening if f"`dynamo_lite/{name.replace('.', '/')}.py`" not in TEXT] == []


def test_excerpts_are_of_the_source() -> None:
    found = [*excerpts()]
    assert len(found) == 2
    for file, block in found:
        source = (ROOT / file).read_text(encoding="utf-8")
        for piece in re.split(r"^ *\.\.\.\n", block, flags=re.MULTILINE):
            assert piece in source, f"{file} has no longer:\n{piece}"


def test_ten_invariants_each_with_a_test() -> None:
    rows = [row.split("|") for row in TEXT.partition("## Invariants")[2].partition("## ")[0].splitlines()]
    rows = [row for row in rows if len(row) > 2 and row[1].strip().isdigit()]
    assert [int(row[1]) for row in rows] == [*range(1, 11)]
    assert [row[2] for row in rows if not TEST.search(row[4]) or not FILE.search(row[3])] == []


def test_each_feature_has_its_line() -> None:
    """Those with all files in dynamo_lite/features with a page of docs/features, the others with a file of theirs."""
    from dynamo_lite.features import FEATURES

    rooms = {row[0].strip("`"): row for row in table("features")}
    in_layers = {owner.feature for owner in HOUSE.rows.values() if owner.kind == "feature"}
    assert sorted(rooms) == sorted({feature.name for feature in FEATURES} - in_layers)
    assert all(re.search(r"\(features/\w+\.md(#[\w-]+)?\)", row[2]) for row in rooms.values())
    by_layer = {row[0].strip("`"): row for row in table("features by layer")}
    assert sorted(by_layer) == sorted(HOUSE.needs.keys() - rooms.keys())
    for name, row in by_layer.items():
        module = house.PREFIX + row[2].strip("`").removesuffix(".py").replace("/", ".")
        assert HOUSE.owner(module) == house.Owner("feature", name)


@pytest.mark.parametrize("path", [PAGE, *sorted((ROOT / "docs/features").glob("*.md"))], ids=lambda path: path.name)
def test_no_retired_words(path: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert [word.name for word in words.words() if word.is_in(words.TEXTS, prose)] == []


def test_ten_questions_have_answers() -> None:
    text = (ROOT / "tests/README.md").read_text(encoding="utf-8").partition("## Ten questions")[2]
    questions = re.findall(r"^\d+\. .*?(?=^\d+\. |\Z)", text, re.MULTILINE | re.DOTALL)
    assert len(questions) == 10
    pages = [re.findall(r"\]\((\.\./docs/[\w/]+\.md)(?:#[\w-]+)?\)", question) for question in questions]
    assert [question for question, found in zip(questions, pages) if not found] == []
    assert all((ROOT / "tests" / page).is_file() for found in pages for page in found)
