"""Mutation tests: does a test fail if one condition of the reasoning is wrong?

    python tools/mutants.py                        # every file of TARGETS
    python tools/mutants.py linear_rules operator_rules      # some of them
    python tools/mutants.py operator_rules --lines 90-130

Each condition, boundary, constant, sign and dropped check of a file (mutations.py) is changed, alone and in memory, and
the tests that are likeliest to see it run in a forked child (mutant_runs.py), with hypothesis derandomized: the same
result on each run. What survives is looked up in mutants_judged.toml, where it has a verdict and the reason for it:

* equivalent: no input tells it from the original;
* weaker:     it only proves less, searches longer, or is worse worded: nothing wrong is ever said;

A survivor without a verdict is a missing test. The exit status is 1 if there is one. The files of NOT_YET have some:
they are run if they are named.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
from mutant_runs import Runs, preload  # noqa: E402
from mutations import Mutant, mutants  # noqa: E402

JUDGED = ROOT / "tools" / "mutants_judged.toml"
CHECKER = ("checker_rules", "checker")
TERMS = ("operators", "float_operators", "polynomials", "side_conditions", "terms", "rounding", "decide")
SEARCH = ("decide", "environment", "proofs", "simplify")
TARGETS: dict[str, tuple[str, ...]] = {
    "checker": CHECKER, "inference": CHECKER, "linear_rules": CHECKER, "bound_rules": CHECKER,
    "congruence_rules": CHECKER, "logic_rules": CHECKER, "operator_rules": CHECKER,
    "derivations": ("derivation_rules", "simplify"),
    "congruences": TERMS, "division": TERMS, "intervals": TERMS, "piecewise": TERMS, "floats": TERMS,
    "float_relations": TERMS, "relations": TERMS, "substitution": TERMS, "evaluation": TERMS,
}
"""file of symbolic_shapes -> the tests that are run for it. No survivor of these is without a verdict."""
NOT_YET: dict[str, tuple[str, ...]] = {
    "expr": TERMS, "proof": ("checker", "tampering"),
    "propagation": SEARCH, "refutation": SEARCH, "elimination": SEARCH, "differences": SEARCH, "rewriter": SEARCH,
    "knowledge": SEARCH, "prover/tables": SEARCH, "decide": SEARCH, "samples": SEARCH, "models": ("models", *SEARCH),
    "reformulations": ("simplify", "guards"), "simplify": ("simplify", "guards"), "guard_set": ("simplify", "guards"),
    "codegen": ("guards_codegen", "guards_admission"), "runtime_asserts": ("guards_runtime",),
    "violations": ("dims", "suggestions"), "symbols": ("dims", "suggestions"), "specs": ("dims", "suggestions"),
    "dim_source": ("suggestions",), "suggestions": ("suggestions",), "plain": ("canonical", "torch_heads"),
    "converters": ("canonical", "torch_heads"),
}
"""The same for files whose survivors are not judged yet."""
COLUMNS = ("mutants", "killed", "equivalent", "weaker", "SURVIVED")


def path_of(name: str) -> Path:
    """The file of symbolic_shapes with this name (with its folder where there are two)."""
    [found] = (ROOT / "symbolic_shapes").glob(f"**/{name}.py")
    return found


def paths_of(tests: Sequence[str]) -> list[str]:
    return [p for t in tests if (ROOT / (p := f"tests/symbolic_shapes/test_{t}.py")).exists()]


def judged() -> dict[tuple[str, str, str], str]:
    """(file, function, change) -> verdict."""
    rows = tomllib.loads(JUDGED.read_text(encoding="utf-8")).get("judged", []) if JUDGED.exists() else []
    return {(r["file"], function, change): r["verdict"]
            for r in rows for function in r["functions"] for change in r["changes"]}


def run_file(name: str, options: argparse.Namespace) -> Counter[str]:
    """The fate of each mutant of a file, counted; survivors are printed as they come."""
    path = path_of(name)
    tree, rows, counts = ast.parse(path.read_text(encoding="utf-8")), judged(), Counter[str]()
    first, last = map(int, options.lines.split("-")) if options.lines else (0, sys.maxsize)
    wanted = [m for m in mutants(tree) if first <= m.line <= last and m.number % options.every == 0
              and (not options.functions or m.function in options.functions)]
    named = [f"tests/symbolic_shapes/test_{t}.py" for t in options.tests or ()]
    tests = named or paths_of((TARGETS | NOT_YET)[name])
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    runs = Runs(f"dynamo_lite.{module}", tree, str(path), tests, options.timeout)
    for mutant, fate in runs.fates(wanted):
        if fate == "survived":
            fate = rows.get((name, mutant.function, mutant.change), "SURVIVED")
            _say(fate, name, mutant)
        counts["mutants"] += 1
        counts["killed" if fate == "timeout" else fate] += 1
    return counts


def _say(fate: str, name: str, mutant: Mutant) -> None:
    print(f"{fate:10} {name}.py:{mutant.line} {mutant.function}: {mutant.change}", file=sys.stderr, flush=True)


def table(results: Iterator[tuple[str, Counter[str]]]) -> int:
    """Print the results as they come; the number of survivors that are not judged."""
    print(f"| file | {' | '.join(COLUMNS[:-1])} | not judged |", "|" + "---|" * 6, sep="\n", flush=True)
    total = Counter[str]()
    for name, counts in results:
        print(f"| {name}.py | {' | '.join(str(counts[c]) for c in COLUMNS)} |", flush=True)
        total += counts
    print(f"| all | {' | '.join(str(total[c]) for c in COLUMNS)} |", flush=True)
    return total["SURVIVED"]


def main() -> int:
    parser = argparse.ArgumentParser(description="Which changes of the reasoning does no test see?")
    parser.add_argument("files", nargs="*", metavar="file",
                        help=f"judged, and the default: {', '.join(TARGETS)}; not yet: {', '.join(NOT_YET)}")
    parser.add_argument("--lines", help="first-last: only mutants in these lines")
    parser.add_argument("--functions", nargs="*", help="only mutants in these functions")
    parser.add_argument("--tests", nargs="*", help="other tests than those of TARGETS")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one mutant; one that hangs is killed")
    parser.add_argument("--every", type=int, default=1, help="only each n-th mutant: a sample")
    options = parser.parse_args()
    os.chdir(ROOT)
    preload()
    return 1 if table((name, run_file(name, options)) for name in options.files or TARGETS) else 0


if __name__ == "__main__":
    sys.exit(main())
