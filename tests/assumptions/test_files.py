"""A file that the program has read is a condition of it, and a directory that it would make is not made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

import dynamo_lite
from dynamo_lite.errors import GraphBreak


def test_a_file_that_has_changed_fails_the_guard(tmp_path: Path) -> None:
    path = tmp_path / "factor.txt"
    path.write_text("3")

    def forward(x: torch.Tensor) -> torch.Tensor:
        with open(path) as file:
            return x * int(file.read())

    trace = dynamo_lite.trace(forward, (torch.ones(2),))
    assert trace.guards.check(forward, (torch.ones(2),)) is None
    path.write_text("44")
    assert str(path) in str(trace.guards.check(forward, (torch.ones(2),)))


def test_a_file_that_appears_fails_the_guard(tmp_path: Path) -> None:
    path = tmp_path / "flag"

    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if os.path.exists(path) else x

    trace = dynamo_lite.trace(forward, (torch.ones(2),))
    assert trace.guards.check(forward, (torch.ones(2),)) is None
    path.touch()
    assert "exists" in str(trace.guards.check(forward, (torch.ones(2),)))


def test_a_directory_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "cache"

    def forward(x: torch.Tensor) -> torch.Tensor:
        if not path.exists():
            os.makedirs(path)
        os.makedirs(tmp_path / "other", exist_ok=True)
        return x + 1

    trace = dynamo_lite.trace(forward, (torch.ones(2),))
    assert not os.listdir(tmp_path)
    assert sum("does not make" in str(note) for note in trace.notes) == 2


def test_what_is_in_a_directory_that_eager_would_have_made_is_not_known(tmp_path: Path) -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        os.makedirs(tmp_path / "cache", exist_ok=True)
        return x * 2 if (tmp_path / "cache" / "table").exists() else x

    with pytest.raises(GraphBreak, match="outside-world"):
        dynamo_lite.trace(forward, (torch.ones(2),))
