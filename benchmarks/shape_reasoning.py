"""decide, ours against torch's ShapeEnv: decided / unknown / wrong and time per query, hand-written and generated.

    python benchmarks/shape_reasoning.py [--queries 300] [--seed 1] [--write]

The truth of a query comes from enumeration (bounded symbols) or from z3 (unbounded, proved). "decidable" counts the
queries that they settle; "wrong" a verdict that an assignment satisfying the facts contradicts. Both environments get
the same facts through their own interface; each query is asked once of a fresh environment (cold).
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import sympy  # noqa: E402
import torch  # noqa: E402
from torch.fx.experimental.symbolic_shapes import ShapeEnv as TorchEnv  # noqa: E402
from torch.utils._sympy import functions as F  # noqa: E402

from symbolic_shapes import ContradictoryFacts, ShapeEnv, as_bool  # noqa: E402
from symbolic_shapes.certificates import verify  # noqa: E402
from symbolic_shapes.z3_backend import NotInZ3, entails  # noqa: E402
from tests.symbolic_shapes.oracle import COMPARE, our_node, python_table, python_value  # noqa: E402

Term = Any
NAMES = "xyz"
POSITIVE = (1, math.inf)
SIZE = (0, math.inf)


@dataclass
class Query:
    """Facts and a question over x, y, z (run-time integers) with ranges."""

    facts: list[Term]
    goal: Term
    ranges: dict[str, tuple[float, float]]


def q(goal: Term, *facts: Term, r: tuple[float, float] = SIZE) -> Query:
    return Query(list(facts), goal, dict.fromkeys(NAMES, r))


HAND_WRITTEN = [
    q(("<=", "x", "z"), ("<=", "x", "y"), ("<=", "y", "z")),
    q(("<", "x", "z"), ("<", "x", "y"), ("<=", "y", "z")),
    q((">=", ("-", "x", ("%", "x", 8)), 0)),
    q(("==", ("%", "x", 2), 0), ("==", ("%", "x", 6), 0)),
    q(("==", ("%", ("*", "x", "y"), 12), 0), ("==", ("%", "x", 4), 0), ("==", ("%", "y", 3), 0)),
    q(("<=", "x", 20), ("==", ("+", "x", "y"), 20)),
    q(("<=", "y", 15), ("==", ("+", "x", "y"), 20), (">=", "x", 5)),
    q(("==", ("//", "x", "y"), 1), ("==", "x", "y"), r=POSITIVE),
    q(("<=", "x", "z"), ("<=", ("*", 2, "x"), ("*", 3, "y")), ("<=", ("*", 3, "y"), ("*", 2, "z"))),
    q(("==", "x", 2), (">=", ("*", 2, "x"), 3), ("<=", ("*", 2, "x"), 5)),
    q((">=", ("*", "x", "y"), "x"), r=POSITIVE),
    q((">=", ("*", ("//", ("+", "x", 7), 8), 8), "x")),
    q(("<=", ("max", "x", "y"), 7), ("<=", "x", 5), ("<=", "y", 7)),
    q(("<=", ("min", "x", "y"), "x")),
    q(("==", ("max", ("*", 8, "x"), ("*", 8, "y")), ("*", 8, ("max", "x", "y")))),
    q(("<=", ("//", "x", "y"), "x"), r=POSITIVE),
    q(("!=", ("*", "x", "y"), 0), r=POSITIVE),
    q(("==", ("*", "x", "y"), "x"), r=(2, math.inf)),
    q(("<=", "x", 100), ("<=", ("*", 64, "x"), 6400)),
    q(("==", "x", "z"), ("==", "x", "y"), ("==", "y", "z")),
    q(("<", ("%", "x", "y"), "y"), r=POSITIVE),
    q(("==", ("+", ("//", "x", 2), ("ceildiv", "x", 2)), "x")),
    q((">=", "x", 8), ("==", ("%", "x", 8), 0), (">", "x", 0)),
    q(("<=", ("*", "x", "z"), ("*", "y", "z")), ("<=", "x", "y")),
    q(("<=", "x", 5)),
    q(("==", "x", "y"), ("<=", "x", "y")),
    q(("==", ("//", "x", -2), ("neg", ("//", "x", 2)))),
]


def generated(rng: random.Random) -> Query:
    """A random question with up to three random facts."""
    def term(depth: int) -> Term:
        if depth == 0 or rng.random() < 0.25:
            return rng.choice(NAMES) if rng.random() < 0.7 else rng.choice([-3, -2, -1, 0, 1, 2, 3, 4, 6, 8])
        op = rng.choice(["+", "+", "-", "*", "//", "%", "max", "min"])
        if op in ("//", "%") and rng.random() < 0.8:
            return (op, term(depth - 1), rng.choice([2, 3, 4, 8, -2, -3]))
        return (op, term(depth - 1), term(depth - 1))

    bounded = rng.random() < 0.5
    ends = [SIZE, SIZE, POSITIVE, (2, math.inf), (-math.inf, math.inf)]
    if bounded:
        ends = [(-4, 4), (0, 5), (1, 6), (2, 5)]
    facts = [(rng.choice(COMPARE), term(1), term(rng.choice([0, 1]))) for _ in range(rng.choice([0, 1, 2, 3]))]
    return Query(facts, (rng.choice(COMPARE), term(2), term(rng.choice([0, 0, 1, 2]))),
                 {n: rng.choice(ends) for n in NAMES})


# -- the truth -----------------------------------------------------------------------------------------------
def truths(query: Query) -> tuple[set[bool], bool | None]:
    """(truth values seen in assignments that satisfy the facts, what is entailed if that could be settled)."""
    bounded = all(math.isfinite(e) for r in query.ranges.values() for e in r)
    axes = [range(int(max(lo, -6)), int(min(hi, 8)) + 1) for lo, hi in query.ranges.values()]
    seen: set[bool] = set()
    for at_zero in (0, 5):
        table = python_table(at_zero)
        for values in itertools.product(*axes):
            point = dict(zip(NAMES, values))
            if all(python_value(f, point, table) for f in query.facts):
                seen.add(bool(python_value(query.goal, point, table)))
        if len(seen) == 2:
            return seen, None
    if len(seen) != 1:
        return seen, None
    only = next(iter(seen))
    if bounded:
        return seen, only
    env = ShapeEnv()
    symbols = {n: env.unbacked(name=n, lo=lo, hi=hi) for n, (lo, hi) in query.ranges.items()}
    try:
        goal = as_bool(our_node(query.goal, symbols))
        proved = entails([our_node(f, symbols) for f in query.facts], goal if only else ~goal, 3_000_000)
    except (NotInZ3, ZeroDivisionError):
        return seen, None
    return seen, only if proved else None


# -- the two environments ---------------------------------------------------------------------------------------
def ask_ours(query: Query) -> tuple[bool | None, float]:
    """(verdict, seconds of the query alone). ContradictoryFacts if the facts cannot hold."""
    env = ShapeEnv()
    symbols = {n: env.unbacked(name=n, lo=lo, hi=hi) for n, (lo, hi) in query.ranges.items()}
    for fact in query.facts:
        env.assume(our_node(fact, symbols))
    goal = our_node(query.goal, symbols)
    start = time.perf_counter()
    answer = env.decide(goal)
    seconds = time.perf_counter() - start
    if answer.certificate is not None:
        verify(answer.certificate)
    return answer.verdict, seconds


def _torch_mod(a: Any, b: Any) -> Any:
    return F.Mod(a, b) if a.is_nonnegative and b.is_positive else F.PythonMod(a, b)


TORCH: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": F.FloorDiv, "%": _torch_mod,
    "max": F.Max, "min": F.Min, "neg": lambda a: -a, "ceildiv": lambda a, b: -F.FloorDiv(-a, b),
    "<": sympy.Lt, "<=": sympy.Le, "==": sympy.Eq, "!=": sympy.Ne, ">": sympy.Gt, ">=": sympy.Ge,
}


def torch_expr(term: Term, symbols: dict[str, Any]) -> Any:
    if isinstance(term, str):
        return symbols[term]
    if isinstance(term, int):
        return sympy.Integer(term)
    return TORCH[term[0]](*(torch_expr(t, symbols) for t in term[1:]))


def ask_torch(query: Query) -> tuple[bool | None, float]:
    """The same of torch's ShapeEnv: facts as runtime asserts, the question by _maybe_evaluate_static."""
    env = TorchEnv()
    symbols = {}
    for name, (lo, hi) in query.ranges.items():
        size = env.create_unbacked_symint()
        symbols[name] = size.node.expr
        env.constrain_symbol_range(
            symbols[name], compiler_min=int(lo) if math.isfinite(lo) else -sys.maxsize - 1,
            compiler_max=int(hi) if math.isfinite(hi) else sys.maxsize - 1)
    for fact in query.facts:
        relation = torch_expr(fact, symbols)
        if relation is not sympy.true:
            env.guard_or_defer_runtime_assert(relation, "fact")
    start = time.perf_counter()
    goal = torch_expr(query.goal, symbols)
    answer = goal if goal in (sympy.true, sympy.false) else env._maybe_evaluate_static(goal)
    seconds = time.perf_counter() - start
    return (None if answer is None else bool(answer)), seconds


# -- the comparison ------------------------------------------------------------------------------------------------
Ask = Callable[[Query], tuple[bool | None, float]]


@dataclass
class Score:
    asked: int = 0
    decidable: int = 0
    decided: int = 0
    wrong: list[Query] = field(default_factory=list)
    failed: int = 0
    times: list[float] = field(default_factory=list)

    def add(self, query: Query, ask: Ask, seen: set[bool], truth: bool | None) -> None:
        self.asked += 1
        self.decidable += truth is not None
        try:
            verdict, seconds = ask(query)
        except ContradictoryFacts:
            if seen:
                self.wrong.append(query)
            return
        except Exception:  # torch raises many kinds; each is counted and shown as "failed"
            if ask is ask_ours:
                raise
            self.failed += 1
            return
        self.times.append(seconds)
        if verdict is not None and (not verdict) in seen:
            self.wrong.append(query)
        elif verdict is not None and truth is not None:
            self.decided += 1

    def row(self, name: str) -> str:
        times = sorted(self.times)
        cells = [name, self.asked, self.decidable, self.decided, f"{self.decided / max(self.decidable, 1):.1%}",
                 len(self.wrong), self.failed, f"{statistics.median(times) * 1e6:.0f}",
                 f"{times[len(times) * 9 // 10] * 1e6:.0f}"]
        return f"| {' | '.join(map(str, cells))} |"


def report(count: int, seed: int) -> str:
    """The table of both environments on both sets of queries."""
    rng = random.Random(seed)
    sets = {"hand-written": HAND_WRITTEN, "generated": [generated(rng) for _ in range(count)]}
    lines = ["| queries, environment | asked | decidable | decided | share | wrong | failed | median µs | p90 µs |",
             "|---|---|---|---|---|---|---|---|---|"]
    details: list[str] = []
    for title, queries in sets.items():
        scores = {"ours": Score(), "torch": Score()}
        ratios = []
        for query in queries:
            try:
                seen, truth = truths(query)
                scores["ours"].add(query, ask_ours, seen, truth)
            except ZeroDivisionError:
                continue  # a constant zero divisor: no question
            scores["torch"].add(query, ask_torch, seen, truth)
            if scores["ours"].times and scores["torch"].times:
                ratios.append(scores["torch"].times[-1] / scores["ours"].times[-1])
        lines += [score.row(f"{title}, {name}") for name, score in scores.items()]
        details.append(f"{title}: torch's time is {statistics.median(ratios):.0f} times ours (median over queries)")
        details += [f"  {title}, {name}, wrong: {w.facts} |- {w.goal}, ranges {w.ranges}"
                    for name, score in scores.items() for w in score.wrong[:5]]
    return "\n".join([*lines, "", *details])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/shape_reasoning.md")
    args = parser.parse_args()
    text = report(args.queries, args.seed)
    print(text)
    if args.write:
        head = ["# Shape reasoning: ours against torch's ShapeEnv", "",
                f"`python benchmarks/shape_reasoning.py --queries {args.queries} --seed {args.seed} --write`, torch "
                f"{torch.__version__}, Python {sys.version.split()[0]}. Cold: every query in a fresh environment, its",
                "facts asserted before; only the query is timed. Truth: enumeration for bounded symbols, z3 for",
                "unbounded ones. Every proof of ours is re-checked by `certificates.verify`.", ""]
        (ROOT / "benchmarks/results/shape_reasoning.md").write_text("\n".join([*head, text, ""]))


if __name__ == "__main__":
    main()
