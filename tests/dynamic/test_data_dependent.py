"""A question about data is refused, and the torch._check that the message names settles it: it is pasted back."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import DataDependent

from .data_dependent_programs import PROGRAMS
from .test_python_sizes import assert_same

ADVICE = re.compile(r'before line (\d+) of "(.*)" \(in (\w+)\):\n((?:    torch\._check\(.*\)\n)+)')


def arguments() -> tuple[torch.Tensor, ...]:
    return torch.linspace(-2, 3, 24).view(6, 4), torch.tensor([3, 1, 2]), torch.tensor(2)


def load(source: str, path: Path) -> nn.Module:
    path.write_text(source)
    module = ModuleType(path.stem)
    # Not imported: of two texts of one length and second, the import system takes the byte code that it wrote first.
    exec(compile(source, str(path), "exec"), vars(module))

    class Model(nn.Module):
        def forward(self, x, t, k):
            return module.forward(x, t, k)

    return Model()


def refusal(model: nn.Module) -> DataDependent | None:
    try:
        dynamo_lite.export(model, arguments(), control_flow="refuse")
    except DataDependent as error:
        return error
    return None


def advice(error: DataDependent, path: Path) -> tuple[int, list[str]]:
    """(line, checks) that the message names."""
    found = ADVICE.search(str(error))
    assert found is not None, str(error)
    assert found[2] == str(path)
    checks = [line.strip() for line in found[4].splitlines()]
    assert [check.code for check in error.checks] == checks
    return int(found[1]), checks


def insert(source: str, line: int, code: str) -> str:
    lines = source.split("\n")
    indent = lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]
    return "\n".join([*lines[: line - 1], indent + code, *lines[line - 1 :]])


def holds(model: Callable[..., Any]) -> bool:
    """Whether eager gets through the checks."""
    try:
        model(*arguments())
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_check_settles_the_question(name: str, tmp_path: Path) -> None:
    plain = source = "import torch\n" + PROGRAMS[name]
    count = 0
    model = load(source, tmp_path / f"{name}_0.py")
    while (error := refusal(model)) is not None:
        path = tmp_path / f"{name}_{count}.py"
        line, checks = advice(error, path)
        count += 1
        assert count < 8
        choices = [insert(source, line, check) for check in checks]
        models = [load(choice, tmp_path / f"{name}_{count}.py") for choice in choices[::-1]][::-1]
        right = next(i for i, candidate in enumerate(models) if holds(candidate))
        source = choices[right]
        model = load(source, tmp_path / f"{name}_{count}.py")
    assert count
    program = dynamo_lite.export(model, arguments()).module()
    assert_same(program(*arguments()), load(plain, tmp_path / f"{name}_plain.py")(*arguments()))


@pytest.mark.parametrize("name", ["if_on_an_item", "size_of_nonzero", "bool_item", "in_a_helper", "float_item"])
def test_the_other_check_settles_it_too_and_is_asserted_at_run_time(name: str, tmp_path: Path) -> None:
    source = "import torch\n" + PROGRAMS[name]
    path = tmp_path / f"{name}.py"
    error = refusal(load(source, path))
    assert error is not None
    line, checks = advice(error, path)
    wrong = [insert(source, line, check) for check in checks]
    (other,) = [i for i, text in enumerate(wrong) if not holds(load(text, tmp_path / f"wrong_{i}.py"))]
    program = dynamo_lite.export(load(wrong[other], tmp_path / f"wrong_{other}.py"), arguments()).module()
    with pytest.raises(RuntimeError):
        program(*arguments())


def test_the_program_cannot_catch_the_refusal(tmp_path: Path) -> None:
    source = "import torch\n" + PROGRAMS["try_block"]
    error = refusal(load(source, tmp_path / "program.py"))
    assert error is not None and error.frame is not None
    assert error.frame.source == "if n > 1:"


def test_torchs_own_classes_catch_it(tmp_path: Path) -> None:
    from torch._dynamo.exc import UserError
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

    model = load("import torch\n" + PROGRAMS["if_on_an_item"], tmp_path / "program.py")
    for kind in (UserError, GuardOnDataDependentSymNode):
        with pytest.raises(kind):
            dynamo_lite.export(model, arguments(), control_flow="refuse")


def test_a_number_names_what_needs_it(tmp_path: Path) -> None:
    source = "import torch\ndef forward(x, t, k):\n    n = k.item()\n    return [x * i for i in range(n)]\n"
    error = refusal(load(source, tmp_path / "program.py"))
    assert error is not None and error.id == "data-dependent-value"
    assert "range() needs it" in str(error) and "torch._check(n == N)" in str(error)
    settled = source.replace("    return", "    torch._check(n == 2)\n    return")
    model = load(settled, tmp_path / "settled.py")
    program = dynamo_lite.export(model, arguments()).module()
    assert_same(program(*arguments()), model(*arguments()))
    with pytest.raises(RuntimeError):
        program(*arguments()[:2], torch.tensor(3))
