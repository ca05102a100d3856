"""Docstrings and comments name files that are there: of this repository, of torch or of the standard library."""

from __future__ import annotations

import ast
import importlib.util
import io
import re
import sysconfig
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("dynamo_lite", "symbolic_shapes", "guards")
OURS = sorted({path for package in PACKAGES for path in (ROOT / package).rglob("*.py")})
EXAMPLES = {"model.py", "file.py"}
"""Names that stand for a file of the user's."""
TEXT = re.compile(r"[\w/]+\.py\b")
DOTTED = re.compile(r"`([a-z_]\w*)\.([A-Za-z_]\w*)`")


def _torch_folder() -> Path:
    found = importlib.util.find_spec("torch")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent


def _known_files() -> set[str]:
    roots = (ROOT / "dynamo_lite", ROOT / "tests", ROOT / "benchmarks", ROOT / "tools", ROOT / "symbolic_shapes",
             ROOT / "guards", _torch_folder(), Path(sysconfig.get_paths()["stdlib"]))  # fmt: skip
    return {path.name for root in roots for path in root.rglob("*.py")} | EXAMPLES


def _names(path: Path) -> set[str]:
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    return {token.string for token in tokens if token.type == tokenize.NAME}


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each comment and docstring, those behind attributes included."""
    source = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


@pytest.fixture(scope="module")
def files() -> set[str]:
    return _known_files()


def missing_files(path: Path, known: set[str]) -> list[str]:
    return [f"{path.name}:{line} {name}" for line, text in prose(path) for name in TEXT.findall(text)
            if name.rpartition("/")[2] not in known and "tools/autograd" not in name]  # fmt: skip


def test_each_file_that_is_named_is_there(files: set[str]) -> None:
    assert [place for path in OURS for place in missing_files(path, files)] == []


def test_each_member_of_a_module_of_ours_is_there() -> None:
    """`checker.verify` in a docstring: the file checker.py has that name."""
    by_stem: dict[str, set[str]] = {}
    for path in OURS:
        by_stem.setdefault(path.stem, set()).update(_names(path))
    lost = [
        f"{path.name}:{line} {module}.{name}"
        for path in OURS
        for line, text in prose(path)
        for module, name in DOTTED.findall(text)
        if module in by_stem and name != "py" and name not in by_stem[module]
    ]
    assert lost == []


def test_a_file_that_is_gone_is_found(tmp_path: Path, files: set[str]) -> None:
    (tmp_path / "some.py").write_text('"""See removed_file.py."""\nx = 1  # as in heap/removed_too.py, errors.py\n')
    found = missing_files(tmp_path / "some.py", files)
    assert sorted(found) == ["some.py:1 removed_file.py", "some.py:2 heap/removed_too.py"]
