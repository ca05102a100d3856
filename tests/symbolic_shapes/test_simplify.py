"""Simplified guards say what the collected facts say: compared with enumeration on Python's ints, and z3."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamo_lite.symbolic_shapes import ContradictoryFacts, Int, Origin, ShapeEnv, eq, ge, le, maximum, ne
from dynamo_lite.symbolic_shapes.expressions.relations import Bool
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.size_guards.derivations import DerivationTable
from dynamo_lite.symbolic_shapes.size_guards.guard_set import SizeGuardSet
from dynamo_lite.symbolic_shapes.size_guards.simplify import simplify
from tests.symbolic_shapes.guard_cases import NAMES, Case, at, cases
from tests.symbolic_shapes.z3_oracle import equivalent

QUIET = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def simplified(*hints: int, facts: Callable[..., list[Bool]], lo: int = 0) -> SizeGuardSet:
    """The guards of facts about symbols s0, s1, ... with these hints."""
    env = ShapeEnv()
    sizes = [env.backed(hint, lo=lo) for hint in hints]
    return simplify([Fact(i, r, Origin("user line", "model.py", i + 1), "guard") for i, r in enumerate(facts(*sizes))],
                    [s for size in sizes if (s := size.as_atom()) is not None])


def texts(guards: SizeGuardSet) -> list[str]:
    return [f"{g.symbol} -> {guards.images[g.symbol]}" if g.kind == "equality" else str(g) for g in guards.guards]


# -- what becomes of what -------------------------------------------------------------------------------------------
TABLE: list[tuple[str, tuple[int, ...], Callable[..., list[Bool]], list[str]]] = [
    ("shared symbol", (8, 8), lambda a, b: [eq(a, b)], ["s1 -> s0"]),
    ("shared among three", (8, 8, 8), lambda a, b, c: [eq(b, c), eq(a, c)], ["s1 -> s0", "s2 -> s0"]),
    ("an offset, whose range comes along", (6, 8), lambda a, b: [eq(b, a - 2 + 4)], ["s1 -> s0 + 2"]),
    ("an offset down", (8, 6), lambda a, b: [eq(b, a - 2)], ["s1 -> s0 - 2", "s0 >= 2"]),
    ("a product", (3, 4, 12), lambda a, b, c: [eq(a * b, c)], ["s2 -> s0*s1"]),
    ("a product of what is equal", (3, 3, 9), lambda a, b, c: [eq(a * b, c), eq(a, b)], ["s1 -> s0", "s2 -> s0**2"]),
    ("a constant", (5, 7), lambda a, b: [eq(a, 5), eq(b, a + 2)], ["s0 -> 5", "s1 -> 7"]),
    ("a quotient", (9, 4), lambda a, b: [eq(b, a // 2)], ["s1 -> s0 // 2"]),
    ("the tightest bounds", (8,), lambda a: [a >= 2, a <= 90, a >= 5, a <= 70, a <= 80], ["s0 >= 5", "s0 <= 70"]),
    ("a pinned range", (5,), lambda a: [a >= 5, a <= 5], ["s0 -> 5"]),
    ("not zero", (8,), lambda a: [ne(a, 0)], ["s0 >= 1"]),
    ("not the ends, from the inside too", (8,), lambda a: [ne(a, 0), ne(a, 1), ne(a, 3)], ["s0 >= 2", "s0 != 3"]),
    ("a bound of a quotient", (24,), lambda a: [a // 8 >= 3], ["s0 >= 24"]),
    ("a value of a quotient", (17,), lambda a: [eq(a // 8, 2)], ["s0 >= 16", "s0 <= 23"]),
    ("a bound of a square", (8,), lambda a: [a * a >= 10], ["s0 >= 4"]),
    ("one residue", (12,), lambda a: [eq(a % 4, 0), eq(a % 2, 0)], ["s0 % 4 == 0"]),
    ("residues merged", (12,), lambda a: [eq(a % 4, 0), eq(a % 6, 0)], ["s0 % 12 == 0"]),
    ("a residue in disguise", (11,), lambda a: [eq((a + 1) % 4, 0)], ["s0 % 4 == 3"]),
    ("residues merged after a replacement", (12, 14), lambda a, b: [eq(b, a + 2), eq(b % 4, 2), eq(a % 3, 0)],
     ["s1 -> s0 + 2", "s0 % 12 == 0"]),
    ("under a maximum", (3, 4), lambda a, b: [maximum(a, b) <= 50], ["s0 <= 50", "s1 <= 50"]),
    ("pinned by a range and a residue", (16,), lambda a: [a >= 16, a <= 17, eq(a % 2, 0)], ["s0 -> 16"]),
    ("pinned by another", (5, 5), lambda a, b: [a <= b, b <= 5, a >= 5], ["s0 -> 5", "s1 -> 5"]),
    ("two halves", (5, 7), lambda a, b: [a + 2 <= b, b <= a + 2], ["s1 -> s0 + 2"]),
    # An updated image is here a fact that was rewritten before: a derivation went in a circle.
    ("three equations that meet", (20, 13, 16),
     lambda a, b, c: [eq(b, c * 4 - 51), eq(a * 4, b + 67), eq(b, c * 6 - 83)], ["s0 -> 20", "s1 -> 13", "s2 -> 16"]),
    ("transitive", (3, 4, 5), lambda a, b, c: [le(a, b), le(b, c), le(a, c)], ["s0 <= s1", "s1 <= s2"]),
    ("entailed by bounds", (8, 4), lambda a, b: [a >= 4, b >= 3, a + b >= 7, a * b >= 12], ["s0 >= 4", "s1 >= 3"]),
]


@pytest.mark.parametrize("hints, facts, expected", [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_simplified_form(hints: tuple[int, ...], facts: Callable[..., list[Bool]], expected: list[str]) -> None:
    guards = simplified(*hints, facts=facts)
    assert texts(guards) == expected
    assert guards.verify().derivations == len(guards.forward.steps) + len(guards.backward.steps)


@pytest.mark.parametrize("hints, facts", [row[1:3] for row in TABLE], ids=[row[0] for row in TABLE])
def test_z3_agrees(hints: tuple[int, ...], facts: Callable[..., list[Bool]]) -> None:
    pytest.importorskip("z3")
    assert equivalent(simplified(*hints, facts=facts)) is True


def test_a_lower_rank_goes_first() -> None:
    env = ShapeEnv()
    a, b = env.backed(8, lo=0), env.backed(8, lo=0)
    facts = [Fact(0, eq(a, b), Origin("user line"), "guard")]
    assert simplify(facts, rank=lambda s: s.name == "s1").images[a.as_atom()] is b  # type: ignore[index]
    assert simplify(facts).images[b.as_atom()] is a  # type: ignore[index]


def test_axioms_are_used_and_never_checked() -> None:
    env = ShapeEnv()
    a = env.backed(8, lo=0)
    facts = [Fact(0, a >= 5, Origin("operator"), "axiom"), Fact(1, a >= 3, Origin("user line"), "guard")]
    guards = simplify(facts)
    assert guards.guards == () and guards.dropped == (facts[1],)
    guards.verify()


def test_contradictory_facts_are_named() -> None:
    with pytest.raises(ContradictoryFacts) as info:
        simplified(8, 8, facts=lambda a, b: [eq(a, b), a >= 9, a >= 1, b <= 7])
    assert {f.origin.line for f in info.value.facts} == {1, 2, 4}


# -- the laws --------------------------------------------------------------------------------------------------------
@given(cases())
@QUIET
def test_equivalent_to_the_facts_everywhere(case: Case) -> None:
    symbols = case.symbols()
    guards = simplify(case.facts(symbols), symbols.values())
    guards.verify()
    for point in case.points():
        assert (guards.failing(at(symbols, point)) is None) == case.holds(point), (point, texts(guards))


def test_equations_are_checked_with_the_sign_that_they_have() -> None:
    """The proof that a // 2 % 2 is not -1 adds two equations; its checker once had the negative of the sum."""
    never = ("not", ("==", ("%", ("//", "a", 2), 2), -1))
    case = Case({"a": 0, "b": 0, "c": 0}, {"a": (0, 4), "b": (0, 2), "c": (0, 2)}, (never,))
    symbols = case.symbols()
    guards = simplify(case.facts(symbols), symbols.values())
    assert guards.relations == ()
    guards.verify()


@given(cases(), st.randoms(use_true_random=False))
@QUIET
def test_the_order_of_facts_does_not_matter(case: Case, random: object) -> None:
    symbols = case.symbols()
    facts = case.facts(symbols)
    again = [Fact(i, f.relation, f.origin, f.kind) for i, f in enumerate(facts)]
    random.shuffle(again)  # type: ignore[attr-defined]
    assert simplify(facts, symbols.values()).relations == simplify(again, symbols.values()).relations


@given(cases())
@QUIET
def test_simplified_again_nothing_changes(case: Case) -> None:
    symbols = case.symbols()
    once = simplify(case.facts(symbols), symbols.values())
    facts = [Fact(i, r, Origin("user line"), "guard") for i, r in enumerate(once.relations)]
    assert set(simplify(facts, symbols.values()).relations) == set(once.relations)


@given(cases())
@QUIET
def test_ranges_contain_what_is_admitted(case: Case) -> None:
    symbols = case.symbols()
    guards = simplify(case.facts(symbols), symbols.values())
    ranges = {name: guards.range_of(symbols[name].as_int()) for name in NAMES}
    for point in filter(case.holds, case.points()):
        assert all(ranges[name][0] <= point[name] <= ranges[name][1] for name in NAMES)


def test_thousands_of_facts_cost_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derivations recorded per fact (a count, not a time) do not grow with the number of facts."""
    counted = []
    add = DerivationTable.add
    monkeypatch.setattr(DerivationTable, "add", lambda *args: (counted.append(1), add(*args))[1])

    def facts(a: Int, b: Int) -> list[Bool]:
        return [r for k in range(n)
                for r in (a >= 1 + k % 5, ge(a * 8, b), a <= 500 + k, ge(a + b, 3 + k % 9), eq(b % 2, 0))]

    costs = []
    for n in (100, 400):
        counted.clear()
        assert len(simplified(128, 64, facts=facts).guards) <= 5
        costs.append(len(counted) / n)
    assert costs[1] <= costs[0] * 1.1
