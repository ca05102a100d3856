"""The tables of derived facts, the undoing of each change, and their consequences for an expression.

Every change goes through a trail, so that a rollback undoes exactly the later changes. knowledge.py fills the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Atom, Extended, Int, Symbol, split, symbols_of
from dynamo_lite.symbolic_shapes.expressions.intervals import Interval, declared_atom, interval, of_apply
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, Rel
from dynamo_lite.symbolic_shapes.proofs.congruences import NOTHING, Residue, residue
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.proofs.proof import Step
from dynamo_lite.symbolic_shapes.prover.known import Bound as Bound
from dynamo_lite.symbolic_shapes.prover.known import KnownResidue as KnownResidue
from dynamo_lite.symbolic_shapes.prover.propagation import direct
from dynamo_lite.symbolic_shapes.prover.rewriter import Rewriter

NEAR = 16
"""How many forms of one atom are looked at."""


class Mark(NamedTuple):
    """A point to go back to."""

    trail: int
    facts: int
    last: Fact | None


_ABSENT: Any = object()


class Tables:
    """The state. `steps` counts the elementary inferences done so far, for the cost tests; `in_vain` those of
    refutations that showed nothing."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.version = 0
        self.steps = 0
        self.in_vain = 0
        self.limit: int | None = None
        self.upper: dict[Int, Bound] = {}
        self.lower: dict[Int, Bound] = {}
        self.residues: dict[Int, KnownResidue] = {}
        self.excluded: dict[Int, dict[int, Step]] = {}
        self.truths: dict[Bool, Step] = {}
        self.solved: dict[Atom, tuple[Int, Step]] = {}
        self.forms_of: dict[Atom, dict[Int, None]] = {}
        self.clauses_of: dict[Atom, dict[Bool, None]] = {}
        self.facts_of: dict[Symbol, dict[Fact, None]] = {}
        self._trail: list[tuple[dict[Any, Any], Any, Any]] = []
        self._ranges: dict[Atom, Interval] = {}
        self._ranges_version = -1
        self.rewriter = Rewriter(self)

    # -- bookkeeping ------------------------------------------------------------------------------------------
    def forms_near(self, atom: Atom) -> list[Int]:
        """The known forms that an atom is in, the first NEAR of them: the cost of a question does not depend on how
        much is known. The oldest are kept, so that further facts never makes one disappear."""
        forms = list(islice(self.forms_of.get(atom, ()), NEAR))
        self.steps += len(forms)
        return forms

    def _register(self, form: Int) -> None:
        for atom in all_atoms(form):
            self._set_in(self.forms_of, atom, form)

    def _set(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        self._trail.append((table, key, table.get(key, _ABSENT)))
        table[key] = value
        self.version += 1

    def _set_in(self, table: dict[Any, dict[Any, None]], key: Any, item: Any) -> None:
        inner = table.setdefault(key, {})
        if item not in inner:
            self._trail.append((inner, item, _ABSENT))
            inner[item] = None

    def snapshot(self) -> Mark:
        return Mark(len(self._trail), len(self.facts), self.facts[-1] if self.facts else None)

    def is_current(self, mark: Mark) -> bool:
        """Whether the mark's facts are all still there."""
        return mark.facts <= len(self.facts) and (not mark.facts or self.facts[mark.facts - 1] is mark.last)

    def rollback(self, mark: Mark) -> None:
        """Undo everything since the mark."""
        while len(self._trail) > mark.trail:
            table, key, old = self._trail.pop()
            if old is _ABSENT:
                table.pop(key, None)
            else:
                table[key] = old
        del self.facts[mark.facts:]
        self.version += 1
        self.rewriter.forget()

    # -- facts about an atom or an expression ---------------------------------------------------------------------
    def range(self, atom: Atom) -> Interval:
        """The interval of an atom."""
        lo: Extended
        hi: Extended
        if isinstance(atom, Symbol):
            lo, hi = atom.lo, atom.hi
        else:
            lo, hi = self._apply_range(atom)
        form = atom._int
        if form is not None:
            a, b = self.lower.get(form), self.upper.get(form)
            lo = a.value if a is not None and a.value > lo else lo
            hi = b.value if b is not None and b.value < hi else hi
        return lo, hi

    def _apply_range(self, atom: Atom) -> Interval:
        if self._ranges_version != self.version:
            self._ranges, self._ranges_version = {}, self.version
        found = self._ranges.get(atom)
        if found is None:
            assert isinstance(atom, Apply)
            found = self._ranges[atom] = of_apply(atom, self.range)
        return found

    def bounds(self, p: Int) -> Interval:
        """The interval of an expression: by the facts about its form, and by interval arithmetic."""
        if not p.terms:
            return p.const, p.const
        p = self.rewriter.simplified(p)
        lo, hi = interval(p, self.range)
        if p.terms:
            form, sign = split(p)
            a, b = self.lower.get(form), self.upper.get(form)
            if sign < 0:
                a, b = b, a
            lo = max(lo, a.value * sign + p.const) if a else lo
            hi = min(hi, b.value * sign + p.const) if b else hi
        return lo, hi

    def bound_step(self, atom: Atom, side: str) -> Step | None:
        """The step that shows an end of an atom's range; None if the declared range gives it (or nothing does)."""
        form = atom._int
        bound = (self.lower if side == "lo" else self.upper).get(form) if form is not None else None
        end = self.range(atom)[0 if side == "lo" else 1]
        if bound is not None and bound.value == end:
            return bound.step
        declared_end = declared_atom(atom)[0 if side == "lo" else 1]
        if isinstance(atom, Apply) and not isinstance(end, float) and end != declared_end:
            return Step("atom interval", self.bound_premises(atom), (atom, side))
        return None

    def bound_premises(self, node: Any) -> tuple[Step, ...]:
        """The steps that the rules "interval", "atom interval" and "shift" need for an expression."""
        steps = []
        for atom in atoms_of(node) if not isinstance(node, Apply) else _argument_atoms(node):
            for side in ("lo", "hi"):
                step = self.bound_step(atom, side)
                if step is not None:
                    steps.append(step)
        return tuple(steps)

    def residue_of(self, p: Int) -> Residue:
        """The residue of an expression: by the facts about its form, else by congruence arithmetic."""
        form, sign = split(p)
        known = self.residues.get(form)
        if known is not None:
            m, r = known.residue
            return m, (sign * r + p.const) % m
        m, r = residue(p, self._atom_residue)
        return m, r

    def _atom_residue(self, atom: Atom) -> Residue:
        known = self.residues.get(atom._int) if atom._int is not None else None
        return known.residue if known else NOTHING

    def residue_step(self, p: Int, m: int) -> Step:
        """The step that shows p ≡ 0 (mod m), a result of `residue_of`."""
        form, sign = split(p)
        known = self.residues.get(form)
        if known is not None:
            return Step("congruent", (known.step,), (p, m, (sign,)))
        premises = [self.residues[a._int].step for a in dict.fromkeys(p.atoms()) if a._int in self.residues]
        return Step("residue", tuple(premises), (p, m))

    def quick(self, relation: Bool) -> tuple[bool, Step] | None:
        """(truth, step that shows the relation or its negation) if bounds, residues or a known truth decide it."""
        return direct(self, relation)

    def simplify(self, node: Any) -> Any:
        return self.rewriter.simplified(node)


def atoms_of(node: Any) -> Iterator[Atom]:
    if isinstance(node, Int):
        yield from dict.fromkeys(node.atoms())
    elif isinstance(node, Rel):
        yield from dict.fromkeys(node.poly.atoms())
    else:
        for arg in getattr(node, "args", ()):
            yield from atoms_of(arg)


def _argument_atoms(atom: Apply) -> Iterator[Atom]:
    for arg in atom.args:
        yield from atoms_of(arg)


def all_atoms(node: Any) -> Iterator[Atom]:
    """The atoms at the top, and every symbol at any depth."""
    yield from dict.fromkeys([*atoms_of(node), *symbols_of(node)])
