"""The Markdown tables of benchmarks/results as data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def tables(text: str) -> Iterator[dict[str, Any]]:
    """The Markdown tables of a text, as columns and rows, with the heading that they stand under."""
    lines, under = text.splitlines(), ""
    for i, line in enumerate(lines):
        if line.startswith("#"):
            under = line.lstrip("#").strip()
        if re.fullmatch(r"\|(\s*:?-+:?\s*\|)+", line) and i and lines[i - 1].startswith("|"):
            rows = []
            for row in lines[i + 1 :]:
                if not row.startswith("|"):
                    break
                rows.append(_cells(row))
            yield {"under": under, "columns": _cells(lines[i - 1]), "rows": rows}


def header(table: dict[str, Any]) -> tuple[str, ...]:
    """Its columns, numbers aside: "5 programs" is "2000 programs"."""
    return tuple(re.sub(r"\d+", "N", column) for column in table["columns"])


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
