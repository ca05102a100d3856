"""The mutations of tools/mutations.py: each is one change, and the tree is as before."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SOURCE = '''
LIMIT = 8

def f(x, y):
    """Words."""
    assert x is not None
    if x < y and not y:
        raise ValueError("no")
    return min(x + 1, LIMIT)

class C:
    def g(self, ends):
        return ends[1] // 2 if self.lo == "lo" else [e for e in ends if e is not True]
'''

CHANGES = {
    "": {"8 -> 9"},
    "f": {
        "x < y and (not y) -> True", "x < y and (not y) -> False", "x < y and (not y) -> not y", "x < y -> x <= y",
        "x < y and (not y) -> x < y", "not y -> y", "raise ValueError('no') -> pass", "min -> max", "x + 1 -> x - 1",
        "1 -> 2",
    },
    "C.g": {
        "self.lo == 'lo' -> True", "self.lo == 'lo' -> False", "self.lo == 'lo' -> self.lo != 'lo'", "'lo' -> 'hi'",
        "self.lo -> self.hi", "ends[1] // 2 -> -(-ends[1] // 2)", "1 -> 0", "2 -> 3", "True -> False",
        "e is not True -> True", "e is not True -> False", "e is not True -> e is True",
    },
}


def test_each_place_is_changed_alone() -> None:
    tree = ast.parse(SOURCE)
    before, mutants = ast.dump(tree), list(load("mutations").mutants(tree))
    assert {(m.function, m.change) for m in mutants} == {(f, c) for f, changes in CHANGES.items() for c in changes}
    assert len(mutants) == sum(map(len, CHANGES.values()))
    codes = {m.change: m.code(tree, "f.py") for m in mutants}
    assert ast.dump(tree) == before
    for change, expected in (("1 -> 2", 4), ("x + 1 -> x - 1", 1), ("min -> max", 8), ("not y -> y", ValueError),
                             ("raise ValueError('no') -> pass", 3)):
        names: dict[str, Any] = {}
        exec(codes[change], names)
        try:
            assert names["f"](2, 3) == expected, change
        except ValueError:
            assert expected is ValueError
    assert {m.outermost for m in mutants} == {"", "f", "C.g"}


def test_files_and_tests_of_the_tables_are_there() -> None:
    pytest.importorskip("resource")  # Pyodide has none
    load("mutations")
    load("mutant_runs")
    tool = load("mutants")
    for name, tests in (tool.TARGETS | tool.NOT_YET).items():
        assert tool.path_of(name).is_file()
        assert len(tool.paths_of(tests)) == len(tests), name
    assert {file for file, _, _ in tool.judged()} <= tool.TARGETS.keys()
