"""The trusted base, against enumeration: what a rule of the checker accepts follows from its premises.

Each rule is handed premises and data that fit and some that nearly do. Dropping any check of a rule lets a claim pass
that some assignment refutes (tools/mutants.py drops them one by one).
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from dynamo_lite.symbolic_shapes import Symbol, evaluate
from dynamo_lite.symbolic_shapes.expressions import evaluation
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.symbolic_shapes.proofs.checker import RULES, BadCertificate, Checker
from dynamo_lite.symbolic_shapes.proofs.proof import Congruent
from tests.symbolic_shapes.checker_cases import ATTEMPTS, Draw
from tests.symbolic_shapes.oracle import floordiv_at

TRIES = 150
DOMAIN = (-4, -3, -2, -1, 0, 1, 2, 3, 4, 6)
AT_ZERO = (0, -3, 5)
UNCONDITIONAL = {"normal form", "all"}
"""The rules that accept whatever they are given."""
GRAPH_BREAKS = (BadCertificate, TypeError, ValueError, AttributeError, IndexError, KeyError, ZeroDivisionError)
"""How a rule refuses: by itself, or because the data make no sense at all (the checker makes one kind of these)."""


def holds(claim: Any, values: dict[Symbol, int]) -> bool:
    if isinstance(claim, Congruent):
        return bool(evaluate(claim.poly, values) % claim.modulus == 0)
    return bool(evaluate(claim, values))


def counterexample(premises: list[Any], conclusion: Any) -> dict[Symbol, int] | None:
    """An assignment in which the premises hold and the conclusion does not; x // 0 is any fixed integer."""
    nodes = [c.poly if isinstance(c, Congruent) else c for c in (*premises, conclusion)]
    symbols = sorted(frozenset().union(*map(symbols_of, nodes)), key=lambda s: s.id)
    floordiv = evaluation.INT_OPERATORS["floordiv"]
    try:
        for at_zero in AT_ZERO:
            evaluation.INT_OPERATORS["floordiv"] = floordiv_at(at_zero)
            for point in product(*([v for v in DOMAIN if s.lo <= v <= s.hi] for s in symbols)):
                values = dict(zip(symbols, point))
                try:
                    if all(holds(p, values) for p in premises) and not holds(conclusion, values):
                        return {**values, Symbol("x//0"): at_zero}
                except (ArithmeticError, ValueError):
                    continue  # a float division by zero, a negative power: Python has no value
    finally:
        evaluation.INT_OPERATORS["floordiv"] = floordiv
    return None


@pytest.mark.parametrize("rule", ATTEMPTS)
def test_what_a_rule_accepts_follows(rule: str) -> None:
    checker, accepted, refused = Checker({}), 0, 0
    for seed in range(TRIES):
        premises, data = ATTEMPTS[rule](Draw(seed))
        try:
            claim = RULES[rule](checker, premises, data)
        except GRAPH_BREAKS:
            refused += 1
            continue
        accepted += 1
        assert counterexample(premises, claim) is None, (premises, data, claim)
    assert accepted >= 10, "an attempt that is never accepted shows nothing"
    assert refused >= 10 or rule in UNCONDITIONAL or not refused


def test_every_rule_is_tried() -> None:
    assert set(ATTEMPTS) == set(RULES) - {"fact", "assume"}
