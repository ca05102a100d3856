"""What a suggested spec gives up, in words: the numbers are those of an enumeration."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dynamo_lite.symbolic_shapes.dims.costs import _left, costs
from dynamo_lite.symbolic_shapes.dims.specs import Auto, Constant, Derived, DimSpec, InvalidSpec, Named
from dynamo_lite.symbolic_shapes.expressions.expr import INF


def values(spec: DimSpec, most: int) -> set[int]:
    """The sizes that a spec takes, up to `most`."""
    if isinstance(spec, Constant):
        return {spec.value}
    if isinstance(spec, Derived):
        return {spec.a * root + spec.b for root in values(spec.root, most)}
    assert isinstance(spec, Named)
    return {size for size in range(most + 1) if spec.lo <= size <= spec.hi}


ENDS = st.integers(0, 40)


@st.composite
def specs(draw: st.DrawFn) -> DimSpec:
    kind = draw(st.sampled_from(["constant", "named", "derived"]))
    if kind == "constant":
        return Constant(draw(ENDS))
    lo = draw(ENDS)
    named = Named("b", lo, lo + draw(st.integers(1, 30)))
    if kind == "named":
        return named
    try:
        return Derived(named, draw(st.integers(1, 6)), draw(st.integers(-5, 5)))
    except InvalidSpec:
        assume(False)
        raise


@given(specs(), ENDS, st.integers(1, 60))
def test_the_numbers_are_right(new: DimSpec, lo: int, length: int) -> None:
    old = Named("b", lo, lo + length)
    promised = values(old, 500)
    taken = values(new, 500) & promised
    assume(taken)
    text = _left(old, new)
    if text is None:
        assert taken == promised
        return
    found = re.match(r"(\d+) of the (\d+) sizes", text)
    assert found is not None, text
    assert (int(found[1]), int(found[2])) == (len(taken), len(promised))


CASES = {
    "multiples": (Named("b", 1), Derived(Named("_b", 1), 4, 0), "multiples of 4 only"),
    "a remainder": (Named("b", 1, 100), Derived(Named("_b", 0, 14), 7, 1),
                    "15 of the 100 sizes that it promises: those that leave 1 when divided by 7"),
    "one": (Named("b", 1), Constant(8), "8 only"),
    "a lower end": (Named("b", 1), Named("b", 6), "no size below 6"),
    "both ends": (Named("b", 1, 64), Named("b", 6, 9),
                  "4 of the 64 sizes that it promises: no size below 6 and no size above 9"),
    "an upper end": (Named("b", 1, INF), Named("b", 1, 9), "no size above 9"),
    "nothing": (Named("b", 1), Auto(), None),
}  # fmt: skip


@pytest.mark.parametrize("old, new, text", CASES.values(), ids=CASES)
def test_words(old: Named, new: DimSpec, text: str | None) -> None:
    assert _left(old, new) == text


def test_the_root_of_a_derived_dim_is_a_promise_as_well() -> None:
    """`2 * n` is given, and n has to be even."""
    root = Named("n", 1, 128)
    table = SimpleNamespace(specs=[Derived(root, 2, 0)])
    found = costs(table, {"n": Derived(Named("_n", 1, 64), 2, 0)})  # type: ignore[arg-type]
    assert found == ["n takes 64 of the 128 sizes that it promises: multiples of 2"]
