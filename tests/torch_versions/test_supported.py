"""Which torch is accepted: the range of pyproject.toml, and what an import says on a version that is not in it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch

from dynamo_lite.symbolic_shapes.torch_versions import (
    NEWEST,
    OLDEST,
    TorchVersionWarning,
    Variant,
    applies,
    check,
    current,
)
from dynamo_lite.symbolic_shapes.torch_versions.supported import CHECKED, parse

ROOT = Path(__file__).parents[2]


def test_the_range_is_that_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    after = f"{NEWEST[0]}.{NEWEST[1] + 1}"
    assert f"torch>={OLDEST[0]}.{OLDEST[1]},<{after}" in project["dependencies"]
    assert [parse(v) for v in CHECKED] == [(2, minor) for minor in range(OLDEST[1], NEWEST[1] + 1)]


@pytest.mark.parametrize("version", ["2.13.0", "2.13.0+cpu", "2.14.1", "2.15.0+cu132"])
def test_a_tested_version_is_silent(
    version: str, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    check()
    assert not recwarn.list


@pytest.mark.parametrize("version", ["2.12.1", "2.9.0", "1.13.1"])
def test_one_that_is_too_old(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    with pytest.raises(ImportError, match=rf"torch 2\.13 or newer, and torch {version} is installed: pip install"):
        check()


@pytest.mark.parametrize("version", ["2.16.0", "2.16.0.dev20270101+cpu", "3.0.0"])
def test_a_newer_one(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    with pytest.warns(TorchVersionWarning) as caught:
        check()
    assert len(caught) == 1 and f"torch {version} is installed" in str(caught[0].message)
    assert "doctor" in str(caught[0].message)


_EXPORT = """
import warnings, torch
torch.__version__ = "2.16.0"
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import dynamo_lite
    sizes = ({0: torch.export.Dim("n")},)
    program = dynamo_lite.export(torch.nn.Linear(2, 3), (torch.ones(4, 2),), dynamic_shapes=sizes)
print([str(w.message)[:60] for w in caught if "dynamo-lite" in str(w.message)])
print(program.module()(torch.ones(5, 2)).shape)
"""


@pytest.mark.skipif(torch.__version__[:4] != "2.15", reason="a newer torch is taken for the newest that is known")
def test_an_unknown_version_warns_once_and_runs() -> None:
    run = [sys.executable, "-c", _EXPORT]
    done = subprocess.run(run, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("dynamo-lite is tested with torch 2.13 to 2.15") == 1 and "[5, 3]" in done.stdout


@pytest.mark.parametrize(("version", "value"), [((2, 13), "old"), ((2, 14), "new"), ((2, 16), "new")])
def test_one_variant_holds(version: tuple[int, int], value: str) -> None:
    rows = Variant("old", until=(2, 14)), Variant("new", since=(2, 14))
    assert current(*rows, version=version) == value
    assert [applies(row, version) for row in rows] == [value == "old", value == "new"]


def test_no_variant_holds() -> None:
    with pytest.raises(LookupError, match="0 variants hold for torch"):
        current(Variant(1, until=(2, 14)), version=(2, 15))
