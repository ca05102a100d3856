"""`dynamo_lite.as_torch_export`: torch.export.export, wherever it was imported, is ours within the block."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim, ExportedProgram
from torch.export import export as imported_before

import dynamo_lite


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return self.layer(x) * scale


class Refused(nn.Module):
    """dynamo-lite refuses it (the counter is Python state that grows); torch's non-strict mode exports it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x + self.calls


X = torch.randn(3, 4)


def is_ours(program: ExportedProgram) -> bool:
    return hasattr(program, "trace")


def test_every_reference_to_torch_s_export_is_ours_within_the_block() -> None:
    with dynamo_lite.as_torch_export():
        found = [torch.export.export(Model(), (X,)), imported_before(Model(), (X,), strict=False)]
    assert all(map(is_ours, found))
    assert not is_ours(imported_before(Model(), (X,)))


def test_arguments_reach_the_export() -> None:
    model = Model()
    with dynamo_lite.as_torch_export():
        program = torch.export.export(model, (X,), {"scale": 2.0}, dynamic_shapes={"x": {0: Dim("n")}, "scale": None})
    other = torch.randn(7, 4)
    assert torch.equal(program.module()(other, scale=2.0), model(other, 2.0))


def test_blocks_nest_and_end_with_an_error_too() -> None:
    with dynamo_lite.as_torch_export():
        with pytest.raises(ValueError), dynamo_lite.as_torch_export(effects="drop"):
            assert is_ours(torch.export.export(Refused(), (X,)))
            raise ValueError
        with pytest.raises(dynamo_lite.errors.GraphBreak):
            torch.export.export(Refused(), (X,))
    assert not is_ours(torch.export.export(Model(), (X,)))


def test_a_refusal_is_what_torch_s_callers_catch() -> None:
    from torch._dynamo.exc import TorchDynamoException

    with dynamo_lite.as_torch_export(), pytest.raises(TorchDynamoException) as raised:
        torch.export.export(Refused(), (X,))
    assert isinstance(raised.value, dynamo_lite.errors.GraphBreak)


def test_the_fallback_is_torch_s_own_and_says_why() -> None:
    with dynamo_lite.as_torch_export(fallback="torch"):
        with pytest.warns(UserWarning, match="self.calls \\+= 1") as seen:
            program = torch.export.export(Refused(), (X,), strict=False)
        assert len([row for row in seen if "dynamo-lite" in str(row.message)]) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert is_ours(torch.export.export(Model(), (X,)))
    assert not is_ours(program)


def test_errors_of_the_program_are_the_program_s() -> None:
    with dynamo_lite.as_torch_export(fallback="torch"), pytest.raises(RuntimeError, match="mat1 and mat2"):
        torch.export.export(Model(), (torch.randn(3, 5),))


@pytest.mark.parametrize("options", [{"effects": "keep"}, {"fallback": "onnx"}])
def test_unknown_words_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(dynamo_lite.errors.InvalidArguments), dynamo_lite.as_torch_export(**options):
        pass


def test_it_holds_in_other_threads() -> None:
    found: list[bool] = []
    with dynamo_lite.as_torch_export():
        thread = threading.Thread(target=lambda: found.append(is_ours(imported_before(Model(), (X,)))))
        thread.start()
        thread.join()
    assert found == [True]


@pytest.mark.parametrize(("value", "expected"), [("1", "True"), ("0", "False"), ("", "False")])
def test_the_environment_variable_needs_no_change_of_a_script(value: str, expected: str, tmp_path: Path) -> None:
    script = """
        import torch
        print(hasattr(torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),)), "trace"))
    """
    environment = os.environ | {"DYNAMO_LITE_AS_TORCH_EXPORT": value}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == expected, done.stderr
