"""The tables of the files `_torch*.py`, read from the sources: no file need be importable for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from dynamo_lite.folders import OWN
from dynamo_lite.symbolic_shapes.torch_versions import Symbol

ROOT = Path(__file__).parents[2]
PACKAGES = tuple(sorted({Path(folder).relative_to(ROOT).parts[0] for folder in OWN}))
"""The folders of the sources at `ROOT`: one in a wheel, three in a checkout."""


class PrivateTable(NamedTuple):
    """A row of the table of `file` (relative to the root)."""

    file: str
    symbol: Symbol
    disables: str


def owners(root: Path = ROOT) -> list[Path]:
    """The files that name private API."""
    return sorted({path for package in PACKAGES for path in (root / package).rglob("_torch*.py")})


def entries(root: Path = ROOT) -> list[PrivateTable]:
    """Return all rows of all tables. ValueError for a file without a table, or with one that is not a literal."""
    return [*_entries(root)]


@cache
def _entries(root: Path) -> tuple[PrivateTable, ...]:
    return tuple([entry for path in owners(root) for entry in _of_file(path, root)])


def _of_file(path: Path, root: Path) -> Iterator[PrivateTable]:
    values: dict[str, ast.expr] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values[node.targets[0].id] = node.value
    table, disables = values.get("SYMBOLS"), values.get("DISABLES")
    if not isinstance(table, ast.Tuple) or disables is None:
        raise ValueError(f"{path}: no SYMBOLS or no DISABLES")
    default = str(ast.literal_eval(disables))
    for row in table.elts:
        symbol = _symbol(row, path)
        yield PrivateTable(path.relative_to(root).as_posix(), symbol, symbol.missing or default)


def _symbol(row: ast.expr, path: Path) -> Symbol:
    if not isinstance(row, ast.Call):
        raise ValueError(f"{path}:{row.lineno}: not a Symbol(...)")
    named: dict[str, Any] = {str(k.arg): ast.literal_eval(k.value) for k in row.keywords}
    return Symbol(*map(ast.literal_eval, row.args), **named)
