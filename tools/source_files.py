"""The source files of the packages, what each imports, and the circles of a graph: what the other tools count with."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("dynamo_lite", "symbolic_shapes", "guards")
CASES = ("dynamo_lite.exportdb.cases.", "dynamo_lite.lab.corpus.", "dynamo_lite.lab.generated")
"""Programs, as data: no source of ours calls them."""


@cache
def modules() -> dict[str, Path]:
    """Dotted name → file; a package stands for its `__init__`. symbolic_shapes and guards are parts of dynamo_lite."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths}
    return {name if name.startswith(PACKAGES[0]) else f"{PACKAGES[0]}.{name}": path for path, name in names.items()}


def packages_as_installed() -> None:
    """Make build/types: a folder of links to the sources, where guards/ and symbolic_shapes/ are in dynamo_lite.

    For tools that find a module by its folder, without importing it (mypy, mkdocs).
    """
    tree = ROOT / "build" / "types" / "dynamo_lite"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for part in (*(ROOT / "dynamo_lite").iterdir(), ROOT / "guards", ROOT / "symbolic_shapes"):
        (tree / part.name).symlink_to(part)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(module: str) -> Iterator[tuple[str, int]]:
    """The modules of ours that a file imports, with the lines; those in functions and under TYPE_CHECKING too."""
    files = modules()
    path = files[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name in files)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            names = [f"{base}.{a.name}" if f"{base}.{a.name}" in files else base for a in node.names]
            yield from ((name, node.lineno) for name in names if name in files and name != module)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The sets of nodes that reach one another (Tarjan's strongly connected components), those of one node aside."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
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

    for node in graph:
        if node not in index:
            visit(node)
    return found
