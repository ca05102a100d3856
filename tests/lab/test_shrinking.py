"""Programs that a wrong exporter gets wrong, reduced to a few lines."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dynamo_lite.lab import generated, programs
from dynamo_lite.lab.commands import app
from dynamo_lite.lab.judge import judge
from dynamo_lite.lab.shrinking import Shrinker, Shrunk, edits
from tests.lab import toys


def shrunk(seed: int, toy: toys.Toy, most: int = 2000) -> Shrunk:
    return Shrinker(toy, most=most).shrink(generated.source(seed))


def statements(text: str) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(text)))


def test_a_result_that_is_remembered() -> None:
    found = shrunk(6, toys.Recorded())
    assert found.answer.verdict == "wrong" and not found.answer.want.startswith("raises")
    assert statements(found.source) <= 10
    again = judge(programs.of_source("generated.again", found.source, "the reduced program"), toys.Recorded())
    assert again.verdict == "wrong"


def test_the_statement_that_matters_is_left() -> None:
    """A toy that is wrong only where a list of the module has grown."""
    text = generated.complete(
        [
            "z = torch.tanh(z + x)",
            "if self.n > 0:",
            "    self.xs.append(k); k = len(self.xs)",
            "z = z * self.w",
            "return z, k",
        ],
        generated.PLAIN,
        generated.Signature(),
    )
    found = Shrinker(ForgetsLists()).shrink(text)
    assert "self.xs.append" in found.source and "tanh" not in found.source and "if " not in found.source
    assert statements(found.source) <= 12


class ForgetsLists(toys.Toy):
    """Puts lists of the module back after each call."""

    def export(self, module: object, args: object, kwargs: object, dynamic_shapes: object) -> object:
        def call(*args: object, **kwargs: object) -> object:
            lists = {name: [*value] for name, value in vars(module).items() if type(value) is list}
            try:
                return module(*args, **kwargs)  # type: ignore[operator]
            finally:
                for name, value in lists.items():
                    getattr(module, name)[:] = value

        return call


def test_a_refusal_keeps_its_reason() -> None:
    found = shrunk(3, toys.Refuses())
    assert (found.answer.verdict, found.answer.text) == ("refused", "NotImplementedError: never")


def test_a_program_that_is_right() -> None:
    with pytest.raises(ValueError, match="gets this program right"):
        Shrinker(toys.Toy()).shrink("import torch\n\ndef build():\n    return torch.nn.ReLU(), (torch.ones(2),)\n")


def test_no_more_programs_than_allowed() -> None:
    assert shrunk(3, toys.Recorded(), most=10).tried <= 11


def test_each_reduction_is_a_program() -> None:
    """The text of every edit compiles, if it is not left with a tree that Python cannot have."""
    text = generated.source(17)
    for number in range(0, len([*edits(ast.parse(text))]), 7):
        tree = ast.parse(text)
        [*edits(tree)][number]()
        ast.parse(ast.unparse(ast.fix_missing_locations(tree)))


def _lab(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "small.py"
    done = _lab("shrink", "generated.3", "--exporter", "tests.lab.toys:Refuses", "--out", path)
    assert done.exit_code == 0 and done.stdout.startswith("# refused: "), done.output
    assert statements(path.read_text(encoding="utf-8")) <= 10
    assert _lab("shrink", "state.counter", "--exporter", "eager").exit_code == 2
    assert _lab("shrink", "generated.3", "--exporter", "eager").exit_code == 2
