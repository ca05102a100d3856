"""torch's private API is named only in files `_torch*.py`, each of which says with which torch it was checked."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("dynamo_lite", "symbolic_shapes", "guards")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
OWNERS = [path for path in FILES if path.name.startswith("_torch")]
OTHERS = [path for path in FILES if path not in OWNERS and "cases" not in path.parts]

PUBLIC = re.compile(r"torch\.(_check\w*|_assert|_assert_async|ops\..*)$")
"""Documented, or the name of an operator."""


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _chain(node: ast.AST) -> list[str]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


def _private_uses(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            names = [".".join(_chain(node))]
        for name in names:
            parts = name.split(".")
            if parts[0] == "torch" and any(map(_is_private, parts)) and not PUBLIC.match(name):
                yield f"{path.relative_to(ROOT)}:{node.lineno} {name}"  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_private_api_outside_of_its_files(path: Path) -> None:
    assert list(_private_uses(path)) == []


@pytest.mark.parametrize("path", OWNERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_owner_names_the_version_that_it_was_checked_with(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring is not None and re.search(r"[Cc]hecked with torch \d+\.\d+", docstring)
