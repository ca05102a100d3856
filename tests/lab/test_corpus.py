"""The corpus: ids, classes, sources; nothing of it is loaded as a part of the package."""

from __future__ import annotations

import re
from pathlib import Path

import torch

import dynamo_lite
from dynamo_lite.lab import programs

ROOT = Path(dynamo_lite.__file__).parent


def test_eight_classes() -> None:
    expected = ["after_export", "aliasing", "control_flow", "gradients", "guards", "language", "sizes", "state"]
    assert programs.classes() == expected
    assert all(len(programs.of_class(name)) >= 12 for name in expected)


def test_ids_are_unique_and_found() -> None:
    ids = list(programs.chosen([]))
    assert len(set(ids)) == len(ids) >= 120
    assert all(programs.find(id).id == id and programs.find(id).tests for id in ids)


def test_the_source_is_that_of_the_program() -> None:
    assert programs.find("aliasing.input_returned").source.startswith("def input_returned() -> Example:\n")
    assert "return" in programs.find("generated.3").source


def test_a_program_is_always_the_same() -> None:
    one, other = (programs.find("language.generator").example() for _ in range(2))
    assert torch.equal(one.args[0], other.args[0]) and one.program is not other.program


def test_random_modules_by_seed() -> None:
    assert list(programs.chosen(["generated"], 5, 3)) == ["generated.5", "generated.6", "generated.7"]


def test_programs_are_a_users_code() -> None:
    module = type(programs.find("state.counter").example().program).__module__
    assert module == "lab_programs.state"


def test_nothing_of_the_package_imports_it() -> None:
    paths = [path for path in ROOT.rglob("*.py") if "lab" not in path.relative_to(ROOT).parts]
    imports = re.compile(r"(?:import|from) dynamo_lite\.lab\b|import lab\b")
    assert [path for path in paths if imports.search(path.read_text(encoding="utf-8"))] == []
