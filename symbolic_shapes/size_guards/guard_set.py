"""The simplified guards of a trace: the conditions left to check on the inputs, and why they suffice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.expressions.expr import Atom, Int, Symbol, as_int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.intervals import Interval
from dynamo_lite.symbolic_shapes.expressions.relations import TRUE, Bool, eq
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.proofs.bound_rules import ranges_from
from dynamo_lite.symbolic_shapes.proofs.checker import BadCertificate
from dynamo_lite.symbolic_shapes.proofs.congruences import NOTHING, Residue
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.size_guards.derivations import DerivationTable, declared_ends, environment_of
from dynamo_lite.symbolic_shapes.size_guards.explain import explain
from dynamo_lite.symbolic_shapes.size_guards.guard import SizeGuard as SizeGuard
from dynamo_lite.symbolic_shapes.size_guards.guard import is_divisibility as is_divisibility
from dynamo_lite.symbolic_shapes.size_guards.reformulations import truth_at


@dataclass(frozen=True)
class Verification:
    """The result of `SizeGuardSet.verify`: the number of derivations that were checked again."""

    derivations: int


@dataclass(frozen=True, eq=False)
class SizeGuardSet:
    """The result of `simplify.simplify`.

    Attributes:
        facts: the collected facts, in order (with the axioms, which need no check).
        symbols: the symbols that they are about, oldest first.
        guards: the simplified set; equalities first, then ranges, divisibility and the rest.
        images: for each symbol that an equality replaces, its expression in the others.
        forward, backward: why the guards follow from the facts, and the facts from the guards.
    """

    facts: tuple[Fact, ...]
    symbols: tuple[Symbol, ...]
    guards: tuple[SizeGuard, ...]
    images: Mapping[Atom, Int]
    forward: DerivationTable
    backward: DerivationTable

    # -- reading it -------------------------------------------------------------------------------------------
    @property
    def relations(self) -> tuple[Bool, ...]:
        """The simplified relations."""
        return tuple(g.relation for g in self.guards)

    @property
    def collected(self) -> tuple[Fact, ...]:
        """The facts to hold on the inputs: all but the axioms."""
        return tuple(f for f in self.facts if f.kind != "axiom")

    @property
    def kept_symbols(self) -> tuple[Symbol, ...]:
        """The symbols that no equality replaces."""
        return tuple(s for s in self.symbols if s not in self.images)

    @property
    def dropped(self) -> tuple[Fact, ...]:
        """The collected facts that are not guards: the guards entail them (`backward` has the derivations)."""
        relations = set(self.relations)
        return tuple(f for f in self.collected if f.relation not in relations)

    def size_of(self, expr: Int | int) -> Int:
        """An expression in the kept symbols."""
        node: Int = substitute(as_int(expr), self.images)
        return node

    def range_of(self, expr: Int | int) -> Interval:
        """An interval that contains the expression wherever the guards hold."""
        return self.environment().bounds(self.size_of(expr))

    def residue_of(self, expr: Int | int) -> Residue:
        """(m, r) such that the expression is r modulo m wherever the guards hold; (1, 0) if nothing is known."""
        node = self.size_of(expr)
        knowledge = self.environment().knowledge
        # Knowledge solves an equality for the newer of two symbols, SizeGuardSet for the one of the lower rank.
        found = (knowledge.residue_of(form) for form in (node, as_int(knowledge.simplify(node))) if form.terms)
        return max(found, default=NOTHING)

    def resting_on(self, relation: Bool) -> list[SizeGuard]:
        """The guards that a relation follows from; empty if it is not seen to follow."""
        answer = self.environment().decide(relation)
        used = {fact.relation for fact in answer.facts} if answer.verdict else set()
        return [g for g in self.guards if g.relation in used]

    def own_range(self, symbol: Symbol) -> Interval:
        """The declared range of a symbol, cut to the guards of kind "range" about it: the condition on it alone."""
        return ranges_from([g.relation for g in self.about(symbol) if g.kind == "range"])(symbol)

    def about(self, symbol: Symbol) -> Sequence[SizeGuard]:
        """The guards about this symbol alone."""
        return self._about.get(symbol, ())

    @cached_property
    def _about(self) -> dict[Symbol, list[SizeGuard]]:
        found: dict[Symbol, list[SizeGuard]] = {}
        for guard in self.guards:
            symbols = symbols_of(guard.relation)
            if len(symbols) == 1:
                found.setdefault(next(iter(symbols)), []).append(guard)
        return found

    @cached_property
    def _environment(self) -> ShapeEnv:
        axioms = (f.relation for f in self.facts if f.kind == "axiom")
        return environment_of((*axioms, *self.relations))

    def environment(self) -> ShapeEnv:
        """An environment in which the guards are facts, to decide what follows from them."""
        return self._environment

    def failing(self, values: Mapping[Symbol, int]) -> SizeGuard | None:
        """The first guard that does not hold at the given values of all symbols; None if all do."""
        return next((g for g in self.guards if not truth_at(g.relation, values)), None)

    def origins(self, guard: SizeGuard) -> tuple[Fact, ...]:
        """The collected facts that a guard was made from, in order."""
        found = [f for leaf in self.forward.leaves(guard.relation) for f in self._facts_of.get(leaf, ())]
        return tuple(sorted(dict.fromkeys(found), key=self._place.__getitem__))

    def spared(self, guard: SizeGuard) -> Sequence[Fact]:
        """The collected facts that need no check because of a guard (and maybe others), in order."""
        return self._spared.get(guard.relation, ())

    @cached_property
    def _place(self) -> dict[Fact, int]:
        return {fact: i for i, fact in enumerate(self.facts)}

    @cached_property
    def _facts_of(self) -> dict[Bool, list[Fact]]:
        found: dict[Bool, list[Fact]] = {}
        for fact in self.facts:
            found.setdefault(fact.relation, []).append(fact)
        return found

    @cached_property
    def _spared(self) -> dict[Bool, list[Fact]]:
        found: dict[Bool, list[Fact]] = {}
        for fact in self.dropped:
            for leaf in self.backward.leaves(fact.relation):
                found.setdefault(leaf, []).append(fact)
        return found

    def explain(self, guard: SizeGuard | str) -> str:
        """The lines of a guard, the facts it was simplified from, its purpose. See `explain.explain`."""
        return explain(self, guard)

    # -- verification ----------------------------------------------------------------------------------------
    def verify(self) -> Verification:
        """Re-check, without search, that each guard follows from the facts and each fact from the guards.
        BadCertificate names what does not."""
        self._check_form()
        self._check_base()
        checked: set[Bool] = set()
        for guard in self.guards:
            self.forward.check(guard.relation, checked=checked)
        # The declared range of a replaced symbol may be used once it is shown itself: from the last one replaced on.
        replaced, checked = [s for s in self.images if isinstance(s, Symbol)], set()
        while replaced:
            for end in declared_ends(replaced[-1]):
                self.backward.check(end, frozenset(replaced), checked)
            replaced.pop()
        for fact in self.collected:
            self.backward.check(fact.relation, checked=checked)
        return Verification(len(self.forward.steps) + len(self.backward.steps))

    def demands(self) -> list[Bool]:
        """The relations to be entailed by the guards: collected facts, declared ranges of replaced symbols."""
        ends = [end for s in self.symbols if s in self.images for end in declared_ends(s)]
        return [*(f.relation for f in self.collected), *ends]

    def _check_form(self) -> None:
        """Checks that kinds and images agree with the relations, because their texts (code, words) depend on that."""
        for guard in self.guards:
            if guard.kind == "equality":
                s = guard.symbol
                fits = s is not None and s in self.images and guard.relation is eq(s.as_int(), self.images[s])
            else:
                like = SizeGuard.of(guard.relation)
                fits = (guard.kind, guard.symbol) == (like.kind, like.symbol)
            if not fits:
                raise BadCertificate(f"{guard} is not the {guard.kind} that it is called")
        replaced = {g.symbol for g in self.guards if g.kind == "equality"}
        left = {s for image in self.images.values() for s in symbols_of(image)}
        if set(self.images) != replaced or left & replaced:
            raise BadCertificate("the images are not those of the equalities")
        about = {s for relation in (*self.relations, *(f.relation for f in self.facts)) for s in symbols_of(relation)}
        if not about <= set(self.symbols):
            raise BadCertificate("a symbol that the guards are about is left out")

    def _check_base(self) -> None:
        axioms = {f.relation for f in self.facts if f.kind == "axiom"} | {TRUE}
        if not set(self.forward.base) - axioms <= {f.relation for f in self.facts}:
            raise BadCertificate("the guards rest on something that was not collected")
        if not set(self.backward.base) - axioms <= set(self.relations):
            raise BadCertificate("the facts rest on something that is not a guard")
