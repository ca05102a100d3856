"""Comparison of atoms: exact in type and value. The oracle is repr, which tells apart what `==` does not."""

from __future__ import annotations

import collections
import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dynamo_lite.guards.values import describe, is_atom, same_atom, same_items, same_keys, same_set

SIMPLE: Any = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0.0, -0.0, 1.0, 2.0, float("nan"), float("inf"), 1j, 0j, -0j, "", "a", b"a", ...]),
)
ATOMS: Any = st.recursive(SIMPLE, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4)


class Sly:
    """Equal to everything."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("a guard called a __eq__ of the program")

    __hash__ = None  # type: ignore[assignment]


@given(ATOMS, ATOMS)
def test_same_atom_is_equality_of_type_and_value(a: Any, b: Any) -> None:
    assert same_atom(a, b) == (repr(a) == repr(b))


@given(ATOMS)
def test_an_equal_copy_is_the_same(a: Any) -> None:
    assert is_atom(a)
    assert same_atom(pickle.loads(pickle.dumps(a)), a)


@given(st.lists(SIMPLE, max_size=4), st.lists(SIMPLE, max_size=4))
def test_same_items_of_lists(a: list[Any], b: list[Any]) -> None:
    assert same_items(a, b) == (repr(a) == repr(b))
    assert same_items(collections.deque(a), b) == (repr(a) == repr(b))


@given(st.dictionaries(st.integers(0, 3), st.none()), st.dictionaries(st.integers(0, 3), st.none()))
def test_same_keys_is_about_order_too(a: dict[int, None], b: dict[int, None]) -> None:
    assert same_keys(a, list(b)) == (list(a) == list(b))
    assert same_keys(collections.OrderedDict(a), list(b)) == (list(a) == list(b))


def test_keys_of_equal_value_and_other_type_differ() -> None:
    assert not same_keys({1: None}, [True])
    assert not same_keys({1.0: None}, [1])


@given(st.sets(SIMPLE.filter(lambda x: x == x)), st.sets(SIMPLE.filter(lambda x: x == x)))
def test_equal_sets_of_atoms_are_the_same(a: set[Any], b: set[Any]) -> None:
    if same_set(a, frozenset(b)):
        assert a == b
    assert same_set(a, frozenset(a))


def test_no_comparison_runs_code_of_the_program() -> None:
    assert not same_atom(Sly(), 1)
    assert not same_items([Sly()], [1])
    assert not is_atom(Sly()) and not is_atom((Sly(),))
    assert describe(Sly()).endswith("Sly")
