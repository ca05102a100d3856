"""Relations in the order in which they are simplified and written, and in groups that share symbols."""

from __future__ import annotations

from collections.abc import Sequence

from dynamo_lite.symbolic_shapes.expressions.expr import Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.quotients import written_size
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, Rel
from dynamo_lite.symbolic_shapes.size_guards.reformulations import as_residue, is_bound


def is_equation(relation: Bool) -> bool:
    return isinstance(relation, Rel) and relation.kind == "eq"


def side_of(bound: Bool) -> tuple[Symbol, bool]:
    """The symbol that a bound is about, and whether it is an upper one."""
    assert isinstance(bound, Rel)
    (mono, coef), = bound.poly.terms.items()
    assert isinstance(mono[0], Symbol)
    return mono[0], coef > 0


def complexity(relation: Bool) -> tuple[int, int, str, int, str]:
    """A canonical order, simple relations first: bounds (the tightest first), residues, then by symbols and size."""
    if is_bound(relation):
        symbol, upper = side_of(relation)
        assert isinstance(relation, Rel)
        # p = s - c or c - s: the tighter an end, the greater the constant of p.
        return 0, symbol.id, str(upper), -relation.poly.const, ""
    rung = 1 if as_residue(relation) is not None else 2
    return rung, len(symbols_of(relation)), "", written_size(relation), str(relation)


def components(relations: Sequence[Bool]) -> list[list[Bool]]:
    """The relations in groups that share no symbol with each other, in their order."""
    parent: dict[Symbol, Symbol] = {}

    def root(symbol: Symbol) -> Symbol:
        while parent.setdefault(symbol, symbol) is not symbol:
            parent[symbol] = symbol = parent[parent[symbol]]
        return symbol

    relations = [r for r in relations if symbols_of(r)]
    for relation in relations:
        first, *rest = sorted(symbols_of(relation), key=lambda s: s.id)
        for other in rest:
            parent[root(other)] = root(first)
    groups: dict[Symbol, list[Bool]] = {}
    for relation in relations:
        groups.setdefault(root(min(symbols_of(relation), key=lambda s: s.id)), []).append(relation)
    return list(groups.values())
