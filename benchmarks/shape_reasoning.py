"""decide, ours against torch's ShapeEnv: decided / unknown / wrong and time per query.

    python benchmarks/shape_reasoning.py [--queries 300] [--per-family 40] [--seed 1] [--write]

Queries are hand-written, random terms, and families of what shape programs ask (shape_queries.py). Their truth comes
from enumeration (bounded symbols) or from z3 (unbounded, proved): shape_truth.py. "decidable" counts the queries that
they settle; "wrong" a verdict that an assignment satisfying the facts contradicts. Both environments get the same facts
through their own interface. A query is its expression and the answer, in a fresh environment (cold). Ours remembers
nothing of an environment that is gone; the caches of sympy and torch are global, so they are cleared before each of
torch's queries. For comparison all are asked of torch once more, with what these caches hold from the queries before.
Garbage is collected between the sets of queries only, as timeit does.
"""

from __future__ import annotations

import argparse
import gc
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
import torch.utils._sympy.solve  # noqa: E402
import torch.utils._sympy.value_ranges  # noqa: E402
from sympy.core.cache import clear_cache  # noqa: E402
from torch.fx.experimental import symbolic_shapes as symbolic_shapes_of_torch  # noqa: E402
from torch.utils._sympy import functions as F  # noqa: E402

from benchmarks.shape_queries import FAMILIES  # noqa: E402
from benchmarks.shape_terms import POSITIVE, SIZE, Query, Term  # noqa: E402
from benchmarks.shape_truth import truths  # noqa: E402
from dynamo_lite.symbolic_shapes import ContradictoryFacts, ShapeEnv  # noqa: E402
from dynamo_lite.symbolic_shapes.proofs.checker import verify  # noqa: E402
from tests.symbolic_shapes.oracle import COMPARE, our_node  # noqa: E402

NAMES = "xyz"


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
    q(("==", ("%", "x", 4), 0), ("==", ("%", "x", 12), 0)),
    q(("==", ("%", ("+", "x", "y"), 2), 0), ("==", ("%", "x", 2), 1), ("==", ("%", "y", 2), 1)),
    q(("==", ("%", "x", 6), 0), ("==", ("%", "x", 2), 0), ("==", ("%", "x", 3), 0)),
    q(("!=", "x", "y"), ("==", ("%", "x", 2), 0), ("==", ("%", "y", 2), 1)),
    q((">", ("%", ("neg", "x"), 8), 0), ("!=", ("%", "x", 8), 0)),
    q(("<=", ("+", "x", ("%", ("neg", "x"), 8)), ("+", "x", 7))),
    q(("==", ("//", ("//", "x", 4), 2), ("//", "x", 8))),
    q(("==", ("ceildiv", ("ceildiv", "x", 4), 2), ("ceildiv", "x", 8))),
    q(("<=", ("//", "x", 3), ("//", "y", 3)), ("<=", "x", "y")),
    q((">=", ("//", "x", "y"), 1), (">=", "x", "y"), r=POSITIVE),
    q(("==", ("//", "x", "y"), 0), ("<", "x", "y")),
    q(("==", ("%", "x", "y"), "x"), ("<", "x", "y")),
    q(("==", ("//", ("*", "x", "y"), "y"), "x"), r=POSITIVE),
    q(("==", ("%", ("*", "x", "y"), "y"), 0)),
    q(("==", ("*", ("//", "x", "y"), "y"), "x"), ("==", ("%", "x", "y"), 0), r=POSITIVE),
    q(("==", "z", "y"), ("==", ("*", "x", "y"), ("*", "x", "z")), r=POSITIVE),
    q(("==", ("//", "z", "x"), "y"), ("==", "z", ("*", "x", "y")), r=POSITIVE),
    q(("<", "x", ("*", "x", "y")), (">=", "y", 2), r=POSITIVE),
    q(("<=", ("+", "x", "y"), ("+", "z", 20)), ("<=", "x", "z"), ("<=", "y", 20)),
    q(("==", "x", 10), ("==", ("+", "x", "y"), 14), ("==", ("-", "x", "y"), 6)),
    q(("==", ("+", "x", ("*", 2, "y")), 7), ("==", ("*", 2, "x"), 5)),
    q(("<=", "z", 8), ("==", ("+", ("+", "x", "y"), "z"), 20), (">=", "x", 5), (">=", "y", 7)),
    q(("<=", ("*", 3, "x"), 20), ("==", ("+", ("+", "x", "y"), "z"), 20), ("<=", "x", "y"), ("<=", "y", "z")),
    q(("==", ("+", ("min", "x", "y"), ("max", "x", "y")), ("+", "x", "y"))),
    q(("==", ("min", "x", ("max", "x", "y")), "x")),
    q(("==", ("max", ("min", "x", "y"), ("min", "x", "z")), ("min", "x", ("max", "y", "z")))),
    q(("<=", ("max", "x", "z"), ("max", "y", "z")), ("<=", "x", "y")),
    q(("<=", ("min", ("max", "x", 0), "z"), "z"), r=(-math.inf, math.inf)),
    q(("<=", ("abs", ("-", "x", "y")), ("max", "x", "y"))),
    q(("<=", ("abs", ("+", "x", "y")), ("+", ("abs", "x"), ("abs", "y"))), r=(-math.inf, math.inf)),
    q(("==", ("abs", ("-", "x", "y")), ("-", "y", "x")), ("<=", "x", "y")),
    q(("==", ("ite", ("<", "x", "y"), "x", "y"), ("min", "x", "y"))),
    q(("==", "x", "y"), ("or", ("==", "x", 1), ("==", "x", "y")), (">", "x", 1)),
    q(("!=", "x", 3), ("or", ("<=", "x", 2), (">=", "x", 5))),
    q((">=", "x", "z"), ("not", ("or", ("<", "x", "y"), ("<", "y", "z")))),
    q(("or", ("<", "x", "y"), (">=", "x", "y"))),
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


# -- the two environments ---------------------------------------------------------------------------------------
def ask_ours(query: Query) -> tuple[bool | None, float]:
    """(verdict, seconds of the query alone). ContradictoryFacts if the facts cannot hold."""
    env = ShapeEnv()
    symbols = {n: env.unbacked(name=n, lo=lo, hi=hi) for n, (lo, hi) in query.ranges.items()}
    for fact in query.facts:
        env.assume(our_node(fact, symbols))
    start = time.perf_counter()
    answer = env.decide(our_node(query.goal, symbols))
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
    "and": sympy.And, "or": sympy.Or, "not": sympy.Not, "abs": sympy.Abs, "pow": F.PowByNatural,
    "ite": lambda c, a, b: sympy.Piecewise((a, c), (b, True)),
    "f/": F.IntTrueDiv, "f*": lambda a, b: F.ToFloat(a) * sympy.Float(b),
    "floor": F.FloorToInt, "ceil": F.CeilToInt, "trunc": F.TruncToInt, "to_even": F.RoundToInt,
}


def torch_expr(term: Term, symbols: dict[str, Any]) -> Any:
    if isinstance(term, str):
        return symbols[term]
    if isinstance(term, int):
        return sympy.Integer(term)
    if isinstance(term, float):
        return sympy.Float(term)
    return TORCH[term[0]](*(torch_expr(t, symbols) for t in term[1:]))


def ask_torch(query: Query) -> tuple[bool | None, float]:
    """The same of torch's ShapeEnv: facts as runtime asserts, the question by _maybe_evaluate_static."""
    forget()
    return ask_torch_warm(query)


def forget() -> None:
    """Clear what sympy and torch remember of expressions."""
    clear_cache()
    for module in (symbolic_shapes_of_torch, F, torch.utils._sympy.solve, torch.utils._sympy.value_ranges):
        for function in vars(module).values():
            if hasattr(function, "cache_clear"):
                function.cache_clear()


def ask_torch_warm(query: Query) -> tuple[bool | None, float]:
    """`ask_torch` with what the caches hold."""
    env = symbolic_shapes_of_torch.ShapeEnv()
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

    def add(self, query: Query, ask: Ask, seen: set[bool], truth: bool | None) -> float | None:
        """Ask; the seconds of the query, None if there was no answer."""
        self.asked += 1
        self.decidable += truth is not None
        try:
            verdict, seconds = ask(query)
        except ContradictoryFacts:
            if seen:
                self.wrong.append(query)
            return None
        except Exception:  # torch raises many kinds; each is counted and shown as "failed"
            if ask is ask_ours:
                raise
            self.failed += 1
            return None
        self.times.append(seconds)
        if verdict is not None and (not verdict) in seen:
            self.wrong.append(query)
        elif verdict is not None and truth is not None:
            self.decided += 1
        return seconds

    def include(self, other: Score) -> None:
        """Add the counts of another set of queries."""
        for name in ("asked", "decidable", "decided", "wrong", "failed", "times"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def row(self, name: str) -> str:
        times = sorted(self.times)
        cells = [name, self.asked, self.decidable, self.decided, f"{self.decided / max(self.decidable, 1):.1%}",
                 len(self.wrong), self.failed, f"{statistics.median(times) * 1e6:.0f}",
                 f"{times[len(times) * 9 // 10] * 1e6:.0f}"]
        return f"| {' | '.join(map(str, cells))} |"


def query_sets(count: int, per_family: int, seed: int) -> dict[str, list[Query]]:
    """Title -> queries."""
    rng = random.Random(seed)
    sets = {"hand-written": HAND_WRITTEN, "generated": [generated(rng) for _ in range(count)]}
    for title, generate in FAMILIES.items():
        family = random.Random(f"{title} {seed}")
        sets[title] = [generate(family) for _ in range(per_family)]
    return sets


def report(count: int, per_family: int, seed: int) -> str:
    """The table of both environments on each set of queries."""
    sets = query_sets(count, per_family, seed)
    lines = ["| queries, environment | asked | decidable | decided | share | wrong | failed | median µs | p90 µs |",
             "|---|---|---|---|---|---|---|---|---|"]
    details: list[str] = []
    whole: dict[str, Score] = {"ours": Score(), "torch": Score()}
    all_ratios: list[tuple[float, float]] = []
    for title, queries in sets.items():
        scores, ratios = compare(queries)
        for name, score in scores.items():
            whole[name].include(score)
        all_ratios += ratios
        lines += [score.row(f"{title}, {name}") for name, score in scores.items()]
        details.append(f"- {title}: {in_words(ratios)}")
        details += [f"  - {title}, {name}, wrong: {w.facts} |- {w.goal}, ranges {w.ranges}"
                    for name, score in scores.items() for w in score.wrong[:5]]
    lines += [score.row(f"**all**, {name}") for name, score in whole.items()]
    medians = {name: statistics.median(score.times) for name, score in whole.items()}
    details.append(f"- all: {in_words(all_ratios)}; "
                   f"its median query takes {medians['torch'] / medians['ours']:.0f} times as long as our median one")
    return "\n".join([*lines, "", *details])


def in_words(ratios: list[tuple[float, float]]) -> str:
    cold, warm = (statistics.median(column) for column in zip(*ratios))
    return f"torch's time is {cold:.0f} times ours (median over queries), {warm:.0f} times with warm caches"


def compare(queries: list[Query]) -> tuple[dict[str, Score], list[tuple[float, float]]]:
    """Both scores, and torch's times (cold, warm) by ours for each query that both answered."""
    scores = {"ours": Score(), "torch": Score()}
    answered: list[tuple[Query, float, float]] = []
    gc.collect()
    gc.disable()
    for query in queries:
        try:
            seen, truth = truths(query)
            ours = scores["ours"].add(query, ask_ours, seen, truth)
        except ZeroDivisionError:
            continue  # a constant zero divisor: no question
        torchs = scores["torch"].add(query, ask_torch, seen, truth)
        if ours is not None and torchs is not None:
            answered.append((query, ours, torchs))
    forget()
    warm = [ask_torch_warm(query)[1] for query, _, _ in answered]
    gc.enable()
    return scores, [(torchs / ours, again / ours) for (_, ours, torchs), again in zip(answered, warm)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--per-family", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/shape_reasoning.md")
    args = parser.parse_args()
    text = report(args.queries, args.per_family, args.seed)
    print(text)
    if args.write:
        head = ["# Shape reasoning: ours against torch's ShapeEnv", "",
                f"`python benchmarks/shape_reasoning.py --queries {args.queries} --per-family {args.per_family} "
                f"--seed {args.seed} --write`, torch {torch.__version__}, Python {sys.version.split()[0]}.",
                "Cold: a query is its expression and the answer, in a fresh environment with its facts, global",
                "caches cleared. Truth: enumeration for bounded symbols, z3 for unbounded ones. Every proof of ours is",
                "re-checked by `certificates.verify`. The families are those of `benchmarks/shape_queries.py`.", ""]
        (ROOT / "benchmarks/results/shape_reasoning.md").write_text("\n".join([*head, text, ""]))


if __name__ == "__main__":
    main()
