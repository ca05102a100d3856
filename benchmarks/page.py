"""docs/benchmarks.md and the figures of the README, from the files of benchmarks/results; tables of docs/soundness.md.

    python -m benchmarks.page            # write them
    python -m benchmarks.page --check    # write nothing; exit status 1 if one of them differs

benchmarks/page.toml has the rows. Each figure in them is a template that names its file of results and the place there:

    {{ cell("hostile", "equal", "dynamo-lite", under="All") }}         the column of that row, below that heading
    {{ cells("hostile", "equal refused", "dynamo-lite", under="All") }}    several, as "1399 / 614"
    {{ column("export_time", "strict") }}                              all cells of a column
    {{ quote("scaling", "to the power <> ") }}                         the figure that stands there
    {{ lines("dynamo_lite/tracing", without="dynamo_lite/tracing/policy") }}    lines of Python, rounded

LookupError names a place that is not there. tests/docs/test_benchmarks_page.py compares the files with what is written.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from benchmarks.result_tables import RESULTS, ROOT, tables

TEMPLATES = ROOT / "benchmarks" / "page.toml"
PAGE, README, SOUNDNESS = ROOT / "docs" / "benchmarks.md", ROOT / "README.md", ROOT / "docs" / "soundness.md"
HOLES = ROOT / "dynamo_lite" / "lab" / "known_holes.toml"
SECTIONS = {README: ("figures",), SOUNDNESS: ("trusted base", "known holes")}
"""The parts of files of prose that are written here: page.toml has each by name, with _ for a space."""

_FIGURE = r"\d(?:[\d.]*\d)?"
_PARTS = {"<>": f"({_FIGURE})", "<_>": _FIGURE, "…": "[^|]*"}


@cache
def _text(file: str) -> str:
    return (RESULTS / f"{file}.md").read_text(encoding="utf-8")


@cache
def _tables(file: str) -> list[dict[str, Any]]:
    return list(tables(_text(file)))


def _with_column(file: str, name: str, under: str) -> Iterator[tuple[list[list[str]], int]]:
    """The rows of each table of the file that has the column, and its index; `under`: begins the heading above it."""
    for table in _tables(file):
        if name in table["columns"] and table["under"].startswith(under):
            yield table["rows"], table["columns"].index(name)


def cell(file: str, name: str, *row: str, under: str = "", nth: int = 0) -> str:
    """The cell of a column (its `nth` of that name) in the row that begins with `row`, without bold print.

    An empty first cell means the one above. LookupError unless there is exactly one such row.
    """
    found, above = [], ""
    for table in _tables(file):
        places = [i for i, column in enumerate(table["columns"]) if column == name]
        if len(places) <= nth or not table["under"].startswith(under):
            continue
        for cells in table["rows"]:
            above = cells[0] or above
            plain = [text.replace("**", "") for text in (above, *cells[1:])]
            if tuple(plain[: len(row)]) == row:
                found.append(plain[places[nth]])
    if len(found) != 1:
        raise LookupError(f"{file}.md: {len(found)} rows {row} below {under!r} with a column {name!r}")
    return found[0]


def column(file: str, name: str, under: str = "") -> list[str]:
    """The cells of a column in the one table that has it; rows in bold print, which sum up, are left out."""
    found = list(_with_column(file, name, under))
    if len(found) != 1:
        raise LookupError(f"{file}.md: {len(found)} tables below {under!r} with a column {name!r}")
    rows, index = found[0]
    return [cells[index] for cells in rows if not cells[0].startswith("**")]


def cells(file: str, names: str, *row: str, under: str = "") -> str:
    """The cells of several columns in a row, as "1 / 2"."""
    return " / ".join(cell(file, name, *row, under=under) for name in names.split())


def quote(file: str, pattern: str) -> Any:
    """A figure of the text, which is read as one line; a tuple of several.

    In the pattern `<>` is the figure, `<_>` another one, `…` text without a `|`; the rest stands there literally.

    LookupError unless the pattern matches at exactly one place.
    """
    written = "".join(_PARTS.get(part, re.escape(part)) for part in re.split("(<_?>|…)", pattern))
    found = re.findall(written, " ".join(_text(file).split()))
    if len(found) != 1:
        raise LookupError(f"{file}.md: {len(found)} places match {pattern!r}")
    return found[0]


def lines(*paths: str, without: str = "") -> int:
    """The lines of Python files, or of those below folders, but for those below `without`: two digits of the number,
    and no figure below a hundred. LookupError if there are none."""
    files = {file for path in paths for file in [ROOT / path, *(ROOT / path).rglob("*.py")] if file.is_file()}
    kept = [file for file in files if not without or ROOT / without not in file.parents]
    count = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in kept)
    if not count:
        raise LookupError(f"no lines of Python in {', '.join(paths)}")
    return round(count, -max(2, len(str(count)) - 2))


def known_holes() -> dict[str, dict[str, str]]:
    """The programs of the laboratory that dynamo-lite gets wrong, by id."""
    return tomllib.loads(HOLES.read_text(encoding="utf-8"))


@cache
def environment() -> Environment:
    """The functions by which a template looks figures up."""
    made = Environment(autoescape=False, undefined=StrictUndefined, keep_trailing_newline=True)
    made.globals.update(cell=cell, cells=cells, column=column, quote=quote, zip=zip)
    made.globals.update(lines=lines, known_holes=known_holes)
    made.filters["number"] = lambda value: f"{int(value):,}"
    return made


def _rendered(template: str) -> str:
    return environment().from_string(template).render()


def page() -> str:
    """docs/benchmarks.md."""
    found = tomllib.loads(TEMPLATES.read_text(encoding="utf-8"))
    lines = [
        _rendered(found["before"]).rstrip(),
        "",
        "| | dynamo-lite | torch.export strict | where |",
        "|---|---|---|---|",
    ]
    for row in found["row"]:
        links = ", ".join(f"[{name}.md](../benchmarks/results/{name}.md)" for name in row["results"])
        cells = [_rendered(row[name]) for name in ("what", "ours", "strict")]
        lines.append(f"| {' | '.join(cells)} | {row.get('where', links)} |")
    return "\n".join(lines) + "\n\n" + _rendered(found["after"])


def filled(path: Path, text: str) -> str:
    """The text of a file of prose, with its sections anew."""
    templates = tomllib.loads(TEMPLATES.read_text(encoding="utf-8"))
    for name in SECTIONS[path]:
        opening, closing = f"<!-- {name}: python -m benchmarks.page -->", f"<!-- end of {name} -->"
        before, begin, rest = text.partition(opening)
        _, end, after = rest.partition(closing)
        if not begin or not end:
            raise LookupError(f"{path.name} lacks {opening} ... {closing}")
        text = f"{before}{begin}\n{_rendered(templates['section'][name.replace(' ', '_')])}{end}{after}"
    return text


def main() -> int:
    try:
        wanted = {path: filled(path, path.read_text(encoding="utf-8")) for path in SECTIONS} | {PAGE: page()}
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    changed = [path for path, text in wanted.items() if path.read_text(encoding="utf-8") != text]
    for path in changed:
        print(path.relative_to(ROOT))
        if "--check" not in sys.argv:
            path.write_text(wanted[path], encoding="utf-8")
    return int("--check" in sys.argv and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
