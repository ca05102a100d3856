"""Suggested fixes: what is printed is Python that constructs torch Dims, and with it the violations are gone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_lite.symbolic_shapes import as_int, eq, ge, ne
from dynamo_lite.symbolic_shapes.dims import suggestions
from dynamo_lite.symbolic_shapes.dims.dim_source import compose, read, write
from dynamo_lite.symbolic_shapes.dims.specs import Auto, Constant, Derived, Dynamic, InvalidSpec, Named
from dynamo_lite.symbolic_shapes.dims.suggestions import respecified
from dynamo_lite.symbolic_shapes.dims.violations import Solution, solve
from dynamo_lite.symbolic_shapes.expressions.expr import INF
from tests.symbolic_shapes.dim_cases import Questions, trace
from tests.symbolic_shapes.test_simplify import QUIET

B, C, D = Named("b"), Named("c"), Named("d")

FIXES: dict[str, tuple[list[int], list[Any], Questions, list[str]]] = {
    "a maximum": ([8], [B], lambda x: [x <= 9], ["b = Dim('b', max=9)"]),
    "a minimum": ([8], [Named("b", 0, 64)], lambda x: [x >= 4], ["b = Dim('b', min=4, max=64)"]),
    "a constant": ([8], [B], lambda x: [eq(x, 8)], ["b = 8"]),
    "dynamic, specialised": ([8], [Dynamic()], lambda x: [eq(x, 8)], ["dynamic_shapes['x0'][0] = Dim.AUTO"]),
    "the same": ([8, 8], [B, C], lambda x, y: [eq(x, y)], ["b = Dim('b')", "c = b"]),
    "an offset": ([8, 10], [B, C], lambda x, y: [eq(y, x + 2)], ["b = Dim('b')", "c = b + 2"]),
    "an offset down gets a minimum": ([8, 6], [B, C], lambda x, y: [eq(y, x - 2)],
                                      ["b = Dim('b', min=2)", "c = b - 2"]),
    "a multiple": ([8, 20], [B, C], lambda x, y: [eq(y, x * 2 + 4)], ["b = Dim('b')", "c = 2*b + 4"]),
    "a multiple of the newer": ([20, 8], [B, C], lambda x, y: [eq(x, y * 2 + 4)], ["c = Dim('c')", "b = 2*c + 4"]),
    "divisible": ([8], [B], lambda x: [eq(x % 4, 0)], ["_b = Dim('_b')", "b = 4*_b"]),
    "divisible, in a range": ([8], [B], lambda x: [eq(x % 4, 0), x >= 3, x <= 33],
                              ["_b = Dim('_b', min=1, max=8)", "b = 4*_b"]),
    "a remainder": ([9], [B], lambda x: [eq(x % 4, 1), x >= 3], ["_b = Dim('_b', min=1)", "b = 4*_b + 1"]),
    "two remainders": ([8], [B], lambda x: [eq(x % 4, 0), eq(x % 6, 2)], ["_b = Dim('_b')", "b = 12*_b + 8"]),
    "divisible and followed": ([8, 10], [B, C], lambda x, y: [eq(x % 4, 0), eq(y, x + 2)],
                               ["_b = Dim('_b')", "b = 4*_b", "c = 4*_b + 2"]),
    "decreasing: no Dim says that": ([8, 12], [B, C], lambda x, y: [eq(x + y, 20)],
                                     ["b = Dim('b', max=20)", "c = Dim.DYNAMIC"]),
    "a hole below": ([8], [B], lambda x: [ne(x, 5)], ["b = Dim('b', min=6)"]),
    "a hole above": ([4], [B], lambda x: [ne(x, 5)], ["b = Dim.DYNAMIC"]),
    "the root of a derived dim": ([8, 17], [B, Derived(B, 2, 1)], lambda x, y: [y <= 41], ["b = Dim('b', max=20)"]),
    "the root of a derived dim, divisible": ([8, 17], [B, Derived(B, 2, 1)], lambda x, y: [eq(y % 8, 1)],
                                             ["_b = Dim('_b')", "b = 4*_b"]),
    "a root that no input has": ([8], [Derived(Named("k"), 4, 0)], lambda x: [x <= 41], ["k = Dim('k', max=10)"]),
    "half of a free one": ([8, 4], [B, Auto()], lambda x, y: [eq(x, y * 2)], ["_b = Dim('_b')", "b = 2*_b"]),
    "all at once": ([8, 5, 10, 7], [B, D, C, Named("e")],
                    lambda x, d, y, e: [eq(x % 4, 0), eq(y, x + 2), eq(d, 5), e < 10],
                    ["_b = Dim('_b')", "d = 5", "e = Dim('e', max=9)", "b = 4*_b", "c = 4*_b + 2"]),
    "followers of a name that is given up": (
        [8, 5], [B, Derived(Named("k"), 2, 1)], lambda x, y: [eq(((y // 2) * (y // 2)) % 3, 1)],
        ["dynamic_shapes['x1'][0] = Dim.DYNAMIC"]),
    "a hole that leaves little above": ([9], [Named("b", 2, 9)], lambda x: [ne(x, 8)],
                                        ["b = Dim.DYNAMIC(min=2, max=9)"]),
    "two holes far below": ([300], [B], lambda x: [ne(x, 11), ne(x, 47)], ["b = Dim('b', min=48)"]),
    "a hole that leaves most above": ([9], [Named("b", 2, 9)], lambda x: [ne(x, 3)], ["b = Dim('b', min=4, max=9)"]),
    "given up within its range": ([4], [Named("b", 2, 64)], lambda x: [ne(x, 5)], ["b = Dim.DYNAMIC(min=2, max=64)"]),
    "what another one leaves": ([8, 5], [B, Auto()], lambda x, y: [x <= y * 2, y < 7], ["b = Dim('b', max=12)"]),
    "a sum leaves each no more than all of it": ([8, 5], [B, Named("c", 1)], lambda x, y: [x + y <= 50],
                                                 ["b = Dim('b', max=49)", "c = Dim('c', min=1, max=50)"]),
    "a residue from an equation that no name is solved for": (
        [4, 8], [B, Dynamic()], lambda x, y: [eq(x * 3 + 4, y * 2), y <= 50], ["_b = Dim('_b', max=16)", "b = 2*_b"]),
    "half of a free one that has a range": ([8, 4], [B, Auto()], lambda x, y: [eq(x, y * 2), y <= 10],
                                            ["_b = Dim('_b', max=10)", "b = 2*_b"]),
    "a name that is taken": ([8, 3], [B, Named("_b")], lambda x, y: [eq(x % 4, 0)], ["__b = Dim('__b')", "b = 4*__b"]),
}


@pytest.mark.parametrize("hints, specs, questions, lines", FIXES.values(), ids=FIXES)
def test_suggested_lines(hints: list[int], specs: list[Any], questions: Questions, lines: list[str]) -> None:
    fix = trace(hints, specs, questions).suggestion
    assert fix is not None and list(fix.lines) == lines


def parsed(message: str) -> list[str]:
    """The lines that a user copies out of the error message."""
    return [line.strip() for line in message.split("Suggested fixes:")[1].strip().splitlines()]


def pasted(solution: Solution, specs: list[Any], dim_class: Any) -> list[Any]:
    """The specs after executing the suggested lines, with the given class as `Dim`."""
    places: dict[str, list[Any]] = {f"x{i}": [spec] for i, spec in enumerate(specs)}
    names: dict[str, Any] = {"Dim": dim_class, "dynamic_shapes": places}
    for line in parsed(solution.report()):
        exec(line, names)
    out = []
    for place in places.values():
        spec = place[0]
        if isinstance(spec, Named):
            spec = names.get(spec.name, spec)
        elif isinstance(spec, Derived):
            root = names.get(spec.root.name)
            spec = spec if root is None else spec.a * root + spec.b
        out.append(spec)
    return out


@pytest.mark.parametrize("hints, specs, questions, lines", FIXES.values(), ids=FIXES)
def test_pasted_into_torch_it_solves(hints: list[int], specs: list[Any], questions: Questions,
                                     lines: list[str]) -> None:
    export = pytest.importorskip("torch.export")
    first = trace(hints, specs, questions)
    assert first.violations
    again = trace(hints, pasted(first, specs, export.Dim), questions)
    assert again.violations == (), again.report()


@pytest.mark.parametrize("name", [n for n, row in FIXES.items() if not any("Dim." in line for line in row[3])])
def test_torchs_own_helper_reads_the_message(name: str) -> None:
    shapes = pytest.importorskip("torch.export.dynamic_shapes")
    hints, specs, questions, _ = FIXES[name]
    if any(isinstance(s, Derived) for s in specs):
        pytest.skip("the helper does not follow the root of a derived Dim into an expression")
    given = {f"x{i}": (shapes.Dim(s.name, min=s.lo or None, max=s.hi if isinstance(s.hi, int) else None)
                       if isinstance(s, Named) else None,) for i, s in enumerate(specs)}
    refined = shapes.refine_dynamic_shapes_from_suggested_fixes(trace(hints, specs, questions).report(), given)
    new = [refined[f"x{i}"][0] if isinstance(s, Named) else s for i, s in enumerate(specs)]
    assert trace(hints, new, questions).violations == ()


# -- random runs ------------------------------------------------------------------------------------------------
KINDS = [  # on two sizes x, y with the example values h, o; a and k are small numbers
    lambda x, y, h, o, a, k: x <= h + k,
    lambda x, y, h, o, a, k: ge(x, max(h - k, 0)),
    lambda x, y, h, o, a, k: eq(x % a, h % a),
    lambda x, y, h, o, a, k: ne(x, h + k + 1),
    lambda x, y, h, o, a, k: eq(x, y * a + (h - a * o)),
    lambda x, y, h, o, a, k: x + y >= max(h + o - k, 0),
    lambda x, y, h, o, a, k: eq(x * a - y * k, h * a - o * k),
    lambda x, y, h, o, a, k: eq((x * y) % a, (h * o) % a),
    lambda x, y, h, o, a, k: eq(x // a, h // a),
    lambda x, y, h, o, a, k: x * a - y <= h * a - o + k,
]


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[int], list[Any], Questions]:
    """Three dimensions, and questions of the kinds that models ask, true at the example."""
    hints, specs = [], []
    for name in "bcd":
        named = Named(name, draw(st.sampled_from((0, 1))), draw(st.sampled_from((INF, 64))))
        kind, value = draw(st.integers(0, 5)), draw(st.integers(2, 40))
        derived = Derived(named, draw(st.integers(1, 3)), draw(st.integers(0, 3)))
        hints.append(derived.a * value + derived.b if kind == 3 else value)
        specs.append({3: derived, 4: Dynamic(), 5: Auto()}.get(kind, named))
    picks = draw(st.lists(st.tuples(st.integers(0, len(KINDS) - 1), st.integers(0, 2), st.integers(0, 2),
                                    st.integers(1, 6), st.integers(0, 12)), min_size=1, max_size=4))

    def questions(*sizes: Any) -> list[Any]:
        return [KINDS[kind](as_int(sizes[i]), as_int(sizes[j]), hints[i], hints[j], a, k) for kind, i, j, a, k in picks]

    return hints, specs, questions


@given(runs())
@settings(QUIET, max_examples=150)
def test_a_suggestion_solves_whatever_was_asked(run: tuple[list[int], list[Any], Questions]) -> None:
    hints, specs, questions = run
    solution = trace(hints, specs, questions)
    if solution.violations:
        assert solution.suggestion is not None, solution.report()
        assert not re.search(r"oo|inf", "\n".join(solution.suggestion.lines))
        new = read(parsed(solution.report()))
        changed = [new.get(f"dynamic_shapes['x{i}'][0]") or respecified(s, new) for i, s in enumerate(specs)]
        again = trace(hints, changed, questions)
        assert again.violations == (), (solution.report(), again.report())


@pytest.mark.parametrize("wrong", [
    {"b": Named("b", 0, 64)},  # solves nothing
    {"b": Constant(7)},  # is not the example
    {"b": Named("b", 30, 64)},  # the example is outside
    {"b": Derived(Named("_b"), 3, 0)},  # a multiple of the wrong number
])
def test_a_proposal_that_does_not_solve_is_not_shown(wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    solution = trace([8], [B], lambda x: [eq(x % 4, 0)])
    monkeypatch.setattr(suggestions._Proposal, "definitions", lambda self: wrong)
    assert suggestions.suggest(solution, solve) is None
    assert "No change of the specs was found" in solution.report()


# -- the language of the lines -----------------------------------------------------------------------------------------
def test_lines_are_read_as_they_are_written() -> None:
    root = Named("_b", 1, 8)
    definitions = {"b": Derived(root, 4, 0), "c": Derived(root, 4, -2), "d": Constant(5), "e": Named("e", 0, 9),
                   "shapes['x'][0]": Auto(), "f": Dynamic(3, 7), "g": root}
    assert read(write(definitions)) == {"_b": root, **definitions}


@pytest.mark.parametrize("line", [
    "b = Dim('b', max=oo)", "b = 32 - c", "b == 4", "b = c + 2", "b = Dim('b', min=4, max=4)", "import os",
    "b = Dim(b)",
    "b = -1*4", "b = Dim('b', 3)"])
def test_what_is_no_definition_is_refused(line: str) -> None:
    with pytest.raises(InvalidSpec):
        read(["Dim_c = Dim('c')", line])


def test_a_derived_dim_that_goes_negative_is_refused() -> None:
    with pytest.raises(InvalidSpec, match="negative"):
        read(["b = Dim('b')", "c = 2*b - 4"])


def test_composition() -> None:
    assert compose(2, Derived(B, 3, 1), 4) == Derived(B, 6, 6)
    assert compose(1, B, 0) is B
    assert compose(3, Constant(2), 1) == Constant(7)
    assert compose(3, Dynamic(1, 2), 1) == Dynamic(4, 7)
