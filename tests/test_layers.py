"""Imports against the layers of tests/layers.toml; no circle of files; names; long files and functions."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import layers  # noqa: E402
from source_files import circles, imports, modules  # noqa: E402

PACKAGES = ("dynamo_lite", "symbolic_shapes", "guards")


MODULES = modules()


LAYERS = layers.may_import()


def _layer_of(module: str) -> str | None:
    """The row of the table that a module belongs to: the longest."""
    found = [name for name in LAYERS if module == name or module.startswith(name + ".")]
    return max(found, key=len, default=None)


def _reachable(layer: str) -> set[str]:
    seen, todo = set(), [layer]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += LAYERS.get(name, [])
    return seen


def _may_import(layer: str, target: str) -> bool:
    allowed = _reachable(layer)
    return layers.EVERYTHING in allowed or any(target == name or target.startswith(name + ".") for name in allowed)


def test_each_file_is_in_a_layer() -> None:
    assert [name for name in MODULES if _layer_of(name) is None and name not in ("dynamo_lite",)] == []


@pytest.mark.parametrize("layer", LAYERS)
def test_the_table_names_what_exists(layer: str) -> None:
    for name in (layer, *LAYERS[layer]):
        assert name in MODULES or name == layers.EVERYTHING, f"{name} is in tests/layers.toml and not there"


def test_the_page_has_the_table() -> None:
    text = layers.PAGE.read_text(encoding="utf-8")
    assert layers.rendered() in text
    assert layers.page(text) == text, "`python tools/layers.py` writes the table"


def test_no_import_against_the_layers() -> None:
    wrong = []
    for module in MODULES:
        layer = _layer_of(module)
        if layer is None:
            continue
        for target, line in imports(module):
            if target != "dynamo_lite" and not _may_import(layer, target):
                wrong.append(f"{module}:{line} imports {target}, which is not below {layer}")
    assert wrong == []


def test_no_circle_of_files() -> None:
    """What a package's `__init__` exports is no edge."""
    assert circles({m: {t for t, _ in imports(m) if MODULES[t].name != "__init__.py"} for m in MODULES}) == []


LONG_FILE, LONG_FUNCTION = 700, 70


def test_files_and_functions_are_short() -> None:
    long: list[str] = []
    for module, path in MODULES.items():
        text = path.read_text(encoding="utf-8")
        if len(text.splitlines()) > LONG_FILE:
            long.append(module)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                if node.end_lineno - node.lineno >= LONG_FUNCTION:
                    long.append(f"{module}:{node.lineno} {node.name}")
    assert long == []


def test_each_package_says_what_it_is_for() -> None:
    """What it is for, who calls it, what it may import: that takes a few lines."""
    packages = {name: path for name, path in MODULES.items() if path.name == "__init__.py"}
    texts = {name: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for name, path in packages.items()}
    assert [name for name, text in texts.items() if len((text or "").splitlines()) < 4] == []


NAMED_TWICE = {"Symbol"}
"""An integer unknown of symbolic_shapes, and a name of a library, as linkers call one (torch_versions/tables.py)."""


def test_no_two_classes_have_the_same_name() -> None:
    found: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        if ".exportdb.cases" not in module:
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    found.setdefault(node.name, []).append(module)
    assert {name: where for name, where in found.items() if len(where) > 1 and name not in NAMED_TWICE} == {}
