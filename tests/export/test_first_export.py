"""The first export of a process, which does not import TorchDynamo where it does not need it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
CHEAP = (
    *("reads_a_setting", "imports_torchdynamo", "lets_go_what_an_import_raises", "inputs_of_rare_kinds", "refused"),
    *("a_side_that_imports", "a_side_that_lets_go_what_an_import_raises", "a_loop_that_imports"),
)
"""Of the programs that do import it, each of which pays for the import, those that the tests run. `python
tests/export/first_exports.py` runs all."""
DO_WITHOUT = {
    "toy",
    "the_same_input_twice",
    "inputs_that_share_memory",
    "an_input_that_is_a_parameter",
    "asks_whether_it_is_compiled",
    "checkpoints",
    "higher_order",
    "branches_on_data",
    "refused",
    "dynamic",
    "dynamic_in_two_inputs",
    "dynamic_with_a_gradient",
    "dynamic_and_of_run_time",
    "lists_of_sizes",
    "a_layer_whose_kernels_are_python",
}
"""Programs whose export leaves TorchDynamo alone."""


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    return json.loads(_run(str(HERE / "first_exports.py"), *sorted(DO_WITHOUT), *CHEAP))


def test_a_first_export_is_the_same_without_torchdynamo(answers: dict[str, Any]) -> None:
    for name, answer in _exports(answers):
        plain, after = answer["plain"], answer["after"]
        assert plain == after, name


def test_only_what_needs_torchdynamo_imports_it(answers: dict[str, Any]) -> None:
    assert {name for name, answer in _exports(answers) if not answer["imported"]} == DO_WITHOUT


CHECKS = (
    *("works_afterwards", "imported_by_a_statement", "imported_by_a_look"),
    *("does_without_dtensor", "imported_in_c", "imported_after_one_in_c"),
)


@pytest.mark.parametrize("check", CHECKS)
def test_torchdynamo_has_nothing_of_a_run(answers: dict[str, Any], check: str) -> None:
    assert answers["checks"][check] == ""


def _exports(answers: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, answer) for name, answer in answers.items() if name != "checks"]


def _run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-W", "ignore", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1] if done.stdout else ""
