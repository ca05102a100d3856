"""The rules between sets of guards, against enumeration: what a rule accepts follows from its premises.

As test_checker_rules.py: premises and data that fit, and some that nearly do. A symbol that was replaced is *absent*:
its declared range may not be used, so it is taken to be any integer.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import pytest

from dynamo_lite.symbolic_shapes import Bool, Int, Origin, ShapeEnv, Symbol, and_, eq, evaluate, le, maximum, or_
from dynamo_lite.symbolic_shapes.expressions.expr import as_int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Rel, eq_zero, le_zero
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.proofs.checker import BadCertificate, Certificate
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.proofs.proof import Step
from dynamo_lite.symbolic_shapes.size_guards.derivations import (
    RULES,
    Derivation,
    DerivationTable,
    declared_end,
    derive,
    period,
)
from tests.symbolic_shapes.checker_cases import SYMBOLS, Draw
from tests.symbolic_shapes.test_checker_rules import GRAPH_BREAKS

TRIES = 150
DOMAIN = (-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7)
Attempt = tuple[Any, Derivation]


def counterexample(premises: tuple[Bool, ...], goal: Bool, absent: frozenset[Symbol]) -> dict[Symbol, int] | None:
    symbols = sorted(frozenset().union(*map(symbols_of, (*premises, goal))), key=lambda s: s.id)
    axes = [DOMAIN if s in absent else [v for v in DOMAIN if s.lo <= v <= s.hi] for s in symbols]
    for point in product(*(axis[::2] if len(symbols) > 2 else axis for axis in axes)):
        values = dict(zip(symbols, point))
        try:
            if all(evaluate(p, values) for p in premises) and not evaluate(goal, values):
                return values
        except (ArithmeticError, ValueError):
            continue
    return None


def declared(d: Draw) -> Attempt:
    symbol, side = d.rng.choice(SYMBOLS[2:]), d.rng.choice(("lo", "hi"))
    return d.instead(declared_end(symbol, side), 0.3), Derivation("declared", (), (symbol, side))


def conjunct(d: Draw) -> Attempt:
    parts = [d.relation(), d.relation()]
    whole = d.rng.choice((and_, and_, or_))(*parts)
    return d.instead(parts[0], 0.3), Derivation("conjunct", (whole,))


def weaker(d: Draw) -> Attempt:
    p = d.poly()
    goal = d.relation(p - d.number(-1, 2), ("le", "le", "le", "le", "eq", "ne"))
    return goal, Derivation("weaker", (d.relation(p * d.rng.choice((1, -1)), ("le", "eq", "eq", "ne")),))


def under_a_max(d: Draw) -> Attempt:
    x, y = d.linear(), d.linear()
    k, rest = d.rng.choice((1, 2, -1)), d.linear()
    if d.flip(0.2):  # not a maximum
        atom = d.atom("floordiv")
        arg = atom.args[0]
        assert isinstance(arg, Int)
        return le_zero(arg + rest), Derivation("under a max", (le_zero(atom.as_int() + rest),))
    premise = d.relation(maximum(x, y) * k + rest, ("le", "le", "le", "eq", "ne"))
    return d.instead(le_zero(x * k + rest), 0.2), Derivation("under a max", (premise,))


def rewrite(d: Draw) -> Attempt:
    symbol = d.symbol()
    image = next(s for s in SYMBOLS if s is not symbol).as_int() * d.number(1, 2) + d.number()
    start = d.relation(d.poly() + symbol.as_int())
    goal = substitute(start, {symbol: image})
    if d.flip():
        start, goal = goal, start
    equality = d.instead(eq(symbol.as_int(), image), 0.3)
    return d.instead(goal, 0.2), Derivation("rewrite", (start, equality), ((symbol, image),))


def residues(d: Draw) -> Attempt:
    x, m = d.symbol(), d.number(2, 4)
    n = x.as_int()
    premises = [eq(n % (m * d.number(1, 2)), d.number(0, 2)), le((n + d.number()) // m, d.number())]
    goal = d.rng.choice((eq((n * d.number(1, 3) + d.number()) % m, d.number(0, 2)), le(n % m, d.number(0, 3)),
                         le(m * ((n + m - 1) // m), n + d.number(0, 3))))
    if d.flip(0.3):  # by the ends of the range
        c = as_int(d.number(-3, 4))
        goal = d.rng.choice((eq(maximum(n, c), n), eq(maximum(n, c), c)))
    used = tuple(p for p in premises if d.flip(0.6))
    return goal, Derivation("residues", used, (x, d.off(m * d.number(1, 2), 0.2)))


def decided(d: Draw) -> Attempt:
    p, q = d.linear(), d.linear()
    facts = tuple(Fact(i, r, Origin("user line"), "guard") for i, r in enumerate((d.inequality(p), d.inequality(q))))
    steps = tuple(Step("fact", (), (f.index, f)) for f in facts)
    goal = d.instead(le_zero(p + q), 0.2)
    certificate = Certificate(goal if d.flip(0.8) else le_zero(p + q), Step("linear", steps, ((1, 1), 0)), facts)
    premises = tuple(d.instead(f.relation, 0.15) for f in facts)
    return goal, Derivation("decided", premises if d.flip(0.9) else premises[:1], (certificate,))


ATTEMPTS: dict[str, Callable[[Draw], Attempt]] = {
    "declared": declared, "conjunct": conjunct, "weaker": weaker, "under a max": under_a_max, "rewrite": rewrite,
    "residues": residues, "decided": decided,
}
USES_RANGES = {"declared", "residues", "decided"}


@pytest.mark.parametrize("rule", ATTEMPTS)
def test_what_a_rule_accepts_follows(rule: str) -> None:
    accepted = refused = 0
    for seed in range(TRIES):
        draw = Draw(seed)
        goal, step = ATTEMPTS[rule](draw)
        absent = frozenset((draw.rng.choice(SYMBOLS),)) if draw.flip(0.4) else frozenset[Symbol]()
        try:
            RULES[rule](goal, step, absent)
        except GRAPH_BREAKS:
            refused += 1
            continue
        accepted += 1
        assert counterexample(step.premises, goal, absent) is None, (goal, step, absent)
    assert accepted >= 10 and refused >= 10, (accepted, refused)


def test_every_rule_is_tried() -> None:
    assert ATTEMPTS.keys() == RULES.keys()


@pytest.mark.parametrize("rule", sorted(USES_RANGES))
def test_the_range_of_a_symbol_that_was_replaced_proves_nothing(rule: str) -> None:
    """Before it is replaced, it does."""
    symbol = Symbol("a", 4, 5)
    a = symbol.as_int()
    env = ShapeEnv()
    certificate = env.decide(a >= 4).certificate
    assert certificate is not None
    goal, step = {
        "declared": (a >= 4, Derivation("declared", (), (symbol, "lo"))),
        "residues": (a % 4 <= 1, Derivation("residues", (), (symbol, 4))),
        "decided": (a >= 4, Derivation("decided", (), (certificate,))),
    }[rule]
    RULES[rule](goal, step, frozenset())
    with pytest.raises(BadCertificate):
        RULES[rule](goal, step, frozenset((symbol,)))


def test_a_premise_about_a_symbol_that_was_replaced_is_no_premise_of_a_certificate() -> None:
    symbol, b = Symbol("a", 2, 9), Symbol("b").as_int()
    env = ShapeEnv()
    env.add_fact(b >= symbol.as_int())
    certificate = env.decide(b >= 2).certificate
    assert certificate is not None
    step = Derivation("decided", tuple(f.relation for f in certificate.facts), (certificate,))
    RULES["decided"](b >= 2, step, frozenset())
    with pytest.raises(BadCertificate):
        RULES["decided"](b >= 2, step, frozenset((symbol,)))


def test_a_certificate_is_of_one_goal() -> None:
    a = Symbol("a", 4, 5).as_int()
    certificate = ShapeEnv().decide(a >= 4).certificate
    assert certificate is not None
    with pytest.raises(BadCertificate):
        RULES["decided"](a >= 5, Derivation("decided", (), (certificate,)), frozenset())


def test_what_is_found_is_accepted() -> None:
    """Whatever `derive` finds, its rule accepts; so it follows."""
    found: dict[str, int] = {}
    for seed in range(200):
        d = Draw(seed)
        p, q = d.linear(), d.linear()
        n, m = d.symbol().as_int(), d.number(2, 4)
        premise, goal = d.rng.choice((
            (and_(le_zero(p), d.relation()), le_zero(p)), (or_(le_zero(p), d.relation()), le_zero(p)),
            (le_zero(maximum(p, q) + n), le_zero(p + n)), (le_zero(p), le_zero(p - d.number(0, 2))),
            (eq(n % (2 * m), 1), eq((n * n) % m, 1)), (eq(n % m, 0), eq((n // m) % 2, 0)),
        ))
        premises, goal = [premise, d.relation(q)], d.instead(goal, 0.3)
        if not isinstance(goal, Bool) or not symbols_of(goal):
            continue
        step = derive(premises, goal)
        if step is not None:
            RULES[step.rule](goal, step, frozenset())
            assert set(step.premises) <= set(premises)
            assert counterexample(step.premises, goal, frozenset()) is None
            found[step.rule] = found.get(step.rule, 0) + 1
    assert found.keys() >= {"conjunct", "under a max", "weaker", "decided"}, found


# -- the table ----------------------------------------------------------------------------------------------------
def table() -> tuple[DerivationTable, list[Bool]]:
    """x <= 1 (given) gives x <= 2 gives x <= 3."""
    x = Symbol("x").as_int()
    chain = [x <= 1, x <= 2, x <= 3]
    made = DerivationTable(chain[:1])
    for premise, goal in pairwise(chain):
        made.add(goal, Derivation("weaker", (premise,)))
    return made, chain


def test_a_derivation_rests_on_its_base() -> None:
    made, chain = table()
    made.check(chain[2])
    assert [r for r, _ in made.trace(chain[2])] == chain and made.leaves(chain[2]) == chain[:1]


def test_a_gap_a_circle_and_an_unknown_rule_are_refused() -> None:
    made, chain = table()
    made.steps[chain[1]] = Derivation("weaker", (chain[2],))
    with pytest.raises(BadCertificate, match="rests on itself"):
        made.check(chain[2])
    del made.steps[chain[1]]
    with pytest.raises(BadCertificate, match="no reason is recorded"):
        made.check(chain[2])
    made.steps[chain[1]] = Derivation("because", (chain[0],))
    with pytest.raises(BadCertificate, match="no rule"):
        made.check(chain[2])
    made.steps[chain[1]] = Derivation("conjunct", (chain[0],))
    with pytest.raises(BadCertificate):
        made.check(chain[2])


def test_the_first_derivation_stays_and_what_is_given_needs_none() -> None:
    made, chain = table()
    before = made.steps[chain[2]]
    made.add(chain[2], Derivation("because"))
    made.add(chain[0], Derivation("because"))
    assert made.steps[chain[2]] is before and chain[0] not in made.steps


def test_what_two_derivations_share_is_no_circle() -> None:
    x = Symbol("x").as_int()
    base, left, right = x <= 1, x <= 2, x <= 3
    made = DerivationTable([base])
    made.add(left, Derivation("weaker", (base,)))
    made.add(right, Derivation("weaker", (left,)))
    made.add(x <= 5, Derivation("weaker", (left,)))
    goal = x <= 4
    made.add(goal, Derivation("weaker", (right, left, base, x <= 5, right)))
    made.check(goal)


def test_a_derivation_that_makes_no_sense_is_refused() -> None:
    made, chain = table()
    for step in (Derivation("weaker"), Derivation("declared", (), (chain[0], "lo")), Derivation("residues"),
                 Derivation("rewrite", (chain[0],), ((1,),)), Derivation("decided", (), (chain[0],)),
                 Derivation("conjunct"), Derivation("under a max")):
        made.steps[chain[1]] = step
        with pytest.raises(BadCertificate):
            made.check(chain[1])


def test_a_period_is_what_the_value_repeats_with() -> None:
    """Of a relation without division: 1. Nested divisors are multiplied, those side by side have a common multiple."""
    x, y = Symbol("x").as_int(), Symbol("y").as_int()
    relation: Int = (x // 4 + y) // 3 + x % 10
    assert [period(p) for p in (x, x // 4, x % -6, relation, x // (y + 1), x // (4 * y))] == [1, 4, 6, 60, 1, 1]
    assert isinstance(eq_zero(relation), Rel) and period(eq_zero(relation)) == 60
