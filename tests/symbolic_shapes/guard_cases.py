"""Shared by the tests of guards: facts written as terms of the oracle's language, on small domains."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from dynamo_lite.symbolic_shapes import Origin, ShapeEnv, Symbol
from dynamo_lite.symbolic_shapes.expressions.relations import TRUE
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from tests.symbolic_shapes.oracle import Term, our_node, python_table, python_value

NAMES = ("a", "b", "c")


@dataclass(frozen=True)
class Case:
    """Facts about three symbols: terms that hold at the hints, each symbol with a declared range."""

    hints: Mapping[str, int]
    ranges: Mapping[str, tuple[int, int]]
    terms: tuple[Term, ...]

    def symbols(self) -> dict[str, Symbol]:
        env = ShapeEnv()
        made = {}
        for name in NAMES:
            lo, hi = self.ranges[name]
            symbol = env.backed(self.hints[name], name=name, lo=lo, hi=hi, source=f"L['{name}']").as_atom()
            assert isinstance(symbol, Symbol)
            made[name] = symbol
        return made

    def facts(self, symbols: Mapping[str, Symbol]) -> list[Fact]:
        """A fact for each term that does not fold to true."""
        nodes = {name: s.as_int() for name, s in symbols.items()}
        relations = [(i, our_node(term, nodes)) for i, term in enumerate(self.terms)]
        return [Fact(k, relation, Origin("user line", "model.py", i + 1, str(self.terms[i])), "guard")
                for k, (i, relation) in enumerate(p for p in relations if p[1] is not TRUE)]

    def points(self) -> Iterator[dict[str, int]]:
        """Every assignment within the ranges."""
        for values in itertools.product(*(range(lo, hi + 1) for lo, hi in self.ranges.values())):
            yield dict(zip(self.ranges, values))

    def holds(self, point: Mapping[str, int]) -> bool:
        """Whether all the terms hold, on Python's ints."""
        return all(python_value(term, point, PYTHON) for term in self.terms)


PYTHON: Mapping[str, Any] = python_table(0)


def at(symbols: Mapping[str, Symbol], point: Mapping[str, int]) -> dict[Symbol, int]:
    return {symbols[name]: value for name, value in point.items()}


# -- hypothesis ---------------------------------------------------------------------------------------------------
LEAVES = st.sampled_from(NAMES) | st.integers(-3, 6)
DIVISORS = st.sampled_from((2, 3, 4, 6, -2, -3))


def _operations(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    by_leaf = st.tuples(st.sampled_from(("+", "-", "*", "max", "min")), inner, LEAVES)
    return by_leaf | st.tuples(st.sampled_from(("//", "%")), inner, DIVISORS)


EXPRESSIONS = st.recursive(LEAVES, _operations, max_leaves=3)
RELATIONS = st.tuples(st.sampled_from(("<", "<=", "==", "!=", ">", ">=")), EXPRESSIONS, LEAVES)
EQUALITIES = st.tuples(st.just("=="), st.sampled_from(NAMES), EXPRESSIONS)


@st.composite
def cases(draw: st.DrawFn, size: int = 5) -> Case:
    """A case whose facts hold at its hints: a relation that does not is negated."""
    lows = {name: draw(st.sampled_from((0, 0, 1, -2))) for name in NAMES}
    ranges = {name: (low, low + draw(st.integers(2, 6))) for name, low in lows.items()}
    hints = {name: draw(st.integers(lo, hi)) for name, (lo, hi) in ranges.items()}
    terms: Sequence[Term] = draw(st.lists(RELATIONS | EQUALITIES, min_size=1, max_size=size))
    return Case(hints, ranges, tuple(t if python_value(t, hints, PYTHON) else ("not", t) for t in terms))
