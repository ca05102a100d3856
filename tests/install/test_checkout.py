"""A checkout that is not installed, and one installed with --editable: guards/ and symbolic_shapes/ are the packages
dynamo_lite.guards and dynamo_lite.symbolic_shapes, and are loaded once, whichever name they are imported by."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.install.test_wheel import copied

ROOT = Path(__file__).parents[2]
LOADED = """
import json, sys
import dynamo_lite, torch
trace = dynamo_lite.trace(torch.nn.Linear(2, 3), (torch.randn(2, 2),), dynamic_shapes=({0: torch.export.Dim("n")},))
assert trace.guards.check(torch.nn.Linear(2, 3), (torch.randn(4, 2),), {}, weights="any") is None
files = [(name, module.__file__) for name, module in sys.modules.items() if getattr(module, "__file__", None)]
print(json.dumps([row for row in files if "dynamo_lite" in row[0] or "/guards/" in row[1] or "/symbolic_s" in row[1]]))
"""


@pytest.mark.parametrize(
    "name", ["guards", "guards.source", "symbolic_shapes", "symbolic_shapes.expressions.expr", "symbolic_shapes.dims"]
)
def test_the_name_of_a_folder_gives_the_module_of_the_package(name: str) -> None:
    module = importlib.import_module(f"dynamo_lite.{name}")
    assert importlib.import_module(name) is module
    assert module.__name__ == f"dynamo_lite.{name}"
    assert module.__spec__ is not None and module.__spec__.name == module.__name__


@pytest.mark.parametrize("first", ["guards", "symbolic_shapes"])
def test_a_folder_that_is_imported_before_the_package(first: str) -> None:
    script = f"import {first}; import dynamo_lite.{first} as own; assert {first} is own"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


def test_a_module_that_is_not_there_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"guards\.nothing_of_this_name"):
        importlib.import_module("guards.nothing_of_this_name")


def _once(run: subprocess.CompletedProcess[str], root: Path) -> None:
    """All modules are of the checkout, and none was loaded twice."""
    assert run.returncode == 0, run.stderr
    rows = [(name, file) for name, file in json.loads(run.stdout.splitlines()[-1]) if "site-packages" not in file]
    ours = [(name, file) for name, file in rows if Path(file).is_relative_to(root)]
    assert {name.partition(".")[0] for name, _ in ours} <= {"dynamo_lite", "dynamo_lite_autoload"}
    assert len({file for _, file in ours}) == len(ours) > 300
    assert {name for name, _ in rows if name.startswith("dynamo_lite.")} <= {name for name, _ in ours}
    tops = {Path(file).relative_to(root).parts[0] for _, file in ours}
    assert {"dynamo_lite", "guards", "symbolic_shapes"} <= tops


def test_a_checkout_that_is_not_installed() -> None:
    command = [sys.executable, "-c", LOADED]
    _once(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False), ROOT)


def test_a_checkout_that_is_installed_as_editable(tmp_path: Path) -> None:
    source, site, user = tmp_path / "source", tmp_path / "site", tmp_path / "user"
    copied(source)
    user.mkdir()
    words = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(site), "--editable"]
    subprocess.run([sys.executable, "-m", "pip", *words, str(source)], check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (own,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    for path in site.iterdir():
        shutil.move(path, own)
    (own / "torch.pth").write_text(sysconfig.get_paths()["purelib"])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [tmp_path / "venv" / "bin" / "python", "-c", LOADED]
    run = subprocess.run(command, cwd=user, env=environment, capture_output=True, text=True, check=False)
    _once(run, source)


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
