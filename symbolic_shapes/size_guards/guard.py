"""One simplified guard on sizes, and what its text and its explanation need of the set that it is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dynamo_lite.symbolic_shapes.expressions.expr import Atom, Int, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.intervals import Interval
from dynamo_lite.symbolic_shapes.expressions.quotients import take_out_mods
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, Rel
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.size_guards.derivations import DerivationTable
from dynamo_lite.symbolic_shapes.size_guards.reformulations import is_bound


@dataclass(frozen=True, eq=False)
class SizeGuard:
    """One simplified guard. `kind` is "equality" (then `symbol` is the one that it replaces), "range", "divisibility"
    or "other"."""

    relation: Bool
    kind: str
    symbol: Symbol | None = None

    @staticmethod
    def of(relation: Bool) -> SizeGuard:
        """The guard of a relation, its kind found out."""
        if is_bound(relation):
            return SizeGuard(relation, "range", next(iter(symbols_of(relation))))
        return SizeGuard(relation, "divisibility" if is_divisibility(relation) else "other")

    def __str__(self) -> str:
        return str(self.relation)



def is_divisibility(relation: Bool) -> bool:
    """Whether a relation states the residue of an expression: x % d == r."""
    if not isinstance(relation, Rel) or relation.kind != "eq":
        return False
    rest, mods = take_out_mods(relation.poly)
    return len(mods) == 1 and not rest.terms


class Guards(Protocol):
    """A simplified set: guard_set.SizeGuardSet."""

    @property
    def guards(self) -> Sequence[SizeGuard]: ...
    @property
    def symbols(self) -> Sequence[Symbol]: ...
    @property
    def kept_symbols(self) -> Sequence[Symbol]: ...
    @property
    def images(self) -> Mapping[Atom, Int]: ...
    @property
    def forward(self) -> DerivationTable: ...

    def about(self, symbol: Symbol) -> Sequence[SizeGuard]: ...
    def own_range(self, symbol: Symbol) -> Interval: ...
    def origins(self, guard: SizeGuard) -> Sequence[Fact]: ...
    def spared(self, guard: SizeGuard) -> Sequence[Fact]: ...
