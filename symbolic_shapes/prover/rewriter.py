"""Simplification by known facts: solved equations, and the laws whose condition the facts show.

Each replaced atom comes with the step that shows it equal to its image, so a rewritten relation carries a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.division import take_out
from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Atom, Int, Symbol, as_int
from dynamo_lite.symbolic_shapes.expressions.piecewise import maximum
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, le_zero, ne_zero
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute, top_atoms
from dynamo_lite.symbolic_shapes.proofs import operator_rules
from dynamo_lite.symbolic_shapes.proofs.proof import Step
from dynamo_lite.symbolic_shapes.prover.known import KnownFacts

Image = tuple[Int, Step | None]
"""An expression equal to an atom, and the step that shows atom - image == 0 (None: it is the atom itself)."""

DEPTH = 24
"""How many rewrites may follow each other; deeper ones are left as they are (sound)."""


class Rewriter:
    """Images of atoms, remembered until knowledge changes."""

    def __init__(self, knowledge: KnownFacts) -> None:
        self._known = knowledge
        self._images: dict[Atom, Image] = {}
        self._version = -1
        self._depth = 0

    def forget(self) -> None:
        self._version = -1

    def simplified(self, node: Any) -> Any:
        """The node with every atom replaced by its image."""
        atoms, images, _ = self.changes(node)
        return substitute(node, dict(zip(atoms, images))) if atoms else node

    def rewritten(self, relation: Bool, step: Step) -> tuple[Bool, Step]:
        """The simplified relation, and the step that shows it if `step` shows the relation."""
        atoms, images, steps = self.changes(relation)
        if not atoms:
            return relation, step
        result = substitute(relation, dict(zip(atoms, images)))
        return result, Step("rewritten", (*steps, step), (tuple(atoms), tuple(images)))

    def changes(self, node: Any) -> tuple[list[Atom], list[Int], list[Step]]:
        """The atoms at the top of a node that have another image than themselves, these images, the steps."""
        atoms, images, steps = [], [], []
        for atom in top_atoms(node):
            image, step = self.image(atom)
            if step is not None:
                atoms.append(atom)
                images.append(image)
                steps.append(step)
        return atoms, images, steps

    def image(self, atom: Atom) -> Image:
        """An expression equal to an atom, simplified as far as possible."""
        if isinstance(atom, Symbol) and atom not in self._known.solved:
            return atom.as_int(), None
        if self._version != self._known.version:
            self._images, self._version = {}, self._known.version
        found = self._images.get(atom)
        if found is None:
            if self._depth > DEPTH:
                return atom.as_int(), None
            self._depth += 1
            try:
                found = self._find(atom)
            finally:
                self._depth -= 1
            self._images[atom] = found
        return found

    def _find(self, atom: Atom) -> Image:
        self._known.steps += 1
        solved = self._known.solved.get(atom)
        if solved is not None:
            return self._then(atom, *solved)
        assert isinstance(atom, Apply)
        atoms, images, steps = self.changes_inside(atom)
        if atoms:
            rebuilt = substitute(atom, dict(zip(atoms, images)))
            if rebuilt is not atom.as_int():
                step = Step("replace", tuple(steps), (atom.as_int(), tuple(atoms), tuple(images)))
                return self._then(atom, rebuilt, step)
        law = LAWS.get(atom.op)
        result = law(self._known, atom) if law else None
        return self._then(atom, *result) if result else (atom.as_int(), None)

    def changes_inside(self, atom: Apply) -> tuple[list[Atom], list[Int], list[Step]]:
        """`changes` of the arguments of an atom."""
        found: dict[Atom, tuple[Int, Step]] = {}
        for arg in atom.args:
            for inner, image, step in zip(*self.changes(arg)):
                found[inner] = image, step
        return list(found), [i for i, _ in found.values()], [s for _, s in found.values()]

    def _then(self, atom: Atom, image: Int, step: Step) -> Image:
        """Go on simplifying an image."""
        atoms, images, steps = self.changes(image)
        if not atoms or atom in atoms:
            return image, step
        final = substitute(image, dict(zip(atoms, images)))
        more = Step("replace", tuple(steps), (image, tuple(atoms), tuple(images)))
        return final, Step("transitive", (step, more), (atom.as_int(), image, final))


# -- laws with a condition that the facts must show -----------------------------------------------------------------
def _constant(known: KnownFacts, atom: Apply) -> tuple[Int, Step] | None:
    """lo <= atom <= hi with lo == hi."""
    lo, hi = known.range(atom)
    if lo != hi:
        return None
    premises = known.bound_premises(atom)
    ends = [known.bound_step(atom, side) or Step("atom interval", premises, (atom, side)) for side in ("hi", "lo")]
    return as_int(int(lo)), Step("both", tuple(ends))


def _floordiv(known: KnownFacts, atom: Apply) -> tuple[Int, Step] | None:
    constant = _constant(known, atom)
    if constant:
        return constant
    x, d = atom.args
    assert isinstance(x, Int) and isinstance(d, Int)
    if not d.terms:
        return None
    small = [known.quick(le_zero(-x)), known.quick(le_zero(x - d + 1))]
    if all(s is not None and s[0] for s in small):  # 0 <= x < d
        return as_int(0), Step("small dividend", tuple(s[1] for s in small if s), (atom,))
    quotient, rest = take_out(x, d)
    if not quotient.terms and not quotient.const:
        return None
    nonzero = known.quick(ne_zero(d))
    if nonzero is None or not nonzero[0]:
        return None
    image = quotient + (rest // d if rest.terms or rest.const else as_int(0))
    return image, Step("exact division", (nonzero[1],), (atom,))


def _max(known: KnownFacts, atom: Apply) -> tuple[Int, Step] | None:
    args = atom.args
    for i, low in enumerate(args):
        for j, high in enumerate(args):
            if i == j:
                continue
            assert isinstance(low, Int) and isinstance(high, Int)
            below = known.quick(le_zero(low - high))
            if below is not None and below[0]:
                rest = maximum(*(a for k, a in enumerate(args) if k != i))  # type: ignore[arg-type]
                return rest, Step("max without", (below[1],), (atom, i, j))
    return _constant(known, atom)


def _ite(known: KnownFacts, atom: Apply) -> tuple[Int, Step] | None:
    cond, then, other = atom.args
    truth = known.quick(cond)  # type: ignore[arg-type]
    if truth is None:
        return _constant(known, atom)
    return (then if truth[0] else other), Step("ite chosen", (truth[1],), (atom,))  # type: ignore[return-value]


def _rounding(known: KnownFacts, atom: Apply) -> tuple[Int, Step] | None:
    image, conditions = operator_rules.exact_rounding(atom)
    if image is None:
        return _constant(known, atom)
    shown = [known.quick(c) for c in conditions]
    if not all(s is not None and s[0] for s in shown):
        return _constant(known, atom)
    return image, Step("exact rounding", tuple(s[1] for s in shown if s), (atom, image))


LAWS: dict[str, Callable[[Any, Apply], tuple[Int, Step] | None]] = {
    "floordiv": _floordiv, "max": _max, "ite": _ite, "pow": _constant,
    "floor": _rounding, "ceil": _rounding, "trunc": _rounding, "round": _rounding,
}
