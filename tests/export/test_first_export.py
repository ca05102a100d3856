"""The first export of a process, which does not import TorchDynamo where it does not need it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
DO_WITHOUT = {
    "toy",
    "the_same_input_twice",
    "inputs_that_share_memory",
    "an_input_that_is_a_parameter",
    "asks_whether_it_is_compiled",
    "checkpoints",
}
"""Programs whose export leaves TorchDynamo alone."""

USES = {
    "import": "import torch._dynamo.config; config = torch._dynamo.config",
    "import as": "import torch._dynamo.config as config",
    "from import": "from torch._dynamo import config",
    "attribute": "config = torch._dynamo.config",
}
AFTER = """
import sys, torch
from torch import nn
from torch._subclasses import FakeTensorMode
from dynamo_lite import export

model, x = nn.Sequential(nn.Linear(3, 3), nn.ReLU()), torch.randn(2, 3)
program = export(model, (x,))
settings = sys.modules["torch._dynamo.config"]
assert "torch._dynamo" not in sys.modules and "_dynamo" not in vars(torch)
assert not hasattr(FakeTensorMode.__torch_dispatch__.__wrapped__, "__dynamo_disable")
{use}
assert config is settings and torch._dynamo.config is settings
assert torch._dynamo is sys.modules["torch._dynamo"]
with torch._dynamo.config.patch(recompile_limit=3):
    assert settings.recompile_limit == 3
twice = lambda y: model(y) * (2 if torch._dynamo.is_compiling() else 1)
compiled = torch.compile(twice, backend="eager", fullgraph=True)
assert torch.equal(compiled(x), model(x) * 2)
assert torch.equal(program.module()(x), model(x))
assert torch.equal(export(model, (x,)).module()(x), model(x))
"""


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    return json.loads(_run(str(HERE / "first_exports.py")))


def test_a_first_export_is_the_same_without_torchdynamo(answers: dict[str, Any]) -> None:
    for name, answer in answers.items():
        plain, after = answer["plain"], answer["after"]
        if name == "functional_transforms":  # what its isinstance runs depends on what abc has kept of the run before
            plain, after = (text.partition("GUARDS")[0] for text in (plain, after))
        assert plain == after, name


def test_only_what_needs_torchdynamo_imports_it(answers: dict[str, Any]) -> None:
    assert {name for name in answers if not answers[name]["imported"]} == DO_WITHOUT


@pytest.mark.parametrize("use", USES)
def test_torchdynamo_works_after_an_export_without_it(use: str) -> None:
    _run("-c", AFTER.format(use=USES[use]))


def _run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-W", "ignore", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1] if done.stdout else ""
