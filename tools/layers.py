"""The table of layers: tests/layers.toml as data, and as the table of docs/architecture.md.

    python tools/layers.py    # write the table of docs/architecture.md
"""

from __future__ import annotations

import tomllib
from typing import NamedTuple

from source_files import ROOT

TABLE = ROOT / "tests/layers.toml"
PAGE = ROOT / "docs/architecture.md"
EVERYTHING = "everything"
_BEGIN, _END = "<!-- layers -->\n\n", "\n\n<!-- end of layers -->"


class Layer(NamedTuple):
    """A row: packages, their description, what they may import, and when that is (if not always)."""

    packages: list[str]
    description: str
    may_import: list[str]
    when: str


def layers() -> list[Layer]:
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["layer"]
    return [Layer(row["packages"], row["is"], row["may_import"], row.get("when", "")) for row in rows]


def may_import() -> dict[str, list[str]]:
    """Package → the packages whose files it may import itself."""
    return {name: layer.may_import for layer in layers() for name in layer.packages}


def rendered() -> str:
    """The table as Markdown."""
    lines = ["| package | is | may import |", "|---|---|---|"]
    for layer in layers():
        allowed = ", ".join(name if name == EVERYTHING else f"`{name}`" for name in layer.may_import)
        cells = (", ".join(f"`{name}`" for name in layer.packages), layer.description, allowed)
        when = f", {layer.when}" if layer.when else ""
        lines.append(f"| {cells[0]} | {cells[1]} | {cells[2]}{when} |".replace("|  |", "| |"))
    return "\n".join(lines)


def page(text: str) -> str:
    """`text` of the page with the table of today."""
    before, _, rest = text.partition(_BEGIN)
    after = rest.partition(_END)[2]
    return f"{before}{_BEGIN}{rendered()}{_END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
