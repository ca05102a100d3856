"""The surface of torch 2.1: dynamic_dim, comparisons of it, ranges of values in the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_lite import dynamic_dim
from dynamo_lite.errors import InvalidArguments
from dynamo_lite.symbolic_shapes.expressions.expr import INF
from tests.dynamic.spec_cases import declared, sizes, tensor


def xy(x: Any, y: Any) -> None: ...


def one(x: Any) -> None: ...


X, Y = tensor(4, 5), tensor(9, 4)


def test_dynamic_dims() -> None:
    constraints = [2 <= dynamic_dim(X, 0) <= 10, dynamic_dim(X, 0) == dynamic_dim(Y, 1), dynamic_dim(Y, 0) > 3]
    inputs, _ = declared(xy, (X, [Y]), None, constraints=constraints)
    assert sizes(xy, (X, [Y]), None, constraints=constraints) == {
        "x.shape[0]": "s0", "y[0].shape[0]": "s1", "y[0].shape[1]": "s0"}
    assert [(s.lo, s.hi) for s in inputs.table.symbols()] == [(2, 10), (4, INF)]


@given(st.lists(st.tuples(st.sampled_from(["<=", "<", ">=", ">"]), st.integers(0, 9), st.booleans()), max_size=4))
@settings(max_examples=60)
def test_comparisons_of_dynamic_dims(bounds: list[tuple[str, int, bool]]) -> None:
    """However it is written, and in how many constraints: the range is the one that Python's comparisons say."""
    flip = {"<=": ">=", "<": ">", ">=": "<=", ">": "<"}
    texts = [f"{v} {flip[op]} d" if swap else f"d {op} {v}" for op, v, swap in bounds]
    d = dynamic_dim(tensor(4), 0)
    constraints = [d, *(eval(text, {"d": d}) for text in texts)]
    admitted = [n for n in range(12) if all(eval(f"{n} {op} {v}") for op, v, _ in bounds)]
    x = constraints[0].tensor
    if len(admitted) < 2 or 4 not in admitted:
        try:
            found = sizes(one, (x,), None, constraints=constraints)
        except InvalidArguments:
            return
        assert found == {} and admitted == [4]  # the one size that the example has
        return
    inputs, _ = declared(one, (x,), None, constraints=constraints)
    (symbol,) = inputs.table.symbols()
    assert [n for n in range(12) if symbol.lo <= n <= symbol.hi] == admitted


@given(st.integers(0, 6), st.integers(0, 6))
def test_chained_comparisons_of_dynamic_dims(lo: int, more: int) -> None:
    x = tensor(lo + 1)
    inputs, _ = declared(one, (x,), None, constraints=[lo <= dynamic_dim(x, 0) < lo + 3 + more])
    (symbol,) = inputs.table.symbols()
    assert (symbol.lo, symbol.hi) == (lo, lo + 2 + more)


CONSTRAINTS_REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no tensor": (lambda: dynamic_dim(3, 0), "dynamic_dim needs a tensor"),
    "no dimension": (lambda: dynamic_dim(X, 2), "2 is not a dimension of a tensor of shape"),
    "no number": (lambda: dynamic_dim(X, 0) < 2.5, "compared with ints"),
    "not an input": (lambda: sizes(one, (X,), None, constraints=[dynamic_dim(Y, 0)]), "not among the inputs"),
    "no constraint": (lambda: sizes(one, (X,), None, constraints=[3]), "constraints holds 3"),
    "no size left": (lambda: sizes(one, (X,), None, constraints=[6 <= dynamic_dim(X, 0) <= 5]), "leave no size"),
    "another size": (lambda: sizes(one, (X,), None, constraints=[dynamic_dim(X, 0) <= 3]), "x.shape[0] is 4"),
    "equal, but not in the example": (
        lambda: sizes(xy, (X, Y), None, constraints=[dynamic_dim(X, 0) == dynamic_dim(Y, 0)]), "share Dim"),
    "both surfaces": (lambda: sizes(one, (X,), {"x": None}, constraints=[]), "not both"),
}


@pytest.mark.parametrize("make, message", CONSTRAINTS_REFUSED.values(), ids=CONSTRAINTS_REFUSED)
def test_constraints_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        make()
    assert message in str(caught.value)
