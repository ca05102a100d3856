"""The errors of a shape environment, with their texts."""

from __future__ import annotations

from collections.abc import Sequence

from dynamo_lite.symbolic_shapes.expressions.expr import INF, Extended, Node, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.floats import Float, float_symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, not_
from dynamo_lite.symbolic_shapes.proofs.facts import Fact, Origin


class ShapeError(Exception):
    """Base of the errors of this package."""


class ContradictoryFacts(ShapeError):
    """A relation was asserted that contradicts the known facts.

    `facts` are the conflicting ones: none of them can be left out (unsat_core.py). None are named if the declared
    ranges of the symbols alone rule the relation out."""

    def __init__(self, relation: Bool, origin: Origin, facts: Sequence[Fact]) -> None:
        self.relation, self.origin, self.facts = relation, origin, tuple(facts)
        lines = [f"{relation} cannot hold ({origin})."]
        symbols = dict.fromkeys(s for r in (relation, *(f.relation for f in facts)) for s in sorted_symbols(r))
        if facts:
            lines += ["It contradicts:", *(f"  - {fact}" for fact in facts)]
            bounded = [s for s in symbols if s.lo != -INF or s.hi != INF]
            lines += ["where" for _ in bounded[:1]]
        else:
            bounded = list(symbols)
            lines.append("It is false for every value that its symbols can take:")
        lines += [f"  - {describe_symbol(s, (s.lo, s.hi))}" for s in bounded]
        super().__init__("\n".join(lines))


class DataDependentQuestion(ShapeError):
    """The answer depends on a value that is only known at run time, and the facts do not settle it.

    `relation` is the question, `symbols` its symbols with their known ranges, `suggestions` the Python
    lines each of which would settle it (true, then false).
    """

    def __init__(self, relation: Bool, origin: Origin, ranges: dict[Symbol, tuple[Extended, Extended]]) -> None:
        self.relation, self.origin, self.ranges = relation, origin, ranges
        self.suggestions = (f"torch._check({relation})", f"torch._check({not_(relation)})")
        lines = [f"Whether {relation} cannot be known before the program runs, and {origin} needs to know it."]
        lines += [f"  {describe_symbol(s, r)}" for s, r in ranges.items()]
        lines += [f"  {describe_float(x)}" for x in sorted(float_symbols_of(relation), key=lambda x: x.id)]
        lines += ["State which one holds, before that line, where the sizes are made:",
                  f"  {self.suggestions[0]}    # it is true", f"  {self.suggestions[1]}    # it is false"]
        super().__init__("\n".join(lines))


class UnknownValue(ShapeError):
    """A concrete value was needed of an expression that has none (an unbacked symbol is in it)."""

    def __init__(self, node: Node, origin: Origin, ranges: dict[Symbol, tuple[Extended, Extended]]) -> None:
        self.node, self.origin, self.ranges = node, origin, ranges
        lines = [f"The value of {node} is not known before the program runs, and {origin} needs it."]
        lines += [f"  {describe_symbol(s, r)}" for s, r in ranges.items()]
        lines += [f"  {describe_float(x)}" for x in sorted(float_symbols_of(node), key=lambda x: x.id)]
        super().__init__("\n".join(lines))


class StaleSnapshot(ShapeError):
    """A rollback to a snapshot that was itself rolled back."""


def sorted_symbols(node: Node) -> list[Symbol]:
    """Symbols of an expression, oldest first."""
    return sorted(symbols_of(node), key=lambda s: s.id)


def describe_symbol(symbol: Symbol, known: tuple[Extended, Extended]) -> str:
    """`u0: an integer from run time in [0, inf), from x.item() (user line ...)`"""
    lo, hi = known
    left = f"[{lo}" if lo != -INF else "(-inf"
    right = f"{hi}]" if hi != INF else "inf)"
    nature = "known at run time only" if symbol.unbacked else f"{symbol.hint} in the example"
    text = f"{symbol.name}: {nature}, range {left}, {right}"
    if symbol.source is not None:
        text += f", is {symbol.source}"
    return f"{text}, from {symbol.origin}" if symbol.origin is not None else text


def describe_float(symbol: Float) -> str:
    """`zuf0: a float known at run time only`"""
    return f"{symbol.name}: a float " + ("known at run time only" if symbol.hint is None else
                                         f"that is {symbol.hint} in the example")
