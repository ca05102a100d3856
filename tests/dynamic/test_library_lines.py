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

def first(k, x):
    count = k.item()
    return x[:3] if count > 1 else x

def doubled(x):
    count = (x > 0).sum().item()
    return x * 2 if count > 1 else x
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


def test_checks_are_proposed_for_the_users_own_code(library: Any) -> None:
    def forward(k: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return library.first(k, x)

    def checked(k: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        torch._check(k.item() >= 2)
        return library.first(k, x)

    args = (torch.tensor(2), torch.randn(4))
    with pytest.raises(dynamo_lite.GraphBreak) as info:
        dynamo_lite.export(forward, args, control_flow="refuse")
    text = str(info.value)
    assert "Whether count >= 2 holds" in text and "torch._check(k.item() >= 2)" in text
    assert f'before line {forward.__code__.co_firstlineno + 1} of "{__file__}" (in forward)' in text
    program = dynamo_lite.export(checked, args, control_flow="refuse").module()
    torch.testing.assert_close(program(*args), forward(*args))


def test_no_check_is_proposed_for_the_code_of_a_library(library: Any) -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return library.doubled(x)

    with pytest.raises(dynamo_lite.GraphBreak) as info:
        dynamo_lite.export(forward, (torch.randn(4),), control_flow="refuse")
    assert "Whether count >= 2 holds" in str(info.value) and "torch._check" not in str(info.value)
