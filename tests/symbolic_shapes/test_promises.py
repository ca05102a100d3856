"""A violation is reported where a question breaks a spec's promise, and nowhere else: by enumeration of all calls."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamo_lite.symbolic_shapes import as_int, symbols_of
from dynamo_lite.symbolic_shapes.dims.specs import Auto, Derived, DimSpec, Dynamic, Named
from dynamo_lite.symbolic_shapes.dims.violations import FEW, Solution
from dynamo_lite.symbolic_shapes.expressions.expr import INF
from dynamo_lite.symbolic_shapes.expressions.relations import TRUE
from tests.symbolic_shapes.dim_cases import Questions, trace
from tests.symbolic_shapes.test_suggestions import KINDS

BOX, WINDOW = 60, 6
"""Sizes up to BOX are enumerated; what is promised is looked at up to WINDOW, so that the others have room."""
LINEAR = [kind for i, kind in enumerate(KINDS) if i not in (7, 9)]
"""Products leave more than a range and a residue: they are guards (docs/symbolic_shapes.md). So are inequalities that
bound each other (2*x <= y + 3 and 3*y <= x + 5), which no interval shows."""
Run = tuple[list[int], list[DimSpec], Questions]


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Two dimensions with small example sizes, and up to three questions that are true there."""
    specs: list[DimSpec] = []
    hints = []
    for name in "bc":
        lo = draw(st.sampled_from((0, 0, 1, 3)))
        named = Named(name, lo, draw(st.sampled_from((INF, INF, lo + 9))))
        value = draw(st.integers(max(lo, 2), lo + 6))
        derived = Derived(named, draw(st.integers(1, 3)), draw(st.integers(0, 2)))
        kind = draw(st.integers(0, 4))
        hints.append(derived.a * value + derived.b if kind == 1 else value)
        specs.append({1: derived, 2: Auto(), 3: Dynamic()}.get(kind, named))
    pick = st.tuples(st.sampled_from(LINEAR), st.integers(0, 1), st.integers(0, 1), st.integers(1, 4),
                     st.integers(0, 6))
    picks = draw(st.lists(pick, min_size=1, max_size=3))

    def questions(*sizes: Any) -> list[Any]:
        return [kind(as_int(sizes[i]), as_int(sizes[j]), hints[i], hints[j], a, k) for kind, i, j, a, k in picks]

    return hints, specs, questions


def values(spec: DimSpec) -> range:
    """The values of what a spec varies: its root, or the size."""
    root = spec.root if isinstance(spec, Derived) else spec
    assert isinstance(root, Named | Auto | Dynamic)
    return range(int(max(root.lo, 0)), int(min(root.hi, BOX)) + 1)


def size(spec: DimSpec, value: int) -> int:
    return spec.a * value + spec.b if isinstance(spec, Derived) else value


def admitted(run: Run) -> list[tuple[int, ...]]:
    """The values of the specs for which each question has the example's answer."""
    _, specs, questions = run
    return [point for point in itertools.product(*map(values, specs))
            if all(q is TRUE for q in questions(*map(size, specs, point)))]


def promised(spec: DimSpec) -> list[int]:
    """What a named spec promises to take, as far as it is looked at: without `min`, sizes of FEW and more."""
    root = spec.root if isinstance(spec, Derived) else spec
    assert isinstance(root, Named)
    found = [v for v in values(spec) if v <= WINDOW]
    return found if root.lo > 0 else [v for v in found if size(spec, v) >= FEW]


def violated(solution: Solution, i: int) -> set[str]:
    """The kinds of violations of the i-th dimension's spec."""
    return {v.kind for v in solution.violations if v.symbol in symbols_of(solution.table.sizes[i])}


@given(runs())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_violation_is_a_broken_promise(run: Run) -> None:
    solution = trace(*run)
    points = admitted(run)
    alone = len(run[2](*run[0])) == 1  # several may leave together what no interval and no residue shows
    for i, spec in enumerate(run[1]):
        taken = {point[i] for point in points}
        kinds = violated(solution, i)
        if isinstance(spec, Named | Derived):
            broken = [v for v in promised(spec) if v not in taken]
            assert not broken or kinds or not alone, (broken, solution.report())
            if kinds - {"related"}:
                root = spec.root if isinstance(spec, Derived) else spec
                everything = [v for v in values(spec) if root.lo > 0 or size(spec, v) >= FEW]
                assert any(v not in taken for v in everything), solution.report()
        elif isinstance(spec, Dynamic):
            assert (len(taken) == 1) == bool(kinds), (taken, solution.report())


@given(runs())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_two_named_dimensions_are_tied_exactly_where_it_is_said(run: Run) -> None:
    """Tied: each value of the one goes with one value of the other, and several do."""
    solution, points = trace(*run), admitted(run)
    if not all(isinstance(spec, Named) for spec in run[1]):
        return
    partners: dict[int, set[int]] = {}
    for one, other in points:
        partners.setdefault(one, set()).add(other)
    tied = len(points) > 3 and len(partners) == len(points) == len({other for _, other in points})
    said = {v.kind for v in solution.violations}
    assert not tied or said
    assert "related" not in said or len(partners) == len(points) or len({o for _, o in points}) == len(points)
