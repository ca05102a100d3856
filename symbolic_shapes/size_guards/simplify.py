"""Collected facts to the simplified set of guards.

Every step is proposed by a heuristic and taken only when it is derived in both directions: forward (the new relation
follows from the old ones) and backward (the old one follows from the new ones). So the result is equivalent whatever
the heuristics do, and the two tables hold the reasons. The order of the facts does not matter: work goes by a
canonical order of the relations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.errors import ContradictoryFacts
from dynamo_lite.symbolic_shapes.expressions.expr import Atom, Extended, Int, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, TRUE, Bool, Rel, eq, eq_zero, le_zero
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.size_guards.derivations import (
    Derivation,
    DerivationTable,
    declared_ends,
    derive,
    derive_in,
    is_weaker,
)
from dynamo_lite.symbolic_shapes.size_guards.guard_set import SizeGuard, SizeGuardSet
from dynamo_lite.symbolic_shapes.size_guards.reformulations import (
    as_residue,
    first_admitted,
    is_bound,
    is_plain,
    proposals,
    sole_symbol,
)
from dynamo_lite.symbolic_shapes.size_guards.relation_order import complexity, components, is_equation, side_of

COMPONENT_LIMIT = 48
"""Guards that share symbols are each tried against all the others up to this many; beyond, against the simpler ones."""

Rank = Callable[[Symbol], int]
"""How much a symbol should be kept when an equality could replace it; the higher the later it goes."""


def simplify(facts: Sequence[Fact], symbols: Iterable[Symbol] = (), *, rank: Rank = lambda symbol: 0) -> SizeGuardSet:
    """The simplified set that is equivalent to the facts, within the declared ranges of the symbols.

    Facts of kind "axiom" hold by construction: they are used and never checked. Of two symbols that an equality
    relates, the lower `rank` goes, then the newer. ContradictoryFacts if the facts cannot hold together.
    """
    return Simplifier(facts, symbols, rank).run()


class Simplifier:
    """One simplification. `active` are the relations still to hold besides the equalities in `images`."""

    def __init__(self, facts: Sequence[Fact], symbols: Iterable[Symbol], rank: Rank) -> None:
        self.facts, self.rank = tuple(facts), rank
        self.axioms = tuple(f.relation for f in facts if f.kind == "axiom")
        collected = [f.relation for f in facts if f.kind != "axiom"]
        about = {*symbols, *(s for f in facts for s in symbols_of(f.relation))}
        self.symbols = sorted(about, key=lambda s: s.id)
        self.example = {s: s.hint for s in self.symbols if s.hint is not None}
        self.forward = DerivationTable([TRUE, *self.axioms, *collected])
        self.backward = DerivationTable([TRUE, *self.axioms])
        self.active: dict[Bool, None] = dict.fromkeys(sorted(collected, key=complexity))
        self.images: dict[Atom, Int] = {}
        self.equalities: dict[Symbol, Bool] = {}
        self._users: dict[Symbol, dict[Symbol, None]] = {}  # a symbol -> those whose image it is in
        self._hopeless: set[Bool] = set()

    def run(self) -> SizeGuardSet:
        while True:
            self._eliminate()
            steps = (self._reformulate, self._tighten_ends, self._merge_residues, self._join_halves, self._pin)
            if not sum(step() for step in steps):  # each of them runs
                break
        kept = self._minimise()
        guards = [SizeGuard(relation, "equality", symbol) for symbol, relation in self.equalities.items()]
        guards.sort(key=lambda g: g.symbol.id if g.symbol else 0)
        guards += [SizeGuard.of(relation) for relation in kept]
        self.backward.base.update(dict.fromkeys(g.relation for g in guards))
        return SizeGuardSet(self.facts, tuple(self.symbols), tuple(guards), self.images, self.forward, self.backward)

    # -- equalities become replacements ---------------------------------------------------------------------------
    def _eliminate(self) -> None:
        """Solve equations for symbols until none is left that can be, and rewrite everything by the solutions."""
        progress = True
        while progress:
            progress = False
            for relation in list(self.active):
                if is_equation(relation) and relation in self.active:
                    now = self._rewrite(relation)
                    symbol = self._solvable(now)
                    if symbol is not None:
                        self._adopt(symbol, now)
                        progress = True
            for relation in list(self.active):
                progress |= self._rewrite(relation) is not relation
            self.active = dict.fromkeys(sorted(self.active, key=complexity))

    def _rewrite(self, relation: Bool) -> Bool:
        """The relation with the known solutions substituted takes its place."""
        used = sorted((s for s in symbols_of(relation) if s in self.images), key=lambda s: s.id)
        if not used:
            return relation
        mapping: dict[Atom, Int] = {s: self.images[s] for s in used}
        new: Bool = substitute(relation, mapping)
        equalities, data = [self.equalities[s] for s in used], tuple(mapping.items())
        self.forward.add(new, Derivation("rewrite", (relation, *equalities), data))
        self.backward.add(relation, Derivation("rewrite", (new, *equalities), data))
        if new is FALSE:
            raise self._contradiction(relation, [relation, *equalities])
        self._put(relation, [new])
        return new

    def _solvable(self, relation: Bool) -> Symbol | None:
        """The symbol that an equation can be solved for, with an integer expression: the one best done without."""
        if not isinstance(relation, Rel) or relation.kind != "eq":
            return None
        terms = relation.poly.terms
        alone = [m[0] for m, c in terms.items() if len(m) == 1 and isinstance(m[0], Symbol) and c in (1, -1)]
        elsewhere = {s for m in terms for a in m for s in symbols_of(a) if len(m) > 1 or a is not s}
        candidates = [s for s in alone if isinstance(s, Symbol) and s not in elsewhere]
        return min(candidates, key=lambda s: (self.rank(s), -s.id), default=None)

    def _adopt(self, symbol: Symbol, relation: Bool) -> None:
        """Replace the symbol by its image in the equation. Its declared range becomes a condition on the image."""
        assert isinstance(relation, Rel)
        image = symbol.as_int() - relation.poly * relation.poly.terms[(symbol,)]
        del self.active[relation]
        for other in self._users.pop(symbol, {}):
            if symbol in symbols_of(self.images[other]):
                self._update_image(other, symbol, image, relation)
        self._set_image(symbol, image, relation)
        for end, side in declared_ends(symbol).items():
            self.forward.add(end, Derivation("declared", (), (symbol, side)))
            self._enter(end)

    def _update_image(self, other: Symbol, symbol: Symbol, image: Int, relation: Bool) -> None:
        old, now = self.equalities[other], substitute(self.images[other], {symbol: image})
        new = eq(other.as_int(), now)
        self._set_image(other, now, new)
        data = ((symbol, image),)
        self.forward.add(new, Derivation("rewrite", (old, relation), data))
        self.backward.steps.pop(new, None)
        self.backward.add(old, Derivation("rewrite", (new, relation), data))

    def _set_image(self, symbol: Symbol, image: Int, equality: Bool) -> None:
        self.images[symbol], self.equalities[symbol] = image, equality
        for used in symbols_of(image):
            self._users.setdefault(used, {})[symbol] = None

    # -- simpler forms of the rest ----------------------------------------------------------------------------------
    def _reformulate(self) -> bool:
        changed = False
        for relation in list(self.active):
            if relation in self._hopeless:
                continue
            example = {s: self.example[s] for s in symbols_of(relation) if s in self.example}
            changed |= any(self._replace(relation, new) for new in proposals(relation, example)) or \
                self._give_up(relation)
        return changed

    def _give_up(self, relation: Bool) -> bool:
        self._hopeless.add(relation)
        return False

    def _replace(self, relation: Bool, new: list[Bool], context: Sequence[Bool] = ()) -> bool:
        """`new` takes the place of `relation`, if it follows (with the context) and entails it."""
        back = derive(new, relation)
        there = [derive([relation, *context], n) for n in new] if back else [None]
        if back is None or None in there:
            return False
        for n, derivation in zip(new, there):
            if derivation is not None:
                self.forward.add(n, derivation)
        self.backward.add(relation, back)
        self._put(relation, new)
        return True

    def _put(self, relation: Bool, new: list[Bool]) -> None:
        del self.active[relation]
        for n in new:
            self._enter(n)

    def _enter(self, relation: Bool) -> None:
        """Keep the relation from now on. An earlier derivation of it is dropped: its premises may depend on it by now.
        So each relation depends on ones that were kept longer, and there are no circles."""
        if relation is not TRUE:
            self.active[relation] = None
            self.backward.steps.pop(relation, None)

    def _tighten_ends(self) -> bool:
        """An end of a symbol's range moves in, past the values that the relations of the symbol alone exclude."""
        own: dict[Symbol, list[Bool]] = {}
        for relation in self.active:
            symbol = sole_symbol(relation)
            if symbol is not None and not is_plain(relation):
                own.setdefault(symbol, []).append(relation)
        ends, changed = self._ends(), False
        for symbol, relations in own.items():
            x = symbol.as_int()
            for side in ("lo", "hi"):
                end, because = ends[symbol, side]
                reached, used = first_admitted(symbol, relations, end, 1 if side == "lo" else -1)
                if used:
                    new = x >= reached if side == "lo" else x <= reached
                    changed |= self._move_end(new, because, used)
        return changed

    def _move_end(self, new: Bool, because: Sequence[Bool], used: Sequence[Bool]) -> bool:
        """The end `new`, which follows from the present one and the relations used. It spares those that it entails."""
        there = derive([*because, *used], new) if new not in self.active else None
        if there is None:
            return False
        self.forward.add(new, there)
        self._exchange({relation: derive([new], relation) for relation in used}, new)
        return True

    def _merge_residues(self) -> bool:
        """Two residues of one symbol are one, modulo the least common multiple."""
        changed = False
        found: dict[Symbol, list[tuple[Bool, int, int]]] = {}
        for relation in self.active:
            residue = as_residue(relation)
            if residue is not None:
                found.setdefault(residue[0], []).append((relation, *residue[1:]))
        pairs = [(s, *pair) for s, residues in found.items() for pair in combinations(residues, 2)]
        for s, (one, m, a), (two, n, b) in pairs:
            if one not in self.active or two not in self.active:
                continue
            modulus = math.lcm(m, n)
            value = next((v for v in range(a, modulus, m) if v % n == b), None)
            if value is None:
                raise self._contradiction(two, [one, two])
            merged = eq(s.as_int() % modulus, value)
            there, *back = derive([one, two], merged), derive([merged], one), derive([merged], two)
            if there is None or None in back:
                continue
            self.forward.add(merged, there)
            self._exchange(dict(zip((one, two), back)), merged)
            changed = True
        return changed

    def _pin(self) -> bool:
        """A symbol that can only have one value has that value."""
        changed = False
        env = self._environment(self.active)
        for symbol in self.symbols:
            lo, hi = env.bounds(symbol.as_int())
            if symbol in self.images or lo != hi:
                continue
            equation = eq(symbol.as_int(), int(lo))
            derivation = derive_in(env, equation) if equation not in self.active else None
            if derivation is not None:
                self.forward.add(equation, derivation)
                self._enter(equation)
                changed = True
        return changed

    def _join_halves(self) -> bool:
        """p <= 0 and -p <= 0 are p == 0."""
        changed = False
        for relation in list(self.active):
            if not isinstance(relation, Rel) or relation.kind != "le" or relation not in self.active:
                continue
            other = le_zero(-relation.poly)
            if other in self.active:
                equation = eq_zero(relation.poly)
                there = derive([relation, other], equation)
                back = [derive([equation], half) for half in (relation, other)]
                if there is not None and None not in back:
                    self.forward.add(equation, there)
                    self._exchange({relation: back[0], other: back[1]}, equation)
                    changed = True
        return changed

    def _exchange(self, old: Mapping[Bool, Derivation | None], new: Bool) -> None:
        """`new` takes the place of several relations, each derived from it."""
        for relation, derivation in old.items():
            if derivation is not None and relation is not new:
                self.backward.add(relation, derivation)
                del self.active[relation]
        self._enter(new)

    def _ends(self) -> dict[tuple[Symbol, str], tuple[Extended, tuple[Bool, ...]]]:
        """The two ends of each symbol's range, each with the guard that states it (none for a declared end)."""
        ends: dict[tuple[Symbol, str], tuple[Extended, tuple[Bool, ...]]] = {}
        for symbol in self.symbols:
            ends[symbol, "lo"], ends[symbol, "hi"] = (symbol.lo, ()), (symbol.hi, ())
        for bound in filter(is_bound, self.active):
            symbol, upper = side_of(bound)
            assert isinstance(bound, Rel)
            value = -bound.poly.const if upper else bound.poly.const
            side = "hi" if upper else "lo"
            if (value < ends[symbol, side][0]) if upper else (value > ends[symbol, side][0]):
                ends[symbol, side] = value, (bound,)
        return ends

    # -- relations entailed by the others -----------------------------------------------------------------------------
    def _minimise(self) -> list[Bool]:
        """Drop each relation that the simpler ones entail, then those that all the others entail."""
        env = self._environment([])
        kept: list[Bool] = []
        tightest: dict[tuple[Symbol, bool], Bool] = {}
        for relation in sorted(self.active, key=complexity):
            derivation = None
            if is_bound(relation):
                first = tightest.setdefault(side_of(relation), relation)
                if is_weaker(first, relation) and first is not relation:
                    derivation = Derivation("weaker", (first,))
            derivation = derivation or derive_in(env, relation)
            if derivation is not None:
                self.backward.add(relation, derivation)
                continue
            self._assume(env, relation)
            kept.append(relation)
        return self._drop_entailed_by_others(kept)

    def _drop_entailed_by_others(self, kept: list[Bool]) -> list[Bool]:
        for component in components(kept):
            if len(component) > COMPONENT_LIMIT:
                continue
            for relation in reversed(component):
                if is_bound(relation) or as_residue(relation) is not None:
                    continue
                others = [r for r in component if r is not relation]
                derivation = derive_in(self._environment(others), relation)
                if derivation is not None:
                    self.backward.add(relation, derivation)
                    component = others
                    kept = [r for r in kept if r is not relation]
        return kept

    def _environment(self, relations: Iterable[Bool]) -> ShapeEnv:
        env = ShapeEnv()
        for relation in (*self.axioms, *relations):
            self._assume(env, relation)
        return env

    def _assume(self, env: ShapeEnv, relation: Bool) -> None:
        try:
            env.add_fact(relation)
        except ContradictoryFacts as error:
            raise self._contradiction(relation, [relation, *(f.relation for f in error.facts)]) from error

    def _contradiction(self, relation: Bool, relations: list[Bool]) -> ContradictoryFacts:
        base = {leaf for r in relations if r in self.forward for leaf in self.forward.leaves(r)}
        clashing = [f for f in self.facts if f.relation in base]
        origin = clashing[-1].origin if clashing else self.facts[-1].origin
        return ContradictoryFacts(relation, origin, clashing)
