"""The Python of the README and of the task pages runs as printed, each page in one session from top to bottom."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest
import torch  # noqa: F401  a Python without torch leaves this file out

from tests.docs import expected_errors

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "docs/hugging_face_model.md",
    "docs/kv_cache.md",
    "docs/dynamic_batch_and_length.md",
    "docs/consumers.md",
    "docs/why_refused.md",
    "docs/why_constant.md",
    "docs/branch_on_data.md",
    "docs/lengths_given_by_data.md",
    "docs/experts.md",
    "docs/training_step.md",
    "docs/several_entry_points.md",
    "docs/guards.md",
    "docs/effects.md",
    "docs/after_export.md",
    "docs/dynamic_shapes_from_calls.md",
    "docs/api.md",
    "docs/soundness.md",
    "docs/certificates.md",
    "docs/control_flow.md",
    "docs/features/constants.md",
    "docs/features/packed_sequences.md",
)
SLOW = ("aoti_compile_and_package", "onnx")
"""Blocks with one of these words run a compiler, or an exporter of half a minute: in the long tests."""


ELSEWHERE = {
    "docs/migrating_from_torch_export.md": "tests/nonstrict/test_migrating.py",
    "docs/symbolic_shapes.md": "tests/symbolic_shapes/test_guards_docs.py",
    "docs/dynamic_shapes.md": "tests/dynamic/test_docs.py",
    "docs/sizes_in_python.md": "tests/dynamic/test_docs.py",
    "docs/design.md": "tests/docs/test_design.py",
    "docs/exportdb.md": "tests/exportdb/test_cases.py",  # the form of a case
}
"""Pages whose blocks another test runs."""


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)


def imports(code: str) -> set[str]:
    """The top-level names of the modules that a block imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def run(page: str, folder: Path, with_slow: bool) -> None:
    """One namespace for a page; blocks for what is not installed are left out."""
    names: dict[str, object] = {"__name__": "__main__"}
    for number, block in enumerate(blocks(page)):
        if not with_slow and any(word in block for word in SLOW):
            continue
        if any(importlib.util.find_spec(name) is None for name in imports(block)):
            continue
        expected_errors.run(block, folder / f"{Path(page).stem}_{number}.py", names)


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert blocks(page)
    run(page, tmp_path, with_slow=False)


def test_every_page_with_python_is_run() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")]
    names = {path.relative_to(ROOT).as_posix() for path in pages if "```python" in path.read_text("utf-8")}
    assert names - {*PAGES} == {*ELSEWHERE}
    for page, test in ELSEWHERE.items():
        assert Path(page).stem in (ROOT / test).read_text("utf-8") or page == "docs/exportdb.md"


@pytest.mark.long
def test_the_slow_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("docs/consumers.md", tmp_path, with_slow=True)


def test_an_example_of_an_error_must_raise(tmp_path: Path) -> None:
    shows = "try:\n    int({})\nexcept ValueError as error:\n    seen = str(error)\n"
    names: dict[str, object] = {}
    expected_errors.run(shows.format("'x'"), tmp_path / "raises.py", names)
    assert "'x'" in str(names["seen"])
    with pytest.raises(AssertionError, match="nothing was raised"):
        expected_errors.run(shows.format("'1'"), tmp_path / "silent.py", {})
