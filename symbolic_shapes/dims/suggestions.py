"""Suggested fixes: new specs for the dimensions whose specs the program does not admit.

A suggestion is made in three steps: propose definitions from the guards; write them as Python; read that text back, put
it in place of the old specs and solve again. Only text that solves is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from dynamo_lite.symbolic_shapes.dims.dim_source import compose, read, write
from dynamo_lite.symbolic_shapes.dims.specs import Auto, Constant, Derived, DimSpec, Dynamic, InvalidSpec, Named
from dynamo_lite.symbolic_shapes.dims.symbols import DimTable, declare
from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.errors import ContradictoryFacts
from dynamo_lite.symbolic_shapes.expressions.expr import INF, Atom, Extended, Int, Symbol
from dynamo_lite.symbolic_shapes.expressions.relations import (
    FALSE,
    TRUE,
    Bool,
    Rel,
    and_,
    eq,
    eq_zero,
    le_zero,
    ne_zero,
)
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.proofs.facts import UNKNOWN_ORIGIN, Fact
from dynamo_lite.symbolic_shapes.size_guards.admissible_range import AdmissibleValues, reach_of
from dynamo_lite.symbolic_shapes.size_guards.guard_set import SizeGuardSet
from dynamo_lite.symbolic_shapes.size_guards.reformulations import as_hole, as_residue, is_bound, true_interval

ROUNDS = 4
"""How often a proposal that does not solve yet is refined by the remaining violations."""


@dataclass(frozen=True)
class Suggestion:
    """Python lines, and their definitions: name of a Dim, or place of a spec -> spec."""

    lines: tuple[str, ...]
    definitions: Mapping[str, DimSpec]


class Solved(Protocol):
    """The guards of a trace against the specs of its dimensions: violations.Solution."""

    @property
    def table(self) -> DimTable: ...
    @property
    def guard_set(self) -> SizeGuardSet: ...
    @property
    def violations(self) -> Sequence[Any]: ...


Solve = Callable[[DimTable, Sequence[Fact]], Solved]
"""violations.solve: compares facts with the specs of a table."""


def suggest(solution: Solved, solve: Solve) -> Suggestion | None:
    """New specs that were seen to solve, or None."""
    for relax in (False, True):
        definitions: dict[str, DimSpec] = {}
        current: Solved | None = solution
        for _ in range(ROUNDS):
            assert current is not None
            definitions = merged(definitions, _Proposal(current, relax).definitions())
            try:
                lines = write(definitions)
                current = resolve(solution, read(lines), solve)
            except InvalidSpec:
                break  # it does not construct
            if current is None:
                break
            if not current.violations:
                return Suggestion(lines, definitions)
    return None


def merged(old: Mapping[str, DimSpec], new: Mapping[str, DimSpec]) -> dict[str, DimSpec]:
    """The old definitions seen through the new ones (whose names are among the old ones' roots), and the new ones."""
    seen = {target: respecified(spec, new) for target, spec in old.items()}
    made = {target: spec for target, spec in new.items() if target not in seen and not _is_fresh(target, old)}
    return {**seen, **made}


def _is_fresh(name: str, old: Mapping[str, DimSpec]) -> bool:
    """Whether a name is a root that an earlier iteration made up: it belongs to no dimension, so it has no line."""
    return any(isinstance(s, Derived) and s.root.name == name for s in old.values()) and name.startswith("_")


def respecified(spec: DimSpec, definitions: Mapping[str, DimSpec]) -> DimSpec:
    """A spec with the redefined names replaced. InvalidSpec if that does not construct."""
    if isinstance(spec, Named):
        return definitions.get(spec.name, spec)
    if isinstance(spec, Derived):
        return compose(spec.a, definitions.get(spec.root.name, spec.root), spec.b)
    return spec


# -- solving again -----------------------------------------------------------------------------------------------
def resolve(solution: Solved, definitions: Mapping[str, DimSpec], solve: Solve) -> Solved | None:
    """The solution of the same facts with the definitions in place of the old specs. None if the new specs do not fit
    the example, or cannot express the facts. InvalidSpec if a derived dim does not construct."""
    table = solution.table
    dims = [replace(dim, spec=definitions.get(dim.target) or respecified(spec, definitions))
            for dim, spec in zip(table.dims, table.specs)]
    try:
        new = declare(ShapeEnv(), dims)
    except InvalidSpec:
        return None
    mapping, exact = translation(table, new)
    facts: list[Fact] = []
    for fact in [*solution.guard_set.facts, *(Fact(0, relation, UNKNOWN_ORIGIN, "guard") for relation in exact)]:
        try:
            relation = substitute(in_sizes(fact.relation, table, new), mapping)
        except ZeroDivisionError:
            return None
        if relation is FALSE:
            return None
        if relation is not TRUE:
            facts.append(Fact(len(facts), relation, fact.origin, fact.kind))
    try:
        return solve(new, facts)
    except ContradictoryFacts:
        return None


def translation(old: DimTable, new: DimTable) -> tuple[dict[Atom, Int], list[Bool]]:
    """Each old symbol in the new ones: from a dimension whose old size is a*symbol + b, its new size minus b, by a.
    And what makes those the old sizes: the divisions are exact, and sizes that were related still are."""
    mapping: dict[Atom, Int] = {}
    for symbol in old.symbols():
        sizes = [(s, v) for s, v in zip(old.sizes, new.sizes) if (symbol,) in s.terms]
        size, value = min(sizes, key=lambda pair: pair[0].terms[symbol,])
        mapping[symbol] = (value - size.const) // size.terms[symbol,]
    return mapping, [eq(substitute(s, mapping), v) for s, v in zip(old.sizes, new.sizes)]


def in_sizes(relation: Bool, old: DimTable, new: DimTable) -> Bool:
    """Replaces multiples of a*symbol in a relation by the new size of the dimension a*symbol + b: no division."""
    if not isinstance(relation, Rel):
        return relation
    poly = relation.poly
    for size, value in zip(old.sizes, new.sizes):
        for mono, a in size.terms.items():
            k = poly.terms.get(mono, 0)
            if k and k % a == 0:
                poly = poly + (value - size) * (k // a)
    return relation if poly is relation.poly else {"le": le_zero, "eq": eq_zero, "ne": ne_zero}[relation.kind](poly)


# -- proposing -----------------------------------------------------------------------------------------------------
class _Proposal:
    """Definitions that might solve. `relax`: give up on ranges and leave violated dimensions to be found."""

    def __init__(self, solution: Solved, relax: bool) -> None:
        self.solution, self.relax = solution, relax
        self.table, self.guards = solution.table, solution.guard_set
        self.name_of = {symbol: name for name, symbol in self.table.names.items()}
        self.roots: dict[Symbol, DimSpec] = {}

    def definitions(self) -> dict[str, DimSpec]:
        out: dict[str, DimSpec] = {}
        for symbol in dict.fromkeys([v.symbol for v in self.solution.violations]):
            if symbol not in self.name_of:
                out.update({self.table.dims[i].target: Auto() for i in self.table.users(symbol)})
                continue
            image = self.guards.images.get(symbol)
            pinned = image is not None and not image.terms
            spec = self._open(symbol) if self.relax and not pinned else self._spec(symbol)
            if isinstance(spec, Dynamic):  # 2*Dim.DYNAMIC is not a spec: those that follow the name get their own
                for i, derived in self._followers(symbol):
                    out[self.table.dims[i].target] = compose(derived.a, spec, derived.b)
            if spec != self.table.spec_of(symbol) and (self.table.users(symbol) or not isinstance(spec, Dynamic)):
                out[self.name_of[symbol]] = spec
        return out

    def _followers(self, symbol: Symbol) -> list[tuple[int, Derived]]:
        """The dimensions with a spec that is derived from a named one, and that spec."""
        return [(i, spec) for i, spec in enumerate(self.table.specs)
                if isinstance(spec, Derived) and spec.root.name == self.name_of[symbol]]

    def _open(self, symbol: Symbol) -> Dynamic:
        """Dynamic, within the range that the symbol was declared with."""
        return Dynamic(symbol.lo if symbol.lo > 0 else -INF, symbol.hi)

    def _spec(self, symbol: Symbol) -> DimSpec:
        """The new spec of a named dimension."""
        image = self.guards.images.get(symbol)
        if image is None:
            if symbol not in self.roots:
                self.roots[symbol] = self._root(symbol)
            return self.roots[symbol]
        if not image.terms:
            return Constant(image.const)
        (mono, a), *others = image.terms.items()
        other = mono[0]
        if others or len(mono) > 1 or other not in self.name_of:
            reach = reach_of(self.guards, image)
            return self._multiples(symbol, reach.m, reach.r, reach.lo, reach.hi)
        try:
            return compose(a, self._spec(other), image.const)
        except InvalidSpec:
            return self._open(symbol)

    def _root(self, symbol: Symbol) -> DimSpec:
        """A dimension of its own, within the values admitted by the guards about it alone: one residue class."""
        reach = reach_of(self.guards, symbol.as_int())
        lo, hi = self._range(symbol, reach)
        if hi != reach.hi or _less_than_half(lo, hi, reach):
            return self._open(symbol)  # a range that ends where the first hole is would lose too much
        if reach.m > 1:
            return self._multiples(symbol, reach.m, reach.r, lo, hi)
        if lo == hi and isinstance(lo, int):
            return Constant(lo)
        return Named(self.name_of[symbol], lo, hi)

    def _range(self, symbol: Symbol, reach: AdmissibleValues) -> tuple[Extended, Extended]:
        """The interval around the example on which the relations about this symbol hold, except residues."""
        own = [g.relation for g in self.guards.about(symbol)]
        lo, hi = reach.lo, reach.hi
        if symbol.hint is None:
            return lo, hi
        for hole in (c for r in own if (c := as_hole(r)) is not None):
            lo, hi = (max(lo, hole + 1), hi) if hole < symbol.hint else (lo, min(hi, hole - 1))
        rest = [r for r in own if not is_bound(r) and as_residue(r) is None and as_hole(r) is None]
        return true_interval(and_(*rest), symbol, symbol.hint, (lo, hi)) if rest else (lo, hi)

    def _multiples(self, symbol: Symbol, m: int, r: int, lo: Extended, hi: Extended) -> DimSpec:
        """m * root + r for a new root, for the values of the symbol in [lo, hi]; the name itself if m is 1."""
        if m == 1 and lo < hi:
            return Named(self.name_of[symbol], lo, hi)
        first = -((r - lo) // m) if isinstance(lo, int) else 0
        last = (hi - r) // m if isinstance(hi, int) else INF
        if first == last:
            return Constant(m * first + r)
        return Derived(Named(self._fresh(self.name_of[symbol]), first, last), m, r)

    def _fresh(self, name: str) -> str:
        taken = {*self.table.names, *(d.target for d in self.table.dims)}
        fresh = f"_{name}"
        while fresh in taken:
            fresh = f"_{fresh}"
        return fresh


def _less_than_half(lo: Extended, hi: Extended, reach: AdmissibleValues) -> bool:
    """Whether [lo, hi] is less than half of a reach that has two ends."""
    if not (isinstance(lo, int) and isinstance(hi, int) and isinstance(reach.lo, int) and isinstance(reach.hi, int)):
        return False
    return 2 * (hi - lo) < reach.hi - reach.lo


__all__ = ["Suggestion", "resolve", "respecified", "suggest", "translation"]
