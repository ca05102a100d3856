"""The checker of proofs: small, and without search. Each rule recomputes a step's conclusion from its premises'.

A rule is `rule(context, premises, data) -> claim`; it raises BadCertificate when it does not apply. A claim is a `Bool`
that holds, or a `Congruent`. What a proof assumes on the way ("assume") must be discharged ("cases", "refute").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from symbolic_shapes import laws
from symbolic_shapes.bounds import Interval, declared_atom, interval, of_apply, truth_interval
from symbolic_shapes.congruences import Residue, residue
from symbolic_shapes.expr import Atom, Int, Symbol, as_int, total
from symbolic_shapes.facts import Fact
from symbolic_shapes.floats import float_symbols_of
from symbolic_shapes.proof import Congruent, Step, walk
from symbolic_shapes.relations import FALSE, TRUE, Bool, Junction, Rel, and_, eq_zero, le_zero, ne_zero, not_, or_
from symbolic_shapes.rewrite import substitute
from symbolic_shapes.semantics import evaluate

Claim = Bool | Congruent
ENUMERATION_LIMIT = 512
"""The most assignments that the rule "enumerate" evaluates."""


class BadCertificate(Exception):
    """A step of a certificate does not follow."""


@dataclass(frozen=True)
class Certificate:
    """A proof of `conclusion` from `facts` (relations by their index in the log)."""

    conclusion: Bool
    step: Step
    facts: tuple[Fact, ...]

    def __len__(self) -> int:
        return sum(1 for _ in walk(self.step))


def verify(certificate: Certificate) -> None:
    """Re-check every step. BadCertificate if one does not follow, or the end is not the conclusion."""
    checker = Checker({fact.index: fact.relation for fact in certificate.facts})
    claim, hypotheses = checker.check(certificate.step)
    if hypotheses:
        raise BadCertificate(f"assumed and never discharged: {sorted(map(str, hypotheses))}")
    if claim is not certificate.conclusion and claim is not FALSE:  # from facts that contradict each other all follows
        raise BadCertificate(f"it shows {claim}, not {certificate.conclusion}")


class Checker:
    """Checks steps against the relations of the facts, remembering the ones done."""

    def __init__(self, facts: dict[int, Bool]) -> None:
        self.facts = facts
        self._done: dict[int, tuple[Claim, frozenset[Bool]]] = {}

    def check(self, last: Step) -> tuple[Claim, frozenset[Bool]]:
        """The claim of a step and the assumptions it still rests on."""
        for step in walk(last):
            if id(step) not in self._done:
                self._done[id(step)] = self._one(step)
        return self._done[id(last)]

    def _one(self, step: Step) -> tuple[Claim, frozenset[Bool]]:
        done = [self._done[id(p)] for p in step.premises]
        special = DISCHARGING.get(step.rule)
        if special:
            return special(done, step.data)
        rule = RULES.get(step.rule)
        if rule is None:
            raise BadCertificate(f"no rule {step.rule!r}")
        claim = rule(self, [claim for claim, _ in done], step.data)
        open_now = frozenset().union(*(h for _, h in done))
        return claim, open_now | {step.data[0]} if step.rule == "assume" else open_now


def require(condition: bool, why: str, *about: object) -> None:
    """BadCertificate unless the condition holds; `about` is printed only then."""
    if not condition:
        raise BadCertificate(": ".join([why, *map(str, about)]))


def _le(claim: Claim) -> Int:
    require((isinstance(claim, Rel) and claim.kind in ("le", "eq")) or claim is FALSE, "not an inequality", claim)
    return as_int(1) if claim is FALSE else claim.poly  # type: ignore[union-attr]


# -- rules --------------------------------------------------------------------------------------------------
Premises = Sequence[Claim]


def _fact(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    require(data[0] in checker.facts, "not among the facts", data[0])
    return checker.facts[data[0]]


def _assume(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    return data[0]


def _declared(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """symbol, side: the declared range."""
    symbol, side = data
    end = symbol.lo if side == "lo" else symbol.hi
    require(isinstance(symbol, Symbol) and isinstance(end, int), "no such declared end")
    x = symbol.as_int()
    return le_zero(end - x) if side == "lo" else le_zero(x - end)


def _part(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    whole = premises[0]
    require(isinstance(whole, Junction) and whole.kind == "and" and data[0] in whole.args, "not a part of it")
    return data[0]


def _linear(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """multipliers, slack >= 0: the sum of k * p over premises p <= 0 (k >= 0) or p == 0 (any k), minus slack."""
    multipliers, slack = data
    require(slack >= 0 and len(multipliers) == len(premises), "malformed combination")
    parts = []
    for k, claim in zip(multipliers, premises):
        p = _le(claim)
        require(k >= 0 or (isinstance(claim, Rel) and claim.kind == "eq"), "an inequality times a negative number")
        parts.append(p * k)
    return le_zero(total(parts) - slack)


def _equation(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """multipliers (numbers or expressions): the sum of m * p over premises p == 0."""
    parts = []
    for m, claim in zip(data[0], premises):
        require(isinstance(claim, Rel) and claim.kind == "eq", "not an equation", claim)
        parts.append(claim.poly * m)  # type: ignore[union-attr]
    return eq_zero(total(parts))


def _transitive(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """a, b, c: a == b and b == c give a == c."""
    a, b, c = data
    require(premises[0] is eq_zero(a - b) and premises[1] is eq_zero(b - c), "not a chain")
    return eq_zero(a - c)


def _both(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p <= 0 and -p <= 0 give p == 0."""
    p, q = _le(premises[0]), _le(premises[1])
    require(p is -q, "not the two halves of an equation")
    return eq_zero(p)


def _tighten(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p <= 0 and p != 0 give p <= -1."""
    p, other = _le(premises[0]), premises[1]
    require(isinstance(other, Rel) and other.kind == "ne" and other is ne_zero(p), "not about the same expression")
    return le_zero(p + 1)


def _product(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """a <= 0 and b <= 0 give a*b >= 0."""
    return le_zero(-(_le(premises[0]) * _le(premises[1])))


def _apart(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p != 0 gives p <= -1 or p >= 1."""
    claim = premises[0]
    require(isinstance(claim, Rel) and claim.kind == "ne", "not an inequation")
    return or_(le_zero(claim.poly + 1), le_zero(1 - claim.poly))  # type: ignore[union-attr]


def _strictly(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p <= -1 gives p != 0 (data: p)."""
    require(le_zero(data[0] + 1) is premises[0] or premises[0] is FALSE, "not below zero")
    return ne_zero(data[0])


# -- bounds ---------------------------------------------------------------------------------------------------
def ranges_from(premises: Premises) -> Callable[[Atom], Interval]:
    """The interval of each atom: its declared one, met with what premises of the form  ±atom + c <= 0  or == 0  say."""
    known: dict[Atom, Interval] = {}
    for claim in premises:
        p = _le(claim)
        require(len(p.terms) == 1, "not a bound of one atom", claim)
        (mono, coef), = p.terms.items()
        require(len(mono) == 1 and coef in (1, -1), "not a bound of one atom", claim)
        lo, hi = known.get(mono[0]) or declared_atom(mono[0])
        if coef == 1 or claim.kind == "eq":  # type: ignore[union-attr]
            hi = min(hi, -p.const * coef)
        if coef == -1 or claim.kind == "eq":  # type: ignore[union-attr]
            lo = max(lo, -p.const * coef)
        known[mono[0]] = (lo, hi)
    return lambda atom: known.get(atom) or declared_atom(atom)


def _interval(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p: its upper end by interval arithmetic."""
    hi = interval(data[0], ranges_from(premises))[1]
    require(isinstance(hi, int), "no upper end")
    return le_zero(data[0] - hi)


def _atom_interval(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """atom, side: the end that follows from the intervals of its arguments' atoms."""
    atom, side = data
    lo, hi = of_apply(atom, ranges_from(premises))
    end = lo if side == "lo" else hi
    require(isinstance(end, int), "no such end")
    x = atom.as_int()
    return le_zero(end - x) if side == "lo" else le_zero(x - end)


def _shift(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p, atoms: with each atom written as lo + t (or hi - t), t >= 0, no coefficient is positive: p <= constant."""
    top = shifted_constant(data[0], data[1], ranges_from(premises))
    require(top is not None, "some coefficient is positive")
    return le_zero(data[0] - top)


def shifted_constant(p: Int, atoms: Sequence[Atom], ranges: Callable[[Atom], Interval]) -> int | None:
    """The constant of p after the shift of the rule "shift", if no other coefficient is positive, else None."""
    mapping: dict[Atom, Int] = {}
    for atom in atoms:
        lo, hi = ranges(atom)
        if isinstance(lo, int):
            mapping[atom] = atom.as_int() + lo  # the atom now stands for t
        elif isinstance(hi, int):
            mapping[atom] = hi - atom.as_int()
    if any(a not in mapping for a in p.atoms()):
        return None
    parts = []
    for mono, coef in p.terms.items():
        part = as_int(coef)
        for atom in mono:
            part = part * mapping[atom]
        parts.append(part)
    q = total(parts)
    return None if any(c > 0 for c in q.terms.values()) else q.const + p.const


# -- congruences ------------------------------------------------------------------------------------------------
def _congruent(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p, m, multipliers: m divides p - sum(k_i * p_i), for premises p_i ≡ 0 (mod m_i), m | k_i * m_i."""
    p, m, multipliers = data
    rest = p
    for k, claim in zip(multipliers, premises):
        if isinstance(claim, Congruent):
            q, n = claim
        else:
            require(isinstance(claim, Rel) and claim.kind == "eq", "not a congruence", claim)
            q, n = claim.poly, 0  # type: ignore[attr-defined]
        require(k * n % m == 0, "the modulus does not divide")
        rest = rest - q * k
    require(m >= 1 and all(c % m == 0 for c in (*rest.terms.values(), rest.const)), "not 0 modulo", rest, m)
    return Congruent(p, m)


def _residue(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p, m: congruence arithmetic (sums and products) from the residues of single atoms."""
    p, m = data
    known: dict[Atom, Residue] = {}
    for claim in premises:
        require(isinstance(claim, Congruent), "not a congruence")
        poly, n = claim  # type: ignore[misc]
        atom = (poly - poly.const).as_atom()
        if atom is None:
            raise BadCertificate("not about one atom")
        known[atom] = (n, -poly.const % n)
    modulus, r = residue(p, lambda a: known.get(a, (1, 0)))
    require((r % m == 0) if modulus == 0 else (modulus % m == 0 and r % m == 0), "the residue is another one")
    return Congruent(p, m)


def _incongruent(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p: a premise p - r ≡ 0 (mod m) with m not dividing r gives p != 0."""
    p, claim = data[0], premises[0]
    require(isinstance(claim, Congruent), "not a congruence")
    r = (p - claim.poly).as_constant()  # type: ignore[union-attr]
    require(r is not None and r % claim.modulus != 0, "p may be 0")  # type: ignore[union-attr]
    return ne_zero(p)


def _incongruent_difference(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """Two congruences of one expression by one modulus with different residues contradict each other."""
    (p, m), (q, n) = premises  # type: ignore[misc]
    require(isinstance(premises[0], Congruent) and isinstance(premises[1], Congruent) and m == n, "not two congruences")
    difference = (p - q).as_constant()
    require(difference is not None and difference % m != 0, "they agree")
    return FALSE


def _chinese(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p, m: p ≡ 0 modulo each premise's modulus (up to multiples of it in the constant), so modulo their lcm m."""
    p, m = data
    moduli = 1
    for claim in premises:
        require(isinstance(claim, Congruent), "not a congruence")
        difference = (p - claim.poly).as_constant()  # type: ignore[union-attr]
        require(difference is not None and difference % claim.modulus == 0, "not of this expression")  # type: ignore[union-attr]
        moduli = math.lcm(moduli, claim.modulus)  # type: ignore[union-attr]
    require(moduli % m == 0, "the modulus is larger")
    return Congruent(p, m)


def _remainder_of(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p, m: p ≡ 0 (mod m) as an equation, p % m == 0."""
    p, m = data
    require(premises[0] == Congruent(p, m), "another congruence")
    return eq_zero(p % m)


def _float_bounds(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """relation of floats: decided by the bounds of the integers in it."""
    truth = truth_interval(data[0], ranges_from(premises))
    require(truth is not None, "the bounds do not decide it")
    return data[0] if truth else not_(data[0])


def _round_up(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p <= 0 and p + k ≡ 0 (mod m), 0 <= k < m, give p + k <= 0: p is one of ..., -k-m, -k."""
    p, claim = _le(premises[0]), premises[1]
    require(isinstance(claim, Congruent), "not a congruence")
    k = (claim.poly - p).as_constant()  # type: ignore[union-attr]
    require(k is not None and 0 <= k < claim.modulus, "not about the same expression")  # type: ignore[union-attr]
    return le_zero(p + k)  # type: ignore[operator]


# -- substitution -------------------------------------------------------------------------------------------------
def mapping_from(equations: Premises, atoms: Sequence[Atom], images: Sequence[Int]) -> dict[Atom, Int]:
    """{atom: image}, each shown by an equation  atom - image == 0."""
    mapping = dict(zip(atoms, images))
    for atom, image, claim in zip(atoms, images, equations, strict=True):
        require(claim is eq_zero(atom.as_int() - image), "not what the equation says", atom, image, claim)
    return mapping


def _replace(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p, atoms, images: p equals itself with the atoms in it replaced."""
    p, atoms, images = data
    return eq_zero(p - substitute(p, mapping_from(premises, atoms, images)))


def _rewrite(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """relation, atoms, images: the last premise is the relation with atoms replaced, so the relation holds."""
    relation, atoms, images = data
    mapping = mapping_from(premises[:-1], atoms, images)
    require(substitute(relation, mapping) is premises[-1] or premises[-1] is FALSE, "not what it becomes")
    return relation


def _modulo(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """relation, multipliers, truth: the first premise decides the relation's p minus multiples of equations."""
    relation, multipliers, truth = data
    p = relation.poly
    for k, claim in zip(multipliers, premises[1:], strict=True):
        require(isinstance(claim, Rel) and claim.kind == "eq", "not an equation")
        p = p - claim.poly * k  # type: ignore[union-attr]
    changed = {"le": le_zero, "eq": eq_zero, "ne": ne_zero}[relation.kind](p)
    require(premises[0] is (changed if truth else not_(changed)) or _trivial(changed, truth), "another relation")
    return relation if truth else not_(relation)


def _trivial(relation: Bool, truth: bool) -> bool:
    return relation is (TRUE if truth else FALSE)


def _rewritten(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """atoms, images: what the last premise becomes with the atoms replaced."""
    return substitute(premises[-1], mapping_from(premises[:-1], *data))


# -- propositional logic ----------------------------------------------------------------------------------------------
def _all(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    return and_(*premises)  # type: ignore[arg-type]


def _either(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """relation: a disjunction with the premise among its parts."""
    require(isinstance(data[0], Junction) and data[0].kind == "or" and premises[0] in data[0].args, "not one of them")
    return data[0]


def _remaining(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """A disjunction and the negations of some of its parts leave the others."""
    whole, *refuted = premises
    require(isinstance(whole, Junction) and whole.kind == "or", "not a disjunction")
    return or_(*(a for a in whole.args if not_(a) not in refuted))  # type: ignore[union-attr, arg-type]


def _clash(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """A claim and its negation."""
    require(not_(premises[0]) is premises[1], "no contradiction")  # type: ignore[arg-type]
    return FALSE


def _normal_form(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    return TRUE


def _enumerate(checker: Checker, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """relation, symbols, facts...: every assignment in the symbols' ranges that satisfies the facts satisfies it.

    The first data[2] premises are facts, the rest bounds of the symbols."""
    relation, symbols, filters = data
    require(all_hold(relation, symbols, premises[:filters], ranges_from(premises[filters:])), "not for all values")
    return relation


def all_hold(relation: Bool, symbols: Sequence[Symbol], facts: Premises, ranges: Callable[[Atom], Interval]) -> bool:
    """Whether a relation holds at each point of a small box that satisfies the facts; division by zero counts as no.

    A fact that divides by zero at a point excludes nothing there: more facts never show less.
    """
    ends = [ranges(s) for s in symbols]
    if float_symbols_of(relation) or any(isinstance(lo, float) or isinstance(hi, float) for lo, hi in ends):
        return False
    axes = [range(int(lo), int(hi) + 1) for lo, hi in ends]
    size = 1
    for axis in axes:
        size *= len(axis)
    if size > ENUMERATION_LIMIT:
        return False
    for point in product(*axes):
        values = dict(zip(symbols, point))
        try:
            if not _excluded(facts, values) and not evaluate(relation, values):
                return False
        except (ArithmeticError, ValueError):
            return False
    return True


def _excluded(facts: Premises, values: dict[Symbol, Any]) -> bool:
    for fact in facts:
        try:
            if not evaluate(fact, values):  # type: ignore[arg-type]
                return True
        except (ArithmeticError, ValueError):
            continue
    return False


RULES: dict[str, Callable[[Checker, Premises, tuple[Any, ...]], Claim]] = {
    "fact": _fact, "assume": _assume, "declared": _declared, "part": _part,
    "linear": _linear, "equation": _equation, "transitive": _transitive, "both": _both,
    "tighten": _tighten, "product": _product,
    "apart": _apart, "strictly": _strictly,
    "interval": _interval, "atom interval": _atom_interval, "shift": _shift,
    "congruent": _congruent, "residue": _residue, "incongruent": _incongruent, "round up": _round_up,
    "incongruent difference": _incongruent_difference, "chinese": _chinese, "remainder of": _remainder_of,
    "float bounds": _float_bounds,
    "modulo": _modulo, "replace": _replace, "rewrite": _rewrite, "rewritten": _rewritten,
    "all": _all, "either": _either, "remaining": _remaining, "clash": _clash, "normal form": _normal_form,
    "enumerate": _enumerate,
    **laws.RULES,
}


# -- rules that discharge assumptions -----------------------------------------------------------------------------
Done = list[tuple[Claim, frozenset[Bool]]]


def _refute(done: Done, data: tuple[Any, ...]) -> tuple[Claim, frozenset[Bool]]:
    """relation: assuming it leads to FALSE, so its negation holds."""
    (claim, hypotheses), = done
    require(claim is FALSE, "the assumption leads to no contradiction")
    return not_(data[0]), hypotheses - {data[0]}


def _cases(done: Done, data: tuple[Any, ...]) -> tuple[Claim, frozenset[Bool]]:
    """One conclusion from each case. With data (relation,): the cases are it and its negation; else the first premise
    is a disjunction, and each of its parts, in order, is a case."""
    if data:
        alternatives, branches, first = (data[0], not_(data[0])), done, frozenset[Bool]()
    else:
        (whole, first), *branches = done
        require(isinstance(whole, Junction) and whole.kind == "or", "not a disjunction")
        alternatives = whole.args  # type: ignore[union-attr, assignment]
    require(len(alternatives) == len(branches), "a case is missing")
    conclusions = {claim for claim, _ in branches if claim is not FALSE}
    require(len(conclusions) <= 1, "the cases conclude different things")
    hypotheses = frozenset().union(first, *(h - {a} for (_, h), a in zip(branches, alternatives)))
    return (conclusions.pop() if conclusions else FALSE), hypotheses


DISCHARGING: dict[str, Callable[[Done, tuple[Any, ...]], tuple[Claim, frozenset[Bool]]]] = {
    "refute": _refute, "cases": _cases,
}
