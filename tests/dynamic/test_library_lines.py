"""Errors about lines of installed libraries lead with the user's own line, and leave out frames that pass a call on."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import Dim

import dynamo_lite

LIBRARY = '''
import functools

def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper

@decorated
@decorated
def table(x):
    return x * {4: 2}[x.shape[0]]

@decorated
def shown(x):
    return x * hash(str(x))
'''


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "of_a_library.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module("of_a_library")
    sys.modules.pop("of_a_library", None)


def test_the_users_own_call_comes_first(library: Any) -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        return library.table(y)

    with pytest.raises(dynamo_lite.ConstraintViolation) as info:
        dynamo_lite.export(forward, (torch.ones(4),), dynamic_shapes=({0: Dim("n", min=1, max=9)},))
    lines = str(info.value).splitlines()
    at = next(index for index, line in enumerate(lines) if "because of" in line)
    assert "test_library_lines.py" in lines[at] and lines[at].endswith("`return library.table(y)`")
    assert "of_a_library.py:13 `return x * {4: 2}[x.shape[0]]`" in lines[at + 1]
    assert "n takes 1 of the 9 sizes that it promises: 4" in str(info.value)


def test_the_users_own_line_is_named_once() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * {4: 2}[x.shape[0]]

    with pytest.raises(dynamo_lite.ConstraintViolation) as info:
        dynamo_lite.export(forward, (torch.ones(4),), dynamic_shapes=({0: Dim("n")},))
    assert str(info.value).count("test_library_lines.py") == 1


def test_frames_that_pass_a_call_on_are_left_out(library: Any) -> None:
    with pytest.raises(dynamo_lite.GraphBreak) as info:
        dynamo_lite.export(lambda x: library.shown(x), (torch.ones(4),))
    text = str(info.value)
    assert "  ... 1 frame that passes the call on ..." in text and "function(*args" not in text
    assert "return x * hash(str(x))" in text and "library.shown(x)" in text
