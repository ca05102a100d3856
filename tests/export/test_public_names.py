"""What `from dynamo_lite import ...` gives, what it costs, and what misuse raises there and in torch."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import dynamo_lite

ROOT = Path(__file__).parents[2]


def test_each_public_name_is_there() -> None:
    assert [name for name in dynamo_lite.__all__ if not hasattr(dynamo_lite, name)] == []
    assert set(dynamo_lite.__all__) <= set(dir(dynamo_lite))
    assert dynamo_lite.Dim is torch.export.Dim and dynamo_lite.unflatten is torch.export.unflatten


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse((ROOT / "dynamo_lite/__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    declared = [alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(map(str, declared)) == sorted(set(dynamo_lite.__all__) - {"errors", "logging"})


def test_the_package_and_its_errors_do_not_import_torch() -> None:
    code = (
        "import sys, dynamo_lite; dynamo_lite.GraphBreak, dynamo_lite.InputMismatch; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


class Scaled(nn.Module):
    def forward(self, x: torch.Tensor, d: dict[str, torch.Tensor], k: int = 2) -> torch.Tensor:
        return x * k + d["a"]


X = torch.randn(3, 4)
ROWS = Dim("rows", min=2, max=9)
MISUSES: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "a size": ((torch.randn(3, 5), {"a": X}, 2), {}),
    "a constant": ((X, {"a": X}, 3), {}),
    "a range": ((torch.randn(12, 4), {"a": torch.randn(12, 4)}, 2), {}),
    "a relation": ((torch.randn(5, 4), {"a": torch.randn(4, 4)}, 2), {}),
    "a number of arguments": ((X, {"a": X}), {}),
    "a keyword": ((X, {"a": X}, 2), {"other": X}),
    "a key": ((X, {"b": X}, 2), {}),
    "a container": ((X, [X], 2), {}),
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_of_a_program_raises_what_torch_raises(name: str) -> None:
    args, kwargs = MISUSES[name]
    found = []
    for export in (torch.export.export, dynamo_lite.export):
        shapes = {"x": {0: ROWS}, "d": {"a": {0: ROWS}}, "k": None}
        program = export(Scaled(), (X, {"a": X}, 2), dynamic_shapes=shapes).module()
        with pytest.raises(Exception) as raised:
            program(*args, **kwargs)
        found.append(raised.value)
    assert isinstance(found[1], type(found[0])) and isinstance(found[1], dynamo_lite.InputMismatch)


@pytest.mark.parametrize("name", ["export", "trace", "draft_export", "explain"])
def test_an_unknown_option_is_named_with_the_nearest_one(name: str) -> None:
    with pytest.raises(dynamo_lite.UnknownKeyword, match="'dynamic_shape': did you mean dynamic_shapes") as raised:
        getattr(dynamo_lite, name)(Scaled(), (X, {"a": X}), dynamic_shape=None)
    assert isinstance(raised.value, TypeError) and isinstance(raised.value, dynamo_lite.InvalidArguments)


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.calls


class OnData(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.sum() > 0 else x - 1


def test_a_draft_of_what_exports_is_the_program() -> None:
    draft = dynamo_lite.draft_export(Scaled(), (X, {"a": X}))
    assert draft and draft.program is not None and not draft.report.problems
    assert torch.equal(draft.program.module()(X, {"a": X}), Scaled()(X, {"a": X}))


@pytest.mark.parametrize("name", ["export", "draft_export"])
def test_every_argument_of_torchs_is_taken(name: str) -> None:
    theirs, ours = (inspect.signature(getattr(library, name)).parameters for library in (torch.export, dynamo_lite))
    assert theirs.keys() <= ours.keys()


def test_a_draft_of_a_module_whose_call_is_preserved() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    draft = dynamo_lite.draft_export(module, (X,), strict=False, preserve_module_call_signature=("0",))
    assert draft and draft.program is not None
    entries = {entry.fqn: entry.signature for entry in draft.program.module_call_graph}
    assert entries["0"] is not None and entries.get("1") is None


def test_a_draft_of_what_is_refused_has_the_report_and_a_program() -> None:
    draft = dynamo_lite.draft_export(Counter(), (X,))
    assert not draft and draft.report.ids == ["python-state"]
    assert draft.program is not None and torch.equal(draft.program.module()(X), X)
    assert "a program for the example only" in str(draft)


def test_a_draft_names_the_answers_of_the_example() -> None:
    draft = dynamo_lite.draft_export(OnData(), (X,), control_flow="refuse")
    assert not draft and draft.report.ids == ["data-dependent-branch"]
    assert draft.program is not None and torch.equal(draft.program.module()(X), OnData()(X))
    assert [taken.answer for taken in draft.taken] == [f"{bool(X.sum() > 0)} in the example"]


def test_a_draft_may_have_no_program() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        y.numpy()[:] = sorted(y.flatten())[0].item()  # no operator shows that it changes y
        return y

    assert dynamo_lite.draft_export(fn, (X,)).program is None


def test_a_draft_keeps_sizes_constant_that_cannot_vary() -> None:
    other = {"x": {0: ROWS}, "d": {"a": {0: Dim("other", min=2, max=9)}}, "k": None}
    draft = dynamo_lite.draft_export(Scaled(), (X, {"a": X}, 2), dynamic_shapes=other)
    assert not draft and draft.report.ids == ["constraint-violation"]
    assert draft.program is not None and not draft.program.range_constraints
