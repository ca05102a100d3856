"""Verdicts beyond 2**53 and 2**63, against enumeration: the same small boxes, far from zero."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest

from dynamo_lite.symbolic_shapes import ContradictoryFacts, Origin, ShapeEnv, as_bool
from dynamo_lite.symbolic_shapes.proofs.checker import verify
from tests.symbolic_shapes.oracle import COMPARE, Term, our_node, python_table, python_value

HERE = Origin("user line", "model.py", 1)
PYTHON = python_table(0)


def term(rng: Random, base: int, depth: int) -> Term:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice("xy") if rng.random() < 0.6 else base * rng.choice((0, 1, 1, 2)) + rng.randint(-4, 4)
    op = rng.choice(("+", "-", "-", "*", "//", "%", "max", "min", "abs", "ceildiv", "ite"))
    if op == "abs":
        return (op, term(rng, base, depth - 1))
    if op == "ite":
        return (op, relation(rng, base, 0), term(rng, base, 0), term(rng, base, 0))
    right = rng.choice((2, 3, base, base + 1, -3)) if op in ("//", "%", "ceildiv") else term(rng, base, depth - 1)
    return (op, term(rng, base, depth - 1), right)


def relation(rng: Random, base: int, depth: int) -> Term:
    return (rng.choice(COMPARE), term(rng, base, depth), term(rng, base, depth))


@pytest.mark.parametrize("base", [2**53, 2**63, -(2**70), 10**30])
def test_verdicts_far_from_zero_are_those_of_enumeration(base: int) -> None:
    rng, decided = Random(base), 0
    points = [dict(zip("xy", v)) for v in product(range(base - 3, base + 4), repeat=2)]
    for _ in range(20):
        env = ShapeEnv()
        symbols: dict[str, Any] = {n: env.unbacked(name=n, lo=base - 3, hi=base + 3) for n in "xy"}
        facts = [relation(rng, base, 1) for _ in range(rng.randint(0, 2))]
        models = [p for p in points if all(python_value(f, p, PYTHON) for f in facts)]
        try:
            for fact in facts:
                env.assume(as_bool(our_node(fact, symbols)), HERE)
        except ContradictoryFacts:
            assert not models, facts
            continue
        for _ in range(4):
            goal = relation(rng, base, 2)
            answer = env.decide(as_bool(our_node(goal, symbols)))
            truths = {bool(python_value(goal, p, PYTHON)) for p in models}
            assert answer.verdict is None or truths <= {answer.verdict}, (facts, goal, answer)
            assert answer.verdict is not None or len(truths) != 1, (facts, goal, "undecided in a box of 49")
            if answer.certificate is not None:
                verify(answer.certificate)
                decided += 1
    assert decided >= 20
