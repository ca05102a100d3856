"""Imports against the table of layers in docs/architecture.md; no circle of files; names; long files and functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("dynamo_lite", "symbolic_shapes", "guards")
EVERYTHING = "everything"


def _modules() -> dict[str, Path]:
    """Dotted name → file; a package stands for its `__init__`."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths}
    return {name if name.startswith(PACKAGES[0]) else f"{PACKAGES[0]}.{name}": path for path, name in names.items()}


MODULES = _modules()


def _imports(module: str) -> Iterator[tuple[str, int]]:
    """The modules of ours that a file imports, in functions and under TYPE_CHECKING too, with the lines."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            names = [f"{base}.{a.name}" if f"{base}.{a.name}" in MODULES else base for a in node.names]
        yield from ((name, node.lineno) for name in names if name in MODULES and name != module)  # type: ignore[attr-defined]


def _layers() -> dict[str, list[str]]:
    """Package → the packages whose files it may import itself, from the table of docs/architecture.md."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = text.partition("## Layers")[2].partition("\n### ")[0]
    rows: dict[str, list[str]] = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 3 or not cells[0].startswith("`"):
            continue
        names = re.findall(r"`([\w.]+)`", cells[0])
        prefix = names[0].partition(".")[0]
        allowed = re.findall(r"`([\w.]+)`", cells[2]) + ([EVERYTHING] if EVERYTHING in cells[2] else [])
        for name in names:
            rows[prefix + name if name.startswith(".") else name] = allowed
    return rows


LAYERS = _layers()


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
    return EVERYTHING in allowed or any(target == name or target.startswith(name + ".") for name in allowed)


def test_each_file_is_in_a_layer() -> None:
    assert [name for name in MODULES if _layer_of(name) is None and name not in ("dynamo_lite",)] == []


@pytest.mark.parametrize("layer", LAYERS)
def test_the_table_names_what_exists(layer: str) -> None:
    for name in (layer, *LAYERS[layer]):
        assert name in MODULES or name == EVERYTHING, f"{name} is in the table of docs/architecture.md and not there"


def test_no_import_against_the_layers() -> None:
    wrong = []
    for module in MODULES:
        layer = _layer_of(module)
        if layer is None:
            continue
        for target, line in _imports(module):
            if target != "dynamo_lite" and not _may_import(layer, target):
                wrong.append(f"{module}:{line} imports {target}, which is not below {layer}")
    assert wrong == []


def _circles() -> list[list[str]]:
    """The circles of files (Tarjan's strongly connected components); what a package's `__init__` exports is no edge."""
    graph = {m: {t for t, _ in _imports(m) if MODULES[t].name != "__init__.py"} for m in MODULES}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            part = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(part) > 1:
                found.append(sorted(part))

    for module in graph:
        if module not in index:
            visit(module)
    return found


def test_no_circle_of_files() -> None:
    assert _circles() == []


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
