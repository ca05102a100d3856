"""Answers without search: known truths, bounds of forms, interval arithmetic, residues.

Each function returns a step that shows what it claims, or None. Expressions are expected simplified.
"""

from __future__ import annotations

from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Extended, Int, Symbol, split
from dynamo_lite.symbolic_shapes.expressions.intervals import Interval, interval, truth_interval
from dynamo_lite.symbolic_shapes.expressions.quotients import take_out_mods
from dynamo_lite.symbolic_shapes.expressions.relations import (
    FALSE,
    TRUE,
    ZERO_RELATIONS,
    Bool,
    FloatRelation,
    Junction,
    Rel,
    Truth,
    le_zero,
    not_,
)
from dynamo_lite.symbolic_shapes.proofs.bound_rules import shifted_constant
from dynamo_lite.symbolic_shapes.proofs.operator_rules import division_bounds
from dynamo_lite.symbolic_shapes.proofs.proof import Step
from dynamo_lite.symbolic_shapes.prover.known import KnownFacts

Shown = tuple[bool, Step]


def direct(known: KnownFacts, relation: Bool) -> Shown | None:
    """(True, step that shows the relation), (False, step that shows its negation), or None."""
    known.steps += 1
    if isinstance(relation, Truth):
        return relation.value, Step("normal form")
    step = known.truths.get(relation)
    if step is not None:
        return True, step
    step = known.truths.get(not_(relation))
    if step is not None:
        return False, step
    if isinstance(relation, Rel):
        return _relation(known, relation)
    if isinstance(relation, Junction):
        return _junction(known, relation)
    if isinstance(relation, FloatRelation):
        truth = truth_interval(relation, known.range)
        if truth is not None:
            return truth, Step("float bounds", known.bound_premises(relation), (relation,))
    return None


def _relation(known: KnownFacts, relation: Rel) -> Shown | None:
    p = relation.poly
    if _is_plain(p):
        lo, hi = _ends(known, p)
        if not (hi <= 0 or lo >= 1) if relation.kind == "le" else _may_be_zero(known, p, lo, hi):
            return None
    if relation.kind == "le":
        step = prove_le(known, p)
        if step:
            return True, step
        step = prove_le(known, 1 - p)
        if step:
            return False, step
    else:
        is_eq = relation.kind == "eq"
        step = prove_ne(known, p)
        if step:
            return not is_eq, step
        step = prove_eq(known, p)
        if step:
            return is_eq, step
    return _with_remainders(known, relation)


def _is_plain(p: Int) -> bool:
    """Whether only bounds and residues speak of an expression: no product in it, and no quotient."""
    return all(len(mono) == 1 and (mono[0].__class__ is Symbol or mono[0].op != "floordiv")  # type: ignore[attr-defined]
               for mono in p.terms)


def _ends(known: KnownFacts, p: Int) -> Interval:
    """The bounds and residues of a plain expression: the ends that `prove_le` can show."""
    lo, hi = interval(p, known.range)
    if known.residues:
        m, r = known.residue_of(p)
        if m > 1:
            lo = lo + (r - lo) % m if isinstance(lo, int) else lo
            hi = hi - (hi - r) % m if isinstance(hi, int) else hi
    form, sign = split(p)
    below, above = known.lower.get(form), known.upper.get(form)
    if sign < 0:
        below, above = above, below
    if below is not None:
        lo = max(lo, below.value * sign + p.const)
    if above is not None:
        hi = min(hi, above.value * sign + p.const)
    return lo, hi


def _may_be_zero(known: KnownFacts, p: Int, lo: Extended, hi: Extended) -> bool:
    """Whether neither p == 0 nor p != 0 can be shown of a plain expression with these ends."""
    if lo > 0 or hi < 0 or lo == hi or -p.const in known.excluded.get(p - p.const, {}):
        return False
    m, r = known.residue_of(p)
    return m <= 1 or not r


def prove_le(known: KnownFacts, p: Int) -> Step | None:
    """A step for p <= 0 from bounds."""
    relation = le_zero(p)
    if not isinstance(relation, Rel):
        return Step("normal form") if relation is TRUE else None
    p = relation.poly

    form, sign = split(p)
    bound = (known.upper if sign > 0 else known.lower).get(form)
    if bound is not None:
        slack = -(bound.value * sign + p.const)
        if slack >= 0:
            return bound.step if not slack else Step("linear", (bound.step,), ((1,), slack))
    hi = interval(p, known.range)[1]
    if hi <= 0:
        step = Step("interval", known.bound_premises(p), (p,))
        return step if hi == 0 else Step("linear", (step,), ((1,), -int(hi)))
    if isinstance(hi, int) and known.residues:
        m, r = known.residue_of(p)
        if m > 1 and hi - (hi - r) % m <= 0:
            # p <= hi and p ≡ r: p <= hi - k with k = (hi - r) % m
            k = (hi - r) % m
            step = Step("interval", known.bound_premises(p), (p,))
            step = Step("round up", (step, known.residue_step(p - hi + k, m)))
            return Step("linear", (step,), ((1,), k - hi))
    return _by_remainder_range(known, p) or _by_shift(known, p)


def _by_remainder_range(known: KnownFacts, p: Int) -> Step | None:
    """p with each  x % d, d > 0,  replaced by its greatest value d - 1 (or its least, 0, where it is subtracted)."""
    if not any(isinstance(a, Apply) and a.op == "floordiv" for a in p.atoms()):
        return None
    rest, halves, multipliers = p, [], []
    for k, x, d in take_out_mods(p)[1]:
        if d.terms or d.const <= 1:
            continue
        atom = (x // d).as_atom()
        if not isinstance(atom, Apply):
            continue
        side = 1 if k > 0 else 0
        half = division_bounds(atom, 1)[side]
        if le_zero(half) is FALSE or half.content() != 1:
            continue
        rest = rest - half * abs(k)
        halves.append(Step("floordiv bound", (), (atom, side)))
        multipliers.append(abs(k))
    if not halves:
        return None
    if not rest.terms:
        return Step("linear", tuple(halves), (tuple(multipliers), -rest.const)) if rest.const <= 0 else None
    step = prove_le(known, rest)
    if step is None:
        return None
    g = rest.content()  # the step states rest <= 0 divided by g, with the constant rounded up: the excess is slack
    return Step("linear", (step, *halves), ((g, *multipliers), -(-rest.const // g) * g - rest.const))


def _by_shift(known: KnownFacts, p: Int) -> Step | None:
    if all(len(m) == 1 for m in p.terms):
        return None  # for linear terms it is interval arithmetic
    atoms = tuple(dict.fromkeys(p.atoms()))
    top = shifted_constant(p, atoms, known.range)
    if top is None or top > 0:
        return None
    step = Step("shift", known.bound_premises(p), (p, atoms))
    return step if top == 0 else Step("linear", (step,), ((1,), -top))


def prove_ne(known: KnownFacts, p: Int) -> Step | None:
    """A step for p != 0: it is on one side of zero, an excluded value, or of another residue."""
    form, value = p - p.const, -p.const
    step = known.excluded.get(form, {}).get(value)
    if step is not None:
        return step
    for q in (p, -p):
        step = prove_le(known, q + 1)
        if step:
            return Step("strictly", (step,), (q,))
    m, r = known.residue_of(p)
    if m > 1 and r:
        return Step("incongruent", (known.residue_step(p - r, m),), (p,))
    return None


def prove_eq(known: KnownFacts, p: Int) -> Step | None:
    """A step for p == 0 from both bounds."""
    above = prove_le(known, p)
    below = prove_le(known, -p) if above else None
    return Step("both", (above, below)) if above and below else None


def _with_remainders(known: KnownFacts, relation: Rel) -> Shown | None:
    """Replace each x % d whose value the residue of x gives, and look again."""
    if not known.residues:
        return None
    p, equations, multipliers = relation.poly, [], []
    for coef, x, d in take_out_mods(relation.poly)[1]:
        if d.terms or d.const <= 1:
            continue
        m, r = known.residue_of(x)
        if m > 1 and m % d.const == 0:
            atom = (x // d).as_atom()
            if atom is None:
                continue
            equations.append(Step("remainder", (known.residue_step(x - r, m),), (atom, r)))
            multipliers.append(coef)
            p = p - (x % d - r % d.const) * coef
    if not equations:
        return None
    changed = ZERO_RELATIONS[relation.kind](p)
    shown = direct(known, changed)
    if shown is None:
        return None
    return shown[0], Step("modulo", (shown[1], *equations), (relation, tuple(multipliers), shown[0]))


def _junction(known: KnownFacts, relation: Junction) -> Shown | None:
    """A conjunction is shown by all its parts and refuted by one; a disjunction is shown by one and refuted by all."""
    parts = [direct(known, part) for part in relation.args]  # type: ignore[arg-type]
    decisive = relation.kind == "or"
    for part in parts:
        if part is not None and part[0] is decisive:
            whole = relation if decisive else not_(relation)
            return decisive, Step("either", (part[1],), (whole,))
    if all(part is not None for part in parts):
        return not decisive, Step("all", tuple(part[1] for part in parts if part))
    return None
