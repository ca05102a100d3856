"""Simplifying, writing, explaining and solving N guards costs about N steps: function calls are counted, not time."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from dynamo_lite.symbolic_shapes import Int, Origin, ShapeEnv, Symbol, eq, ne
from dynamo_lite.symbolic_shapes.dims.specs import Auto, DimSpec, Named
from dynamo_lite.symbolic_shapes.dims.symbols import DimTable, InputDim, declare
from dynamo_lite.symbolic_shapes.dims.violations import solve
from dynamo_lite.symbolic_shapes.expressions.relations import Bool
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.size_guards.codegen import guards_as_code
from dynamo_lite.symbolic_shapes.size_guards.runtime_asserts import schedule
from dynamo_lite.symbolic_shapes.size_guards.simplify import simplify

SLACK = 1.35
"""What near linear is: 4 times as many guards take at most 4 * SLACK times as many calls."""


@dataclass(frozen=True)
class Guards:
    """Hints of the sizes, and the relations between them that a trace of n layers collects."""

    hints: list[int]
    relations: Callable[[list[Int]], list[Bool]]


def two_sizes(n: int) -> Guards:
    """A deep model: products and multiples of a batch and a length in each layer."""
    def relations(sizes: list[Int]) -> list[Bool]:
        b, s = sizes
        return [r for i in range(n) for r in (ne(b * s * (i + 1), 64 * i), s * (i + 2) >= b + i, s <= 4000 + i)]
    return Guards([4, 96], relations)


def a_chain_of_equations(n: int) -> Guards:
    """Each layer's size is the one before, and one more."""
    return Guards(list(range(4, 4 + n)), lambda s: [eq(b, a + 1) for a, b in pairwise(s)])


def a_chain_from_the_end(n: int) -> Guards:
    return Guards(list(range(4, 4 + n)), lambda s: [eq(b, a + 1) for a, b in pairwise(s)][::-1])


def all_the_same(n: int) -> Guards:
    return Guards([8] * n, lambda s: [eq(a, s[0]) for a in s[1:]])


def a_chain_of_inequalities(n: int) -> Guards:
    return Guards(list(range(4, 4 + n)), lambda s: [a <= b for a, b in pairwise(s)])


def separate_sizes(n: int) -> Guards:
    """Two residues and a square for each of n sizes."""
    return Guards([12] * n, lambda s: [r for a in s for r in (eq(a % 4, 0), eq(a % 6, 0), a * a <= 400)])


def specialised_sizes(n: int) -> Guards:
    return Guards([7] * n, lambda s: [eq(a, 7) for a in s])


def holes(n: int) -> Guards:
    """A loop over a size leaves a hole for each iteration: below its value, and here and there above."""
    return Guards([n], lambda s: [r for i in range(n) for r in (ne(s[0], i), ne(s[0], n + 2 * i + 1))])


SESSIONS: list[tuple[Callable[[int], Guards], int]] = [
    (two_sizes, 14), (a_chain_of_equations, 50), (a_chain_from_the_end, 50), (all_the_same, 60),
    (a_chain_of_inequalities, 25), (separate_sizes, 8), (specialised_sizes, 80), (holes, 14),
]
"""Each with the number of layers of the smaller run."""
LONG = {"origins", "solve named", "report"}
"""What says for each guard where it came from: in a chain of equations the n-th comes from n facts."""


def declared(guards: Guards, spec: Callable[[int], DimSpec]) -> tuple[DimTable, list[Fact]]:
    dims = [InputDim(f"L['x{i}'].size()[0]", hint, spec(i), f"x{i}.shape[0]", f"dynamic_shapes['x{i}'][0]")
            for i, hint in enumerate(guards.hints)]
    table = declare(ShapeEnv(), dims)
    relations = guards.relations(list(table.sizes))
    return table, [Fact(i, r, Origin("user line", "model.py", i + 1), "guard") for i, r in enumerate(relations)]


def calls(work: Callable[[], Any]) -> int:
    """How many Python functions run."""
    count = 0

    def tally(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    gc.disable()  # what other tests left behind is not counted
    sys.setprofile(tally)
    try:
        work()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


def costs(session: Callable[[int], Guards], n: int) -> dict[str, int]:
    """The calls of each thing that is done with the guards of n layers."""
    table, facts = declared(session(n), lambda i: Auto())
    symbols = table.symbols()
    found = {"simplify": calls(lambda: simplify(facts, symbols))}
    guards = simplify(facts, symbols)
    found["code"] = calls(lambda: guards_as_code(guards, table.sources()))
    found["verify"] = calls(guards.verify)
    found["explain"] = calls(lambda: [guards.explain(g) for g in guards.guards[:8]])
    found["origins"] = calls(lambda: [guards.origins(g) for g in guards.guards])
    found["solve"] = calls(lambda: solve(table, facts).guards_as_code())
    table, facts = declared(session(n), lambda i: Named(f"d{i}"))
    found["solve named"] = calls(lambda: solve(table, facts).violations)
    found["report"] = calls(solve(table, facts).report)
    return found


def schedule_cost(session: Callable[[int], Guards], n: int) -> int:
    """The calls of scheduling the run-time assertions, were all sizes known at run time only."""
    env, guards = ShapeEnv(), session(n)
    unbacked = [env.unbacked(size_like=True) for _ in guards.hints]
    facts = [Fact(i, r, Origin("torch._check"), "check") for i, r in enumerate(guards.relations(unbacked))]
    order = [atom for u in unbacked if isinstance(atom := u.as_atom(), Symbol)]
    return calls(lambda: schedule(facts, order))


@pytest.mark.parametrize(("session", "layers"), SESSIONS, ids=lambda s: getattr(s, "__name__", ""))
def test_cost_is_near_linear(session: Callable[[int], Guards], layers: int) -> None:
    small, large = costs(session, layers), costs(session, 4 * layers)
    growth = {what: round(large[what] / max(small[what], 500), 1) for what in small}
    if session in (a_chain_of_equations, a_chain_from_the_end):
        growth = {what: g for what, g in growth.items() if what not in LONG}
    assert all(g <= 4 * SLACK for g in growth.values()), growth


@pytest.mark.parametrize("session", [a_chain_of_equations, a_chain_of_inequalities], ids=lambda s: s.__name__)
def test_scheduling_is_near_linear(session: Callable[[int], Guards]) -> None:
    assert schedule_cost(session, 200) <= 4 * SLACK * schedule_cost(session, 50)


@pytest.mark.parametrize("session", [two_sizes, a_chain_of_equations, all_the_same, a_chain_of_inequalities,
                                     specialised_sizes], ids=lambda s: s.__name__)
def test_collecting_is_near_linear(session: Callable[[int], Guards]) -> None:
    """Asking, before anything is simplified: models of the facts are kept up, not made again."""
    def cost(n: int) -> int:
        env, guards = ShapeEnv(), session(n)
        relations = guards.relations([env.backed(hint, lo=0) for hint in guards.hints])
        return calls(lambda: [env.evaluate(relation) for relation in relations])

    assert cost(160) <= 4 * SLACK * cost(40)
