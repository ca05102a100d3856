"""Mutation tests: does a test fail if one condition of the reasoning is wrong?

    python tools/mutants.py                        # every file of TARGETS (hours)
    python tools/mutants.py certificates laws      # some of them
    python tools/mutants.py certificates --lines 90-130

Each condition, boundary, constant, sign and dropped check of a file (mutations.py) is changed, alone and in memory, and
the tests that are likeliest to see it run in a forked child, with hypothesis derandomized: the same result on each run.
What survives is looked up in mutants_judged.toml, where each survivor has a verdict and the reason for it:

* equivalent: no input tells it from the original;
* weaker:     it only proves less, searches longer, or is worse worded: nothing wrong is ever said;

A survivor without a verdict is a missing test. The exit status is 1 if there is one.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import resource
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
from mutations import Mutant, mutants  # noqa: E402

JUDGED = ROOT / "tools" / "mutants_judged.toml"
MEMORY = 3 << 30
"""Bytes that a child may allocate: a mutant that counts for ever must not take the machine with it."""
CHECKER = ("checker_rules", "checker", "tampering")
TERMS = ("side_conditions", "terms", "canonical", "rounding")
SEARCH = ("decide", "environment", "proofs", "simplify")
TARGETS: dict[str, tuple[str, ...]] = {
    "certificates": CHECKER, "inference": CHECKER, "linear_rules": CHECKER, "bound_rules": CHECKER,
    "congruence_rules": CHECKER, "logic_rules": CHECKER, "laws": CHECKER, "proof": CHECKER,
    "derivations": ("derivation_rules", "simplify"),
    "division": TERMS, "lattice": TERMS, "floats": TERMS, "float_relations": TERMS, "bounds": TERMS,
    "congruences": TERMS, "relations": TERMS, "semantics": TERMS, "rewrite": TERMS, "expr": TERMS,
    "direct": SEARCH, "refutation": SEARCH, "elimination": SEARCH, "differences": SEARCH, "rewriter": SEARCH,
    "knowledge": SEARCH, "known_tables": SEARCH, "decide": SEARCH, "samples": SEARCH, "models": ("models", *SEARCH),
    "reformulations": ("simplify", "guards"), "simplify": ("simplify", "guards"), "guard_set": ("simplify", "guards"),
    "codegen": ("guards_codegen", "guards_admission"), "runtime_asserts": ("guards_runtime",),
    "constraints": ("dims", "suggestions"), "dims": ("dims", "suggestions"), "dim_specs": ("dims", "suggestions"),
    "definitions": ("suggestions",), "suggestions": ("suggestions",), "sympy_bridge": ("canonical", "torch_heads"),
}
"""file of symbolic_shapes -> the tests that are run for it, those that see most in the least time first."""


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module another code."""

    def __init__(self, module: str, code: CodeType) -> None:
        self.module, self.code = module, code

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(name, self) if name == self.module else None

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)


def run_tests(module: str, code: CodeType | None, tests: Sequence[str], timeout: float) -> str:
    """"killed", "survived" or "timeout": the tests in a child in which `module` has this code."""
    child = os.fork()
    if not child:
        _in_child(module, code, tests)
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "survived" if os.waitstatus_to_exitcode(status) == 0 else "killed"
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def _in_child(module: str, code: CodeType | None, tests: Sequence[str]) -> None:
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        if code is not None:
            sys.meta_path.insert(0, Finder(module, code))
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
        import pytest

        os.chdir(ROOT)
        status = int(pytest.main(["-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", *tests]))
    finally:
        os._exit(status)


def preload() -> None:
    """Import what the children need and no mutant changes, once."""
    os.environ |= {"CI": "1", "OMP_NUM_THREADS": "1"}
    for name in ("pytest", "hypothesis", "hypothesis.strategies", "sympy", "z3", "torch"):
        if importlib.util.find_spec(name):
            importlib.import_module(name)


def paths_of(tests: Sequence[str]) -> list[str]:
    return [p for t in tests if (ROOT / (p := f"tests/symbolic_shapes/test_{t}.py")).exists()]


# -- the verdicts ---------------------------------------------------------------------------------------------
def judged() -> dict[tuple[str, str, str], dict[str, str]]:
    """(file, function, change) -> {verdict, why}. A change "*" judges all of a function."""
    if not JUDGED.exists():
        return {}
    rows = tomllib.loads(JUDGED.read_text(encoding="utf-8")).get("judged", [])
    return {(r["file"], r["function"], r["change"]): r for r in rows}


def verdict(name: str, mutant: Mutant, rows: dict[tuple[str, str, str], dict[str, str]]) -> str:
    row = rows.get((name, mutant.function, mutant.change)) or rows.get((name, mutant.function, "*"))
    return row["verdict"] if row else "SURVIVED"


# -- running --------------------------------------------------------------------------------------------------
def run_file(name: str, keep: Callable[[Mutant], bool], timeout: float, say: Callable[[str], None]) -> Counter[str]:
    """The fate of each mutant of a file, counted; survivors are printed as they come."""
    path = ROOT / "symbolic_shapes" / f"{name}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tests, rows = paths_of(TARGETS[name]), judged()
    counts: Counter[str] = Counter()
    for mutant in filter(keep, mutants(tree)):
        counts["mutants"] += 1
        fate = run_tests(f"symbolic_shapes.{name}", mutant.code(tree, str(path)), tests, timeout)
        if fate == "survived":
            fate = verdict(name, mutant, rows)
            say(f"{fate:10} {name}.py:{mutant.line} {mutant.function}: {mutant.change}")
        counts["killed" if fate == "timeout" else fate] += 1
    return counts


def table(results: Iterator[tuple[str, Counter[str]]], out: io.TextIOBase | Any) -> int:
    """Print the results as they come; the number of survivors that nobody has judged."""
    columns = ("mutants", "killed", "equivalent", "weaker", "SURVIVED")
    print(f"| file | {' | '.join(columns[:-1])} | not judged |", "|" + "---|" * 6, sep="\n", file=out, flush=True)
    open_ = 0
    for name, counts in results:
        print(f"| {name}.py | {' | '.join(str(counts[c]) for c in columns)} |", file=out, flush=True)
        open_ += counts["SURVIVED"]
    return open_


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--lines", help="first-last: only mutants in these lines")
    parser.add_argument("--functions", nargs="*", help="only mutants in these functions")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one mutant; one that hangs is killed")
    parser.add_argument("--every", type=int, default=1, help="only each n-th mutant: a sample")
    options = parser.parse_args()
    names = options.files or list(TARGETS)
    first, last = map(int, options.lines.split("-")) if options.lines else (0, sys.maxsize)
    preload()

    def keep(mutant: Mutant) -> bool:
        wanted = not options.functions or mutant.function in options.functions
        return wanted and first <= mutant.line <= last and mutant.number % options.every == 0

    def results() -> Iterator[tuple[str, Counter[str]]]:
        for name in names:
            if run_tests("", None, paths_of(TARGETS[name]), 10 * options.timeout) != "survived":
                raise SystemExit(f"the tests of {name} fail without a mutation")
            yield name, run_file(name, keep, options.timeout, lambda line: print(line, file=sys.stderr, flush=True))

    return 1 if table(results(), sys.stdout) else 0


if __name__ == "__main__":
    sys.exit(main())
