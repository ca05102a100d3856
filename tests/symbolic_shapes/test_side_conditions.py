"""Mutation tests: each side condition of a law, switched off, makes the oracle see a wrong value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from dynamo_lite.symbolic_shapes import Symbol, compare_floats, evaluate, round_float, to_float
from dynamo_lite.symbolic_shapes.expressions import division, float_relations, piecewise
from tests.symbolic_shapes.oracle import Mismatch, assignments, check_value_preserved

TABLES: dict[str, dict[str, Callable[..., bool]]] = {
    "division": division.SIDE_CONDITIONS,
    "lattice": piecewise.SIDE_CONDITIONS,
    "floats": float_relations.SIDE_CONDITIONS,
}


def terms_agree(*terms: Any) -> None:
    symbols = {n: Symbol(n).as_int() for n in "xy"}
    for term in terms:
        check_value_preserved(term, symbols, assignments("xy", range(-4, 5)))


def float_round_is_exact() -> None:
    p = Symbol("p").as_int()
    big = 2**53 + 1
    got = evaluate(round_float("floor", to_float(p)), {p.as_atom(): big})
    if got != math.floor(float(big)):
        raise Mismatch("floor(float(p)) is not p")


def float_against_constant() -> None:
    p = Symbol("p").as_int()
    relation = compare_floats("le", to_float(p), float(2**53))
    if evaluate(relation, {p.as_atom(): 2**53 + 1}) != (float(2**53 + 1) <= float(2**53)):
        raise Mismatch("float(p) <= c is not p <= c")


def float_against_float() -> None:
    p, q = Symbol("p").as_int(), Symbol("q").as_int()
    relation = compare_floats("le", to_float(p), to_float(q))
    if evaluate(relation, {p.as_atom(): 2**53 + 1, q.as_atom(): 2**53}) != (float(2**53 + 1) <= float(2**53)):
        raise Mismatch("float(p) <= float(q) is not p <= q")


def coarsened_for_any_sign() -> None:
    for d in (3, -3):
        if division.SIDE_CONDITIONS["coarsen: d > 0"](d):
            for v in range(-6, 7):
                if (2 * v + 1) // (2 * d) != (v + 1 // 2) // d:
                    raise Mismatch(f"(2*x + 1) // (2*d) for d == {d} at {v}")


def nested_by_any_sign() -> None:
    for b in (2, -2):
        if division.SIDE_CONDITIONS["nested: b > 0"](b):
            for v in range(-6, 7):
                if (v // 3 + 1) // b != (v + 3) // (3 * b):
                    raise Mismatch(f"nested division by {b} at {v}")


def flipped_for_any_sign() -> None:
    for d in (3, -3):
        if division.SIDE_CONDITIONS["flip sign: d > 0"](d):
            for v in range(-6, 7):
                if v // d != -((-v + d - 1) // d):
                    raise Mismatch(f"flip of a division by {d} at {v}")


def scaled_by_any_sign() -> None:
    for g in (2, -2):
        if piecewise.SIDE_CONDITIONS["scale a max: g >= 0"](g) and max(g * 1, g * 3) != g * max(1, 3):
            raise Mismatch(f"max scaled by {g}")


ORACLES: dict[tuple[str, str], Callable[[], None]] = {
    ("division", "take out multiples: d != 0"): lambda: terms_agree(("//", ("*", "x", "y"), "y")),
    ("division", "cancel a common factor: g != 0"): lambda: terms_agree(("//", ("*", "x", "y"), ("*", 3, "y"))),
    ("division", "nested: b > 0"): nested_by_any_sign,
    ("division", "coarsen: d > 0"): coarsened_for_any_sign,
    ("division", "flip sign: d > 0"): flipped_for_any_sign,
    ("lattice", "scale a max: g >= 0"): scaled_by_any_sign,
    ("lattice", "dominated: x >= y"): lambda: terms_agree(("max", "x", "y"), ("min", "x", 3)),
    ("lattice", "round of a float of an int: exact"): float_round_is_exact,
    ("floats", "compare with a constant: small"): float_against_constant,
    ("floats", "compare two: exact"): float_against_float,
}


def test_every_side_condition_has_an_oracle() -> None:
    assert {(t, law) for t, table in TABLES.items() for law in table} == set(ORACLES)


@pytest.mark.parametrize(("table", "law"), ORACLES)
def test_a_law_without_its_side_condition_is_wrong(table: str, law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ORACLES[table, law]()  # with the condition the law holds
    monkeypatch.setitem(TABLES[table], law, lambda *args: True)
    with pytest.raises(Mismatch):
        ORACLES[table, law]()
