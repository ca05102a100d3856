"""What the guards of a run admit, against what the run asked: point by point around the example."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given

from dynamo_lite.symbolic_shapes import Origin, ShapeEnv, as_int
from dynamo_lite.symbolic_shapes.dims.specs import Constant, Derived, DimSpec, Hint, Named, Static
from dynamo_lite.symbolic_shapes.dims.symbols import declare
from dynamo_lite.symbolic_shapes.dims.violations import solve
from dynamo_lite.symbolic_shapes.expressions.relations import TRUE
from tests.symbolic_shapes.dim_cases import Questions, input_dims, trace
from tests.symbolic_shapes.guard_cases import cases
from tests.symbolic_shapes.test_guards_codegen import admitted
from tests.symbolic_shapes.test_simplify import QUIET, simplify
from tests.symbolic_shapes.test_suggestions import runs
from tests.symbolic_shapes.z3_oracle import equivalent


def says(spec: DimSpec, hint: int, size: int) -> bool:
    """Whether a spec admits a size, by its definition."""
    if isinstance(spec, Static | Constant):
        return size == hint
    if isinstance(spec, Derived):
        root, remainder = divmod(size - spec.b, spec.a)
        return remainder == 0 and spec.root.lo <= root <= spec.root.hi
    assert isinstance(spec, Named | Hint)
    return spec.lo <= size <= spec.hi


@given(runs())
@QUIET
def test_the_code_admits_the_sizes_for_which_every_question_has_the_examples_answer(
        run: tuple[list[int], list[Any], Questions]) -> None:
    hints, specs, questions = run
    code = trace(hints, specs, questions).guards_as_code()
    for sizes in itertools.product(*(range(max(0, h - 3), h + 4) for h in hints)):
        expected = all(map(says, specs, hints, sizes)) and all(q is TRUE for q in questions(*map(as_int, sizes)))
        inputs = {f"x{i}": SimpleNamespace(size=lambda n=n: (n,)) for i, n in enumerate(sizes)}
        assert admitted(code, inputs) == expected, (sizes, code)


def test_shared_and_derived_dims_are_checked() -> None:
    b = Named("b", 1, 9)
    code = trace([4, 4, 9], [b, b, Derived(b, 2, 1)], lambda x, y, z: []).guards_as_code()
    for sizes, expected in {(4, 4, 9): True, (5, 5, 11): True, (4, 5, 9): False, (4, 4, 11): False, (10, 10, 21): False,
                            (0, 0, 1): False}.items():
        inputs = {f"x{i}": SimpleNamespace(size=lambda n=n: (n,)) for i, n in enumerate(sizes)}
        assert admitted(code, inputs) is expected, sizes


def test_a_root_that_is_no_size_itself_is_not_negative() -> None:
    """d is the size minus 1: its range starts at 0, and a size of 0 is no d + 1."""
    code = trace([3], [Derived(Named("d"), 1, 1)], lambda x: []).guards_as_code()
    admits = [n for n in range(4) if admitted(code, {"x0": SimpleNamespace(size=lambda n=n: (n,))})]
    assert admits == [1, 2, 3]


def test_what_another_dimension_subtracts_says_nothing_of_a_root() -> None:
    """y is d + 2, so d is -2 where y is 0; x, which is r - 2, has no d in it."""
    code = trace([1, 3], [Derived(Named("r", 2), 1, -2), Derived(Named("d"), 1, 2)], lambda x, y: []).guards_as_code()
    admits = [n for n in range(5) if admitted(code, {"x0": SimpleNamespace(size=lambda: (1,)),
                                                     "x1": SimpleNamespace(size=lambda n=n: (n,))})]
    assert admits == [2, 3, 4]


def test_a_symbol_of_the_callers_own_is_a_guard_by_its_source() -> None:
    env = ShapeEnv()
    table = declare(env, input_dims([8], [Named("b")]))
    flag = env.backed(3, source="L['flag']")
    for relation in (flag <= table.sizes[0], flag >= 2):
        env.evaluate(relation, Origin("user line"))
    assert solve(table, env.facts).guards_as_code() == ["L['flag'] >= 2", "L['flag'] <= L['x0'].size()[0]"]


def test_facts_about_unbacked_symbols_are_left_to_run_time() -> None:
    env = ShapeEnv()
    table = declare(env, input_dims([8], [Named("b")]))
    env.assume(env.unbacked() <= table.sizes[0])
    assert solve(table, env.facts).guards_as_code() == []


@given(cases())
@QUIET
def test_z3_has_no_counterexample(case: Any) -> None:
    """Bounded by z3's resource limit: it may give up, but never disagree."""
    pytest.importorskip("z3")
    symbols = case.symbols()
    assert equivalent(simplify(case.facts(symbols), symbols.values())) in (True, None)
