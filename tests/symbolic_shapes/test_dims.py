"""Dim specs: read from any object, declared as symbols, compared with the guards."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dynamo_lite.symbolic_shapes import ShapeEnv, eq, ge, le, ne
from dynamo_lite.symbolic_shapes.dims.specs import Auto, Constant, Derived, Dynamic, InvalidSpec, Named, Static, as_spec
from dynamo_lite.symbolic_shapes.dims.symbols import InputDim, InvalidDims, declare
from dynamo_lite.symbolic_shapes.expressions.expr import INF
from tests.symbolic_shapes.dim_cases import Questions, input_dims, trace

B, C = Named("b"), Named("c")


# -- reading specs --------------------------------------------------------------------------------------------------
def test_torch_dims_are_taken_as_they_are() -> None:
    export = pytest.importorskip("torch.export")
    b = export.Dim("b", min=2, max=64)
    given = [None, 5, export.Dim.STATIC, export.Dim.AUTO, export.Dim.AUTO(min=3), export.Dim.DYNAMIC(max=9), b,
             export.Dim("c"), 2 * b + 1, 3 * (2 * b - 1) + 4]
    assert [as_spec(g) for g in given] == [
        Static(), Constant(5), Static(), Auto(), Auto(3), Dynamic(hi=9), Named("b", 2, 64), Named("c", 0, INF),
        Derived(Named("b", 2, 64), 2, 1), Derived(Named("b", 2, 64), 6, 1)]


def test_a_spec_writes_itself_as_torch_would_read_it() -> None:
    export = pytest.importorskip("torch.export")
    specs = Constant(5), Static(), Static(2, 4), Auto(), Auto(3, 9), Dynamic(), Dynamic(hi=9), Named("b", 2, 64), B
    for spec in specs:
        assert as_spec(eval(spec.to_python(), {"Dim": export.Dim})) == spec
    derived = Derived(Named("b", 2, 64), 3, -4)
    assert as_spec(eval(derived.to_python(), {"b": export.Dim("b", min=2, max=64)})) == derived


@pytest.mark.parametrize("given", [True, "b", 1.5, object(), SimpleNamespace(min=1, max=2), int])
def test_what_is_no_spec_is_refused(given: Any) -> None:
    with pytest.raises(InvalidSpec, match="does not specify a dimension"):
        as_spec(given)


MALFORMED = [
    (lambda: Named("1b"), "an identifier"),
    (lambda: Named("b", 4, 4), "no range"),
    (lambda: Derived(B, 0, 1), "increasing"),
    (lambda: Derived(B, 2, -4), "negative for b = 0"),
    (lambda: Derived(Named("b", 0, 2**62), 4, 0), "more than"),
]


@pytest.mark.parametrize("make, why", MALFORMED)
def test_specs_that_would_not_construct_are_refused(make: Any, why: str) -> None:
    with pytest.raises(InvalidSpec, match=why):
        make()


# -- declaring --------------------------------------------------------------------------------------------------------
def test_sizes_follow_the_specs() -> None:
    specs = [None, 7, Auto(), Auto(), Dynamic(), B, B, Derived(B, 2, 1), Derived(Named("k"), 4, 0)]
    table = declare(ShapeEnv(), input_dims([3, 7, 9, 1, 1, 5, 5, 11, 8], specs))
    assert [str(s) for s in table.sizes] == ["3", "7", "s0", "1", "s1", "s2", "s2", "2*s2 + 1", "4*s3"]
    assert [s.hint for s in table.symbols()] == [9, 1, 5, 2]
    assert table.notes == ("x3.shape[0] is static: Dim.AUTO, and it is 1 in the example",)
    assert table.structure() == [
        "L['x6'].size()[0] == L['x5'].size()[0]", "L['x7'].size()[0] == 2*L['x5'].size()[0] + 1",
        "L['x8'].size()[0] == 4*(L['x8'].size()[0] // 4)"]


MISFITS = [
    ([3], [5], "x0.shape\\[0\\] is 3 in the example, its spec is 5"),
    ([3], [Named("b", 4)], "is 3 \\(b is 3\\) in the example, outside of Dim\\('b', min=4\\)"),
    ([3], [Dynamic(hi=2)], "outside of Dim.DYNAMIC\\(max=2\\)"),
    ([3, 4], [B, B], "share Dim b, but in the example it would be 4 for the one and 3 for the other"),
    ([3, 3], [B, Named("b", 2)], "one name with two ranges"),
    ([4], [Derived(B, 2, 1)], "no b makes 2\\*b \\+ 1 that"),
    ([3, 8], [B, Derived(B, 2, 0)], "share Dim b"),
    ([3], ["b"], "dynamic_shapes\\['x0'\\]\\[0\\]: 'b' \\(str\\) does not specify"),
]


@pytest.mark.parametrize("hints, specs, why", MISFITS)
def test_specs_that_do_not_fit_the_example_are_refused(hints: list[int], specs: list[Any], why: str) -> None:
    with pytest.raises(InvalidDims, match=why):
        declare(ShapeEnv(), input_dims(hints, specs))


def test_every_misfit_is_listed() -> None:
    with pytest.raises(InvalidDims) as info:
        declare(ShapeEnv(), input_dims([3, 9], [5, Named("b", 10)]))
    assert len(info.value.problems) == 2


def test_an_integer_argument_may_be_negative() -> None:
    table = declare(ShapeEnv(), [InputDim("L['n']", -3, Dynamic(), is_size=False)])
    symbol, = table.symbols()
    assert symbol.lo == -INF and table.integers() == {symbol}


# -- violations --------------------------------------------------------------------------------------------------------
VIOLATIONS: dict[str, tuple[list[int], list[Any], Questions, list[tuple[str, str]]]] = {
    "nothing asked": ([8], [B], lambda x: [], []),
    "a dynamic dim may get a range": ([8], [Dynamic()], lambda x: [x <= 9, eq(x % 4, 0)], []),
    "an auto dim may be specialised": ([8], [Auto()], lambda x: [eq(x, 8)], []),
    "dynamic, specialised": ([8], [Dynamic()], lambda x: [eq(x, 8)],
                             [("specialised", "x0.shape[0] (Dim.DYNAMIC): the program only works for 8")]),
    "named, specialised": ([8], [B], lambda x: [eq(x, 8)],
                           [("specialised", "x0.shape[0] (Dim('b')): the program only works for 8")]),
    "specialised by bounds": ([8], [B], lambda x: [x >= 8, x <= 8],
                              [("specialised", "x0.shape[0] (Dim('b')): the program only works for 8")]),
    "range": ([8], [Named("b", 2, 64)], lambda x: [x <= 9, x >= 1],
              [("range", "x0.shape[0] (Dim('b', min=2, max=64)): x0.shape[0] <= 9 must hold")]),
    "both ends": ([8], [B], lambda x: [x <= 9, x >= 4],
                  [("range", "x0.shape[0] (Dim('b')): x0.shape[0] >= 4 and x0.shape[0] <= 9 must hold")]),
    "within the range": ([8], [Named("b", 2, 64)], lambda x: [le(x, 64), ge(x, 0), ne(x, 1)], []),
    "divisibility": ([8], [B], lambda x: [eq(x % 4, 0)],
                     [("divisibility", "x0.shape[0] (Dim('b')): x0.shape[0] % 4 == 0 must hold")]),
    "a hole": ([8], [B], lambda x: [ne(x, 5)], [("other", "x0.shape[0] (Dim('b')): x0.shape[0] != 5 must hold")]),
    "related": ([8, 10], [B, C], lambda x, y: [eq(y, x + 2)],
                [("related", "x1.shape[0] (Dim('c')): must always be x0.shape[0] + 2, with x0.shape[0] (Dim('b'))")]),
    "an auto dim follows a named one": ([8, 11], [Auto(), C], lambda x, y: [eq(y, x + 3)],
                                        [("range", "x1.shape[0] (Dim('c')): x1.shape[0] >= 3 must hold")]),
    "an example of 1": ([1], [B], lambda x: [eq(x, 1)],
                        [("specialised", "x0.shape[0] (Dim('b')): the program only works for 1 (operators treat sizes "
                          "of 0 and 1 apart: give an example of 2 or more)")]),
    "one size that is promised": ([3], [Derived(Named("k", 0, 1), 3, 0)], lambda x: [ge(x, 1)], []),
    "two elements are no more than a Dim without min admits": ([8], [B], lambda x: [x >= 2], []),
    "not one element neither": ([8], [B], lambda x: [ne(x, 1)], []),
    "a min is a promise": ([8], [Named("b", 1)], lambda x: [ne(x, 1)],
                           [("range", "x0.shape[0] (Dim('b', min=1)): x0.shape[0] >= 2 must hold")]),
    "half of a free one": ([8, 4], [B, Auto()], lambda x, y: [eq(x, y * 2)],
                           [("divisibility", "x0.shape[0] (Dim('b')): x0.shape[0] % 2 == 0 must hold")]),
    "a derived dim holds by construction": ([8, 17], [B, Derived(B, 2, 1)], lambda x, y: [eq(y, x * 2 + 1), y > x], []),
    "a derived dim against its root": ([8, 16], [B, Derived(B, 2, 0)], lambda x, y: [eq(y, x + 8)],
                                       [("specialised", "x0.shape[0] (Dim('b')): the program only works for 8")]),
    "a root that no input has": ([8], [Derived(Named("k"), 4, 0)], lambda x: [x < 100],
                                 [("range", "k (Dim('k')): k <= 24 must hold")]),
    "what another one leaves": ([8, 5], [B, Auto()], lambda x, y: [x <= y * 2, y < 7],
                               [("range", "x0.shape[0] (Dim('b')): x0.shape[0] <= 12 must hold")]),
    "a sum leaves each no more than all of it": (
        [8, 5], [B, Named("c", 1, 64)], lambda x, y: [x + y <= 50],
        [("range", "x0.shape[0] (Dim('b')): x0.shape[0] <= 49 must hold"),
         ("range", "x1.shape[0] (Dim('c', min=1, max=64)): x1.shape[0] <= 50 must hold")]),
    "a residue from an equation that no name is solved for": (
        [4, 8], [B, Dynamic()], lambda x, y: [eq(x * 3 + 4, y * 2)],
        [("divisibility", "x0.shape[0] (Dim('b')): x0.shape[0] % 2 == 0 must hold")]),
    "a sum of multiples": (
        [12, 2, 3], [Named("b", 0, 40), Auto(), Auto()], lambda x, y, z: [eq(x, y * 3 + z * 6 - 12)],
        [("divisibility", "x0.shape[0] (Dim('b', max=40)): x0.shape[0] % 3 == 0 must hold")]),
    "half of a free one that has a range": (
        [8, 4], [B, Auto()], lambda x, y: [eq(x, y * 2), y <= 10],
        [("range", "x0.shape[0] (Dim('b')): x0.shape[0] <= 20 must hold"),
         ("divisibility", "x0.shape[0] (Dim('b')): x0.shape[0] % 2 == 0 must hold")]),
    "a quotient of a free one": ([4, 9], [Named("b", 2), Auto()], lambda x, y: [eq(x, y // 2), y >= 7],
                                 [("range", "x0.shape[0] (Dim('b', min=2)): x0.shape[0] >= 3 must hold")]),
    "ends within the residue class": ([9], [Named("b", 2, 31)], lambda x: [eq(x % 4, 1)],
                                      [("divisibility", "x0.shape[0] (Dim('b', min=2, max=31)): "
                                        "x0.shape[0] % 4 == 1 must hold")]),
    "inequalities between dims are guards": ([8, 10], [B, C], lambda x, y: [x <= y], []),
    "two named dims that differ": ([8, 10], [B, C], lambda x, y: [ne(x, y)],
                                   [("other", "x0.shape[0] (Dim('b')) and x1.shape[0] (Dim('c')): "
                                     "x0.shape[0] != x1.shape[0] must hold")]),
    "a named dim and a dynamic one that differ": ([8, 10], [B, Dynamic()], lambda x, y: [ne(x, y)], []),
    "dims that differ by their ranges": ([4, 8], [Named("b", 0, 5), Named("c", 6, 9)], lambda x, y: [ne(x, y)], []),
    "products are guards": ([3, 4, 12], [B, C, Named("d")], lambda x, y, z: [eq(x * y, z)], []),
}


@pytest.mark.parametrize("hints, specs, questions, expected", VIOLATIONS.values(), ids=VIOLATIONS)
def test_violations(hints: list[int], specs: list[Any], questions: Questions, expected: list[tuple[str, str]]) -> None:
    solution = trace(hints, specs, questions)
    assert [(v.kind, v.message) for v in solution.violations] == expected


def test_the_error_lists_every_violation_with_its_lines() -> None:
    solution = trace([8, 5, 10], [B, Named("d"), C], lambda x, d, y: [eq(x % 4, 0), eq(y, x + 2), eq(d, 5)])
    text = solution.report()
    assert len(solution.violations) == 3
    for line in (1, 2, 3):
        assert f"because of user line model.py:{line} `question {line}`" in text
    assert not trace([8], [B], lambda x: []).violations


def test_sizes_and_ranges_of_the_tutorial_model() -> None:
    """w:[s0, 5], x:[s2], y:[s3, s2], z:[s2*s3] of the torch.export tutorial."""
    solution = trace([4, 5, 3, 6, 3, 18], [Auto()] * 6,
                     lambda w0, w1, x0, y0, y1, z0: [eq(w1, 5), eq(x0, y1), eq(x0 * y0, z0)])
    assert [str(s) for s in solution.sizes] == ["s0", "5", "s2", "s3", "s2", "s2*s3"]
    assert {str(s): r for s, r in solution.ranges.items()} == {"s0": (0, INF), "s2": (0, INF), "s3": (0, INF)}
