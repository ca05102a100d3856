"""Knowledge: the log of facts, and the facts derived from them, each with the proof step that shows it.

A *form* is a polynomial without constant whose leading coefficient is positive. Derived are, per form: an upper and a
lower bound, a residue, excluded values; per atom: an equal expression (solved equations). Bounds of atoms are
propagated through the forms that contain them, with a budget. The end of a trial assumption undoes exactly the changes
since its start.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Atom, Int, Symbol, make_int, split, symbols_of
from dynamo_lite.symbolic_shapes.expressions.intervals import BIT_LIMIT, interval
from dynamo_lite.symbolic_shapes.expressions.relations import (
    FALSE,
    Bool,
    FloatRelation,
    Junction,
    Rel,
    eq_zero,
    le_zero,
    ne_zero,
    or_,
)
from dynamo_lite.symbolic_shapes.proofs.congruences import NOTHING, meet
from dynamo_lite.symbolic_shapes.proofs.facts import Fact, Origin
from dynamo_lite.symbolic_shapes.proofs.proof import Step
from dynamo_lite.symbolic_shapes.prover.tables import NEAR, Bound, KnownResidue, Tables, all_atoms, atoms_of

PROPAGATION_BUDGET = 20
"""How many bounds one assertion may tighten elsewhere: keeps a session linear, and ends the tightening of x < y < x."""
WIDE = 8
"""Forms with more terms than this are not propagated through."""


class Contradiction(Exception):
    """An assertion contradicts the known facts; `step` concludes FALSE."""

    def __init__(self, step: Step) -> None:
        super().__init__("the facts contradict each other")
        self.step = step


class Knowledge(Tables):
    """The known facts, and the operations that add to them."""

    def __init__(self) -> None:
        super().__init__()
        self._queue: list[tuple[Bool, Step]] = []
        self._focus: dict[Atom, None] | None = None

    # -- adding facts -------------------------------------------------------------------------------------
    def add(self, relation: Bool, origin: Origin, kind: str) -> Fact:
        """Append a fact and derive what follows. Contradiction (and nothing added) if it contradicts the others."""
        mark = self.snapshot()
        fact = Fact(len(self.facts), relation, origin, kind)
        self.facts.append(fact)
        for symbol in symbols_of(relation):
            self._set_in(self.facts_of, symbol, fact)
        try:
            self.derive(relation, Step("fact", (), (fact.index, fact)))
        except Contradiction:
            self.rollback(mark)
            raise
        return fact

    def derive(self, relation: Bool, step: Step) -> None:
        """Derive what follows from a relation that `step` shows. Contradiction if that is a contradiction."""
        self._queue = [(relation, step)]
        self.version += 1
        budget = [PROPAGATION_BUDGET]
        while self._queue:
            self._assert_one(*self._queue.pop(), budget)

    def _assert_one(self, relation: Bool, step: Step, budget: list[int]) -> None:
        self.steps += 1
        self._set(self.truths, relation, step)
        relation, step = self.rewriter.rewritten(relation, step)
        if relation is FALSE:
            raise Contradiction(step)
        if self._focus is not None:
            self._focus.update(dict.fromkeys(atoms_of(relation)))
        if isinstance(relation, Rel):
            handler = {"le": self._assert_le, "eq": self._assert_eq, "ne": self._assert_ne}[relation.kind]
            handler(relation.poly, step, budget)
        elif isinstance(relation, Junction) and relation.kind == "and":
            self._queue += [(part, Step("part", (step,), (part,))) for part in relation.args]  # type: ignore[misc]
        elif isinstance(relation, Junction):
            self._assert_clause(relation, step)
        elif isinstance(relation, FloatRelation):
            self._set(self.truths, relation, step)

    def _assert_clause(self, clause: Junction, step: Step) -> None:
        shown = [(part, self.quick(part)) for part in clause.args]  # type: ignore[arg-type]
        negations = [found[1] for _, found in shown if found is not None and not found[0]]
        if negations:
            left = [part for part, found in shown if found is None or found[0]]
            self._queue.append((or_(*left), Step("remaining", (step, *negations))))  # type: ignore[arg-type]
            return
        self._set(self.truths, clause, step)
        for atom in all_atoms(clause):
            self._set_in(self.clauses_of, atom, clause)

    # -- inequalities ---------------------------------------------------------------------------------------
    def _assert_le(self, p: Int, step: Step, budget: list[int]) -> None:
        form, sign = split(p)
        modulus, r = self.residue_of(form) if self.residues else NOTHING
        if modulus > 1:
            # p ≡ gap (mod m) and p <= 0 give p <= gap - m, if gap > 0
            gap = (sign * r + p.const) % modulus
            if gap:
                shift = modulus - gap
                step = Step("round up", (step, self.residue_step(p + shift, modulus)))
                p = p + shift
        self._register(form)
        if sign > 0:
            self._set_upper(form, -p.const, step, budget)
        else:
            self._set_lower(form, p.const, step, budget)

    def _set_upper(self, form: Int, value: int, step: Step, budget: list[int]) -> None:
        old = self.upper.get(form)
        if old is not None and old.value <= value:
            return
        while value in self.excluded.get(form, ()):
            step = Step("tighten", (step, self.excluded[form][value]))
            value -= 1
        self._set(self.upper, form, Bound(value, step))
        self._meet_ends(form, budget)

    def _set_lower(self, form: Int, value: int, step: Step, budget: list[int]) -> None:
        old = self.lower.get(form)
        if old is not None and old.value >= value:
            return
        while value in self.excluded.get(form, ()):
            step = Step("tighten", (step, self.excluded[form][value]))
            value += 1
        self._set(self.lower, form, Bound(value, step))
        self._meet_ends(form, budget)

    def _meet_ends(self, form: Int, budget: list[int]) -> None:
        lo, hi = self.lower.get(form), self.upper.get(form)
        atom = form.as_atom()
        if atom is not None:
            a, b = self.range(atom)
            if a > b:
                raise Contradiction(Step("linear", (self._end(atom, "lo"), self._end(atom, "hi")), ((1, 1), 0)))
            if a == b and atom not in self.solved:
                equation = Step("both", (self._end(atom, "hi"), self._end(atom, "lo")))
                self._queue.append((eq_zero(form - int(a)), equation))
        elif lo and hi and lo.value >= hi.value:
            if lo.value > hi.value:
                raise Contradiction(Step("linear", (lo.step, hi.step), ((1, 1), 0)))
            self._queue.append((eq_zero(form - hi.value), Step("both", (hi.step, lo.step))))
        self._propagate(form, budget)

    def _end(self, atom: Atom, side: str) -> Step:
        """The step that shows one end of an atom's range."""
        step = self.bound_step(atom, side)
        if step is not None:
            return step
        if isinstance(atom, Symbol):
            return Step("declared", (), (atom, side))
        return Step("atom interval", self.bound_premises(atom), (atom, side))

    def _propagate(self, form: Int, budget: list[int]) -> None:
        """Bounds of the atoms in a form that was tightened, and of the forms that a tightened atom is in."""
        atom = form.as_atom()
        forms = self.forms_near(atom) if atom is not None else [form]
        for other in forms:
            if len(other.terms) > WIDE or (len(other.terms) == 1 and other is form):
                continue
            for mono, coef in other.terms.items():
                if len(mono) == 1 and mono[0] is not atom and budget[0] > 0:
                    self._propagate_to(other, mono[0], coef, budget)

    def _propagate_to(self, form: Int, atom: Atom, coef: int, budget: list[int]) -> None:
        self.steps += 1
        x = atom.as_int()
        rest = form - x * coef
        if atom in rest.atoms():
            return
        lo, hi = interval(rest, self.range)
        for bound, sign, end in ((self.upper.get(form), 1, lo), (self.lower.get(form), -1, hi)):
            # upper: coef*x <= value - lo(rest);  lower: coef*x >= value - hi(rest)
            if bound is None or isinstance(end, float):
                continue
            room, k = (bound.value - end) * sign, coef * sign  # k*x <= room
            a, b = self.range(atom)
            if room.bit_length() > BIT_LIMIT:
                continue  # x*x >= x*y + 1 and the like square a bound each time, for as long as the budget lasts
            if (room // k >= b) if k > 0 else (-(room // -k) <= a):
                continue
            budget[0] -= 1
            q = (end - rest) * sign
            shown = le_zero(q)  # as the rule "interval" states it: divided by its content
            if not isinstance(shown, Rel):
                continue
            g = q.content()
            rest_step = Step("interval", self.bound_premises(rest), (rest * -sign,))
            relation = le_zero((form - bound.value) * sign + shown.poly * g)
            self.version += 1
            self._queue.append((relation, Step("linear", (bound.step, rest_step), ((1, g), 0))))

    # -- equations ------------------------------------------------------------------------------------------
    def _assert_eq(self, p: Int, step: Step, budget: list[int]) -> None:
        form, value = p - p.const, -p.const
        self._register(form)
        if value in self.excluded.get(form, ()):
            raise Contradiction(Step("clash", (step, self.excluded[form][value])))
        self._record_residues(p, step)
        self._solve(p, step)
        self._set_upper(form, value, Step("linear", (step,), ((1,), 0)), budget)
        self._set_lower(form, value, Step("linear", (step,), ((-1,), 0)), budget)

    def _record_residues(self, p: Int, step: Step) -> None:
        """From p == 0, modulo each coefficient m: the terms that m does not divide are ≡ 0."""
        for m in {abs(c) for c in p.terms.values() if abs(c) > 1}:
            terms = {mono: c for mono, c in p.terms.items() if c % m}
            if terms and len(terms) < len(p.terms):
                self._record_residue(make_int(terms, p.const), m, step)

    def _record_residue(self, q: Int, m: int, step: Step) -> None:
        """q ≡ 0 (mod m), `step` shows an equation that implies it."""
        form, sign = split(q)
        (mono, coef), *others = form.terms.items()
        if not others and math.gcd(coef, m) == 1:
            inverse = pow(coef, -1, m)  # coef*x ≡ c  <=>  x ≡ c * coef^-1, for coef prime to m
            form = make_int({mono: 1}, 0)
        else:
            inverse = 1
        r = -q.const * sign * inverse % m
        new = KnownResidue((m, r), Step("congruent", (step,), (form - r, m, (sign * inverse,))))
        old = self.residues.get(form)
        if old is not None:
            met = meet(old.residue, new.residue)
            modulus = math.lcm(old.residue[0], m)
            if met is None:
                g = math.gcd(old.residue[0], m)
                known = Step("congruent", (old.step,), (form - old.residue[1], g, (1,)))
                other = Step("congruent", (new.step,), (form - r, g, (1,)))
                raise Contradiction(Step("incongruent difference", (known, other)))
            if met == old.residue:
                return
            # The multipliers of the Chinese remainder: k_i ≡ 1 mod m_i, k_i * m_i ≡ 0 mod lcm.
            new = KnownResidue((modulus, met[1]), Step("chinese", (old.step, new.step), (form - met[1], modulus)))
        self._register(form)
        self._set(self.residues, form, new)
        self._reassert_bounds(form)

    def _reassert_bounds(self, form: Int) -> None:
        lo, hi = self.lower.get(form), self.upper.get(form)
        atom = form.as_atom()
        m, r = self.residues[form].residue
        if atom is not None:
            a, b = self.range(atom)
            if isinstance(a, int) and a % m != r:
                self._queue.append((le_zero(a - form), self._end(atom, "lo")))
            if isinstance(b, int) and b % m != r:
                self._queue.append((le_zero(form - b), self._end(atom, "hi")))
            return
        if lo:
            self._queue.append((le_zero(lo.value - form), lo.step))
        if hi:
            self._queue.append((le_zero(form - hi.value), hi.step))

    def _solve(self, p: Int, step: Step) -> None:
        """From p == 0 the image of an atom with coefficient ±1 that occurs nowhere else in p."""
        best: Atom | None = None
        for mono, coef in p.terms.items():
            atom = mono[0]
            if len(mono) == 1 and abs(coef) == 1 and atom not in self.solved and not _occurs(atom, p) \
                    and (best is None or _solve_order(atom) > _solve_order(best)):
                best = atom
        if best is None:
            return
        x = best.as_int()
        image = x - p * p.terms[(best,)]
        if isinstance(best, Apply) and image.terms:
            return
        self._set(self.solved, best, (image, step))
        self.rewriter.forget()
        self._restate(best)

    def _restate(self, solved: Atom) -> None:
        """Facts about the forms that contain a solved atom are restated for the new forms."""
        if isinstance(solved, Symbol):
            x = solved.as_int()
            for side, end in (("lo", solved.lo), ("hi", solved.hi)):
                if isinstance(end, int):
                    relation = le_zero(end - x) if side == "lo" else le_zero(x - end)
                    self._queue.append((relation, Step("declared", (), (solved, side))))
        # A fact does this once per symbol; a trial assumption, which every question makes, only looks nearby.
        forms = self.forms_near(solved) if self._focus is not None else list(self.forms_of.get(solved, ()))
        for form in forms:
            self.steps += 1
            hi, lo, known = self.upper.get(form), self.lower.get(form), self.residues.get(form)
            if hi:
                self._queue.append((le_zero(form - hi.value), hi.step))
            if lo:
                self._queue.append((le_zero(lo.value - form), lo.step))
            if known:
                self._restate_residue(form, known)
            for value, why in self._holes_to_restate(form, solved):
                self._queue.append((ne_zero(form - value), why))
        for clause in list(islice(self.clauses_of.get(solved, ()), NEAR)):
            self._queue.append((clause, self.truths[clause]))

    def _holes_to_restate(self, form: Int, solved: Atom) -> list[tuple[int, Step]]:
        """The values that a form does not take; if it is a constant now, that one alone matters."""
        holes, image = self.excluded.get(form, {}), self.solved[solved][0]
        if form.as_atom() is not solved or image.terms:
            return list(holes.items())
        return [(image.const, holes[image.const])] if image.const in holes else []

    def _restate_residue(self, form: Int, known: KnownResidue) -> None:
        m, r = known.residue
        self._queue.append((eq_zero((form - r) % m), Step("remainder of", (known.step,), (form - r, m))))

    def _assert_ne(self, p: Int, step: Step, budget: list[int]) -> None:
        form, value = p - p.const, -p.const
        self._register(form)
        values = self.excluded.get(form, {})
        if value in values:
            return
        self._set(self.excluded, form, {**values, value: step})
        atom = form.as_atom()
        if atom is not None:
            a, b = self.range(atom)
            if a == value:
                self._queue.append((le_zero(value + 1 - form), Step("tighten", (self._end(atom, "lo"), step))))
            if b == value:
                self._queue.append((le_zero(form - value + 1), Step("tighten", (self._end(atom, "hi"), step))))
            return
        for bound, rel in ((self.lower.get(form), value + 1 - form), (self.upper.get(form), form - value + 1)):
            if bound and bound.value == value:
                self._queue.append((le_zero(rel), Step("tighten", (bound.step, step))))

    @contextmanager
    def trial(self) -> Iterator[dict[Atom, None]]:
        """Within, assertions are assumptions: undone at the end. Gives the atoms that they are about."""
        mark, outer, version = self.snapshot(), self._focus, self.version
        self._focus = {} if outer is None else dict(outer)
        try:
            yield self._focus
        finally:
            self._queue = []
            self._focus = outer
            self.rollback(mark)
            if outer is None:
                self.version = version
                self._ranges_version = -1

def _occurs(atom: Atom, p: Int) -> bool:
    """Whether an atom is in p other than as its own linear term."""
    for mono in p.terms:
        for other in mono:
            if other is atom:
                if len(mono) > 1:
                    return True
            elif isinstance(atom, Symbol) and atom in symbols_of(other):
                return True
    return False


def _solve_order(atom: Atom) -> tuple[bool, bool, int]:
    """Which atom an equation is solved for: a symbol rather than a compound atom, an unbacked one, the newest."""
    return isinstance(atom, Symbol), isinstance(atom, Symbol) and atom.unbacked, atom.id

