"""The folders guards/ and symbolic_shapes/ are the packages dynamo_lite.guards and dynamo_lite.symbolic_shapes."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "name", ["guards", "guards.source", "symbolic_shapes", "symbolic_shapes.expressions.expr", "symbolic_shapes.dims"]
)
def test_the_folder_is_the_package(name: str) -> None:
    module = importlib.import_module(f"dynamo_lite.{name}")
    assert importlib.import_module(name) is module
    assert module.__name__ == f"dynamo_lite.{name}"
    assert module.__spec__ is not None and module.__spec__.name == module.__name__


def test_a_module_that_is_not_there_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"guards\.nothing_of_this_name"):
        importlib.import_module("guards.nothing_of_this_name")


def test_modules_of_the_user_with_these_names(tmp_path: Path) -> None:
    """`import dynamo_lite` beside a user's own guards.py ran that file."""
    for name in ("guards", "symbolic_shapes", "tests", "benchmarks"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a module of the user was imported')")
    script = """
        import torch, dynamo_lite
        shapes = ({0: torch.export.Dim('n')},)
        trace = dynamo_lite.trace(torch.nn.Linear(2, 3), (torch.randn(2, 2),), dynamic_shapes=shapes)
        trace.guards.check(torch.nn.Linear(2, 3), (torch.randn(4, 2),), {})
        print(sorted(m for m in __import__('sys').modules if m.partition('.')[0] in ('guards', 'symbolic_shapes')))
    """
    script = "\n".join(line.strip() for line in script.strip().splitlines())
    pytest.importorskip("torch")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "[]"
