"""docs/artifact.md and the Containerfile name commands, options, files and make targets that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("typer")
import typer

from dynamo_lite.lab import exporters, programs
from dynamo_lite.lab.commands import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "artifact.md").read_text("utf-8")
CONTAINER = (ROOT / "Containerfile").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def test_the_targets_of_make() -> None:
    targets = set(re.findall(r"`make ([a-z-]+)`|^ +make ([a-z-]+)", PAGE, re.MULTILINE))
    names = {name for pair in targets for name in pair if name}
    assert {"demo", "tables-smoke"} <= names
    assert all(f"\n{name}: " in MAKEFILE for name in names)


def test_the_commands_of_the_laboratory() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    found = re.findall(r"python -m dynamo_lite\.lab ([a-z]+)([^`\n]*)", PAGE)
    assert {name for name, _ in found} == {"run", "report", "shrink", "verify"}
    for name, words in found:
        options = {option for parameter in commands[name].params for option in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", words)) <= options, words
        for exporter in set(re.findall(r"--exporter (\S+)", words)) - {"NAME"}:
            assert exporters.load(exporter).version
        for kinds in re.findall(r"--classes ([a-z_,]+)", words):
            assert set(kinds.split(",")) <= set(programs.classes())


def test_the_files_that_are_named() -> None:
    paths = [*re.findall(r"`([\w./]+)`", PAGE), *re.findall(r"pytest -q ([\w./]+)", PAGE)]
    files = [path for path in paths if "/" in path or path.endswith((".txt", ".cff"))]
    assert files and [path for path in files if not (ROOT / path).exists()] == []


def test_the_container_installs_what_make_installs() -> None:
    (image,) = re.findall(r"^FROM \S+/python:(\d+\.\d+)-", CONTAINER, re.MULTILINE)
    assert re.findall(r"^RUN make (\S+)$", CONTAINER, re.MULTILINE) == [f".venv/.installed-{image}"]
    assert "STAMP := $(VENV)/.installed-$(VERSION)" in MAKEFILE and f'"{image}"' in (
        ROOT / "tools/find_python.sh"
    ).read_text("utf-8")
