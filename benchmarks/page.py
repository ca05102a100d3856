"""docs/benchmarks.md and the figures of the README, from the files of benchmarks/results.

    python -m benchmarks.page            # write both
    python -m benchmarks.page --check    # write nothing; exit status 1 if one of them differs

benchmarks/page.toml has the rows. Each figure in them is a template that names its file of results and the place there:

    {{ cell("hostile", "equal", "dynamo-lite", under="All") }}         the column of that row, below that heading
    {{ cells("hostile", "equal refused", "dynamo-lite", under="All") }}    several, as "1399 / 614"
    {{ column("export_time", "strict") }}                              all cells of a column
    {{ quote("scaling", "to the power <> ") }}                         the figure that stands there

LookupError names a place that is not there. tests/docs/test_benchmarks_page.py compares the files with what is written.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

from jinja2 import Environment, StrictUndefined

from benchmarks.result_tables import RESULTS, ROOT, tables

TEMPLATES = ROOT / "benchmarks" / "page.toml"
PAGE, README = ROOT / "docs" / "benchmarks.md", ROOT / "README.md"
BEGIN, END = "<!-- figures: python -m benchmarks.page -->", "<!-- end of figures -->"


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


@cache
def environment() -> Environment:
    """The functions by which a template looks figures up."""
    made = Environment(autoescape=False, undefined=StrictUndefined, keep_trailing_newline=True)
    made.globals.update(cell=cell, cells=cells, column=column, quote=quote, zip=zip)
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


def readme(text: str) -> str:
    """The README's text, with its figures anew."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise LookupError(f"the README lacks {BEGIN} ... {END}")
    made = _rendered(tomllib.loads(TEMPLATES.read_text(encoding="utf-8"))["readme"])
    return f"{before}{begin}\n{made}{end}{after}"


def main() -> int:
    try:
        wanted = {PAGE: page(), README: readme(README.read_text(encoding="utf-8"))}
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
