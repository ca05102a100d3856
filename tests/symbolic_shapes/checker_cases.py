"""Attempts at each rule of the checker: premises and data that fit, and (half of the time) some that nearly do.

An attempt is made of small expressions, so that what a rule wrongly accepts is false somewhere in a small box.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from dynamo_lite.symbolic_shapes import (
    Bool,
    Int,
    Symbol,
    and_,
    eq,
    int_truediv,
    ite,
    le,
    maximum,
    or_,
    power,
    round_float,
    to_float,
)
from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Atom, as_int
from dynamo_lite.symbolic_shapes.expressions.float_relations import compare
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, Rel, eq_zero, le_zero, ne_zero, not_
from dynamo_lite.symbolic_shapes.expressions.substitution import AT_ZERO, substitute
from dynamo_lite.symbolic_shapes.proofs.operator_rules import exact_rounding, max_cases
from dynamo_lite.symbolic_shapes.proofs.proof import Congruent

Attempt = tuple[list[Any], tuple[Any, ...]]
"""(premises, data) of a rule."""
X, Y = Symbol("x"), Symbol("y")
SOME, MORE, FEWER = Symbol("p", 1, 3), Symbol("a", -2), Symbol("b", hi=2)
SYMBOLS = (X, Y, SOME, MORE, FEWER)
X_OVER_ZERO = AT_ZERO.as_atom()
assert isinstance(X_OVER_ZERO, Apply)


class Draw:
    """Random small expressions and claims."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.names = SYMBOLS[:2]
        if seed % 3 == 0:
            self.names = (self.rng.choice(SYMBOLS), self.rng.choice(SYMBOLS[2:]))

    def flip(self, chance: float = 0.5) -> bool:
        return self.rng.random() < chance

    def number(self, lo: int = -3, hi: int = 3) -> int:
        return self.rng.randint(lo, hi)

    def off(self, value: int, chance: float = 0.35) -> int:
        """The number, or one beside it."""
        return value + self.rng.choice((-2, -1, 1, 2)) if self.flip(chance) else value

    def near(self, p: Int, chance: float = 0.35) -> Int:
        """The expression, or another."""
        if self.flip(1 - chance):
            return p
        return self.rng.choice((p + 1, p - 1, p + self.symbol().as_int(), -p, p * 2, self.linear()))

    def symbol(self) -> Symbol:
        return self.rng.choice(self.names)

    def leaf(self) -> Int:
        return self.symbol().as_int() if self.flip(0.8) else as_int(self.number())

    def apply(self, op: str = "") -> Int:
        op = op or self.rng.choice(("floordiv", "floordiv", "max", "ite", "pow"))
        p, q = self.linear(), self.linear()
        if op == "floordiv":
            return p // (q if self.flip(0.4) and q is not as_int(0) else self.rng.choice((2, 3, 4, -2)))
        if op == "max":
            return maximum(p, q) if self.flip(0.8) else maximum(p, q, self.linear())
        if op == "pow":
            return power(self.leaf(), abs(self.symbol().as_int()))
        return ite(self.relation(p), q, self.linear())

    def atom(self, op: str = "") -> Apply:
        """A compound atom (with this operator)."""
        while True:
            for atom in self.apply(op).atoms():
                if isinstance(atom, Apply) and (not op or atom.op == op):
                    return atom

    def linear(self) -> Int:
        a, b = self.names
        return a.as_int() * self.number(-2, 2) + b.as_int() * self.number(-1, 1) + self.number()

    def poly(self) -> Int:
        kind = self.number(0, 9)
        if kind < 5:
            return self.linear()
        if kind < 7:
            return self.linear() + self.symbol().as_int() * self.symbol().as_int() * self.rng.choice((1, -1))
        return self.linear() + self.apply() * self.rng.choice((1, -1, 2))

    def relation(self, p: Int | None = None, kinds: Sequence[str] = ("le", "eq", "ne")) -> Bool:
        build: Callable[[Int], Bool] = {"le": le_zero, "eq": eq_zero, "ne": ne_zero}[self.rng.choice(kinds)]
        return build(self.poly() if p is None else p)

    def inequality(self, p: Int | None = None) -> Bool:
        return self.relation(p, ("le", "le", "eq"))

    def claim(self) -> Any:
        """Any claim at all."""
        kind = self.number(0, 9)
        if kind == 0:
            return FALSE
        if kind == 1:
            return Congruent(self.poly(), self.number(2, 4))
        if kind < 4:
            return self.rng.choice((and_, or_))(self.relation(), self.relation())
        return self.relation()

    def instead(self, claim: Any, chance: float = 0.25) -> Any:
        """The claim, or another one."""
        if self.flip(1 - chance):
            return claim
        if isinstance(claim, Rel) and self.flip(0.7):
            kinds = ("le", "eq", "ne")
            return self.relation(self.near(claim.poly, 0.6), kinds)
        if isinstance(claim, Congruent) and self.flip(0.7):
            return Congruent(self.near(claim.poly, 0.5), max(1, self.off(claim.modulus)))
        return self.claim()

    def bounds(self, atoms: Sequence[Atom]) -> list[Any]:
        """Claims about some of the atoms' ends."""
        out: list[Any] = []
        for atom in atoms:
            x = atom.as_int()
            if self.flip(0.15):
                x = x * (x if self.flip() else self.symbol().as_int())
            if self.flip(0.7):
                out.append(le(x, self.number(-1, 4)))
            if self.flip(0.7):
                out.append(le(as_int(self.number(-4, 1)), x))
            if self.flip(0.1):
                out.append(self.instead(eq(x, self.number()), 0.3))
        return out

    def congruence(self, p: Int) -> Congruent:
        return Congruent(p, self.number(2, 6))

    def small_poly(self) -> Int:
        return self.linear() if self.flip(0.7) else self.poly()


# -- given, and linear arithmetic ---------------------------------------------------------------------------------
def declared(d: Draw) -> Attempt:
    return [], (d.rng.choice(SYMBOLS), d.rng.choice(("lo", "hi")))


def part(d: Draw) -> Attempt:
    parts = [d.relation(), d.relation()]
    whole = d.rng.choice((and_, and_, or_))(*parts) if d.flip(0.9) else d.claim()
    return [whole], (d.instead(parts[0]),)


def linear(d: Draw) -> Attempt:
    premises = [d.instead(d.inequality(), 0.1) for _ in range(d.number(1, 3))]
    multipliers = tuple(d.off(d.number(0, 2), 0.2) for _ in premises)
    return premises, (multipliers, d.off(d.number(0, 2), 0.2))


def equation(d: Draw) -> Attempt:
    premises = [d.instead(d.relation(None, ("eq",)), 0.15) for _ in range(d.number(1, 2))]
    return premises, (tuple(d.number() if d.flip() else d.leaf() for _ in premises),)


def transitive(d: Draw) -> Attempt:
    a, b, c = d.small_poly(), d.small_poly(), d.small_poly()
    first, second = d.rng.choice((a - b, a - b, a + b)), d.rng.choice((b - c, b - c, b + c))
    return [d.instead(eq_zero(first)), d.instead(eq_zero(second))], (a, b, c)


def both(d: Draw) -> Attempt:
    p = d.small_poly()
    return [d.instead(le_zero(p)), d.instead(le_zero(-p))], ()


def tighten(d: Draw) -> Attempt:
    p = d.small_poly()
    return [d.instead(d.inequality(p)), d.instead(ne_zero(d.near(p)), 0.3)], ()


def two_inequalities(d: Draw) -> Attempt:
    return [d.instead(d.inequality(d.small_poly())), d.instead(d.inequality(d.small_poly()))], ()


def apart(d: Draw) -> Attempt:
    return [d.instead(ne_zero(d.poly()), 0.4)], ()


def strictly(d: Draw) -> Attempt:
    p = d.poly()
    return [d.instead(le_zero(p + 1), 0.4)], (d.near(p),)


# -- bounds -------------------------------------------------------------------------------------------------------
def interval(d: Draw) -> Attempt:
    p = d.poly()
    return d.bounds(p.atoms()), (p,)


def atom_interval(d: Draw) -> Attempt:
    atom = d.atom()
    inside = dict.fromkeys(a for arg in atom.args if isinstance(arg, Int) for a in arg.atoms())
    return d.bounds(list(inside)), (atom, d.rng.choice(("lo", "hi")))


def shift(d: Draw) -> Attempt:
    a, b = (s.as_int() for s in d.names)
    p = a * b * d.number(-2, 1) + d.linear()
    atoms = list(dict.fromkeys(p.atoms()))
    return d.bounds(atoms), (p, tuple(atoms[:d.number(0, 2)] if d.flip(0.2) else atoms))


def float_bounds(d: Draw) -> Attempt:
    a, b = (s.as_int() for s in d.names)
    quotient = int_truediv(a, b) if d.flip() else to_float(a) * 0.5
    relation = compare(d.rng.choice(("lt", "le", "eq")), quotient, d.number() + 0.5)
    return d.bounds(d.names), (relation if d.flip() else not_(relation),)


def enumerate_(d: Draw) -> Attempt:
    symbols = tuple(dict.fromkeys(d.names))
    facts = [d.relation(d.linear()) for _ in range(d.number(0, 2))]
    if d.flip(0.2):  # a division by zero at some point, or a box that is too large
        x, y = (s.as_int() for s in d.names)
        few = [le(as_int(0), y), le(y, d.number(0, 1)), le(as_int(0), x), le(x, 2)]
        many = [le(as_int(-30), y), le(y, 30), le(as_int(-30), x), le(x, 30)]
        relation = d.rng.choice((eq(x // y, 0), le(x // y, 5), le(x, 5), le(x, 50)))
        return d.rng.choice((few, few, many)), (relation, symbols, 0)
    relation = or_(facts[0] if d.flip() else d.relation(), d.relation()) if facts else d.relation()
    ends = [e for s in symbols for e in (le(s.as_int(), d.number(0, 2)), le(as_int(d.number(-2, 0)), s.as_int()))]
    if d.flip(0.1):
        ends.pop()
    return [*facts, *ends], (relation, symbols, d.off(len(facts), 0.1))


# -- congruences ---------------------------------------------------------------------------------------------------
def congruent(d: Draw) -> Attempt:
    p, q, k, m = d.linear(), d.linear(), d.number(), d.number(1, 4)
    premises = [d.instead(Congruent(p, m * d.number(1, 2))), d.instead(eq_zero(q), 0.3)]
    shown = eq_zero(q)
    q = shown.poly if isinstance(shown, Rel) else q
    goal = p * k + q * 2 + d.linear() * m
    return premises, (d.near(goal, 0.3), d.off(m, 0.2), (k, 2))


def residue(d: Draw) -> Attempt:
    a, b = (s.as_int() for s in d.names)
    m, n, r, s = d.number(2, 6), d.number(2, 6), d.number(0, 5), d.number(0, 5)
    premises = [d.instead(Congruent(a - r, m), 0.15), d.instead(Congruent(b - s, n), 0.15)]
    if d.flip(0.1):
        premises[0] = Congruent(a * 2 - r, m)
    if d.flip(0.4):
        return premises[:d.number(0, 1)], (b * d.number(0, 3) + d.number(-2, 4), d.number(2, 4))
    p = a * d.number() + b * d.number() + a * b * d.number(0, 1) + d.number()
    return premises, (p, d.number(1, 4))


def incongruent(d: Draw) -> Attempt:
    p, m = d.poly(), d.number(2, 4)
    return [d.instead(Congruent(p - d.number(), m))], (d.near(p, 0.1),)


def incongruent_difference(d: Draw) -> Attempt:
    p, m = d.linear(), d.number(2, 4)
    return [Congruent(p, m), d.instead(Congruent(p + d.number(-4, 4), d.off(m, 0.15)))], ()


def chinese(d: Draw) -> Attempt:
    p, m, n = d.linear(), d.number(2, 5), d.number(2, 5)
    premises = [Congruent(p + m * d.number(-1, 1), m), Congruent(d.near(p, 0.2) + n, n)]
    return [d.instead(c, 0.1) for c in premises], (p, d.rng.choice((m * n, m, n, m * n, 2 * m)))


def remainder_of(d: Draw) -> Attempt:
    p, m = d.poly(), d.number(2, 5)
    return [d.instead(Congruent(d.near(p, 0.2), d.off(m, 0.2)))], (p, m)


def round_up(d: Draw) -> Attempt:
    p, m = d.linear(), d.number(2, 4)
    return [d.instead(le_zero(p)), d.instead(Congruent(p + d.number(-1, 5), m))], ()


# -- substitution and logic ----------------------------------------------------------------------------------------
def _mapping(d: Draw) -> tuple[list[Any], tuple[Atom, ...], tuple[Int, ...]]:
    """Equations for none, one or two atoms; now and then one is missing."""
    atoms: tuple[Atom, ...] = (d.symbol() if d.flip(0.7) else d.atom(), SOME)[:d.rng.choice((0, 1, 1, 2))]
    if len(set(atoms)) < len(atoms):
        atoms = atoms[:1]
    others = [s for s in SYMBOLS if s not in atoms]
    images = tuple(others[i].as_int() * d.number(0, 2) + d.number() for i in range(len(atoms)))
    equations = [d.instead(eq_zero(a.as_int() - image * d.rng.choice((1, 1, 1, -1))), 0.2)
                 for a, image in zip(atoms, images)]
    return equations[:-1] if d.flip(0.1) else equations, atoms, images


def _with_atoms(d: Draw, atoms: Sequence[Atom]) -> Int:
    p = d.poly()
    for atom in atoms:
        p = p + atom.as_int() * d.rng.choice((1, 2, -1))
    return p


def replace(d: Draw) -> Attempt:
    equations, atoms, images = _mapping(d)
    return equations, (_with_atoms(d, atoms), atoms, images)


def rewrite(d: Draw) -> Attempt:
    equations, atoms, images = _mapping(d)
    relation = d.relation(_with_atoms(d, atoms))
    return [*equations, d.instead(substitute(relation, dict(zip(atoms, images))), 0.3)], (relation, atoms, images)


def rewritten(d: Draw) -> Attempt:
    equations, atoms, images = _mapping(d)
    return [*equations, d.relation(_with_atoms(d, atoms))], (atoms, images)


def modulo(d: Draw) -> Attempt:
    q = d.relation(None, ("eq",))
    k, truth = d.number(1, 2), d.flip()
    if not isinstance(q, Rel):
        return modulo(d)
    relation = d.relation(q.poly * k + d.number()) if d.flip(0.3) else d.relation()
    if not isinstance(relation, Rel):
        return modulo(d)
    changed = {"le": le_zero, "eq": eq_zero, "ne": ne_zero}[relation.kind](relation.poly - q.poly * k)
    first = changed if truth else not_(changed)
    return [d.instead(first, 0.3), d.instead(q)], (relation, (k,), truth if d.flip(0.8) else not truth)


def all_(d: Draw) -> Attempt:
    return [d.relation() for _ in range(d.number(1, 3))], ()


def either(d: Draw) -> Attempt:
    parts = [d.relation(), d.relation()]
    return [d.instead(parts[0])], (d.rng.choice((or_, or_, and_))(*parts),)


def remaining(d: Draw) -> Attempt:
    parts = [d.relation() for _ in range(3)]
    whole = d.rng.choice((or_, or_, and_))(*parts)
    return [whole, *(d.instead(not_(p), 0.3) for p in parts[:d.number(1, 3)])], ()


def clash(d: Draw) -> Attempt:
    relation = d.relation()
    return [relation, d.instead(not_(relation), 0.5)], ()


def normal_form(d: Draw) -> Attempt:
    return [], ()


# -- operators -----------------------------------------------------------------------------------------------------
def _sign_premises(d: Draw, divisor: Int) -> list[Any]:
    shown = d.rng.choice((le_zero(1 - divisor), le_zero(divisor + 1), ne_zero(divisor)))
    if d.flip(0.2):
        shown = d.rng.choice((le_zero(-divisor), le_zero(divisor), le_zero(2 - divisor), le_zero(divisor + 2)))
    return [d.instead(shown)] if d.flip(0.9) else []


def floordiv_bound(d: Draw) -> Attempt:
    atom = d.atom("floordiv") if d.flip(0.9) else d.rng.choice((d.atom("max"), X_OVER_ZERO))
    divisor = atom.args[1]
    assert isinstance(divisor, Int)
    return _sign_premises(d, divisor), (atom, d.number(0, 1))


def remainder(d: Draw) -> Attempt:
    atom = d.atom("floordiv")
    x, divisor = atom.args
    assert isinstance(x, Int) and isinstance(divisor, Int)
    r, m = d.number(-2, 4), abs(divisor.const) or 2
    return [d.instead(Congruent(d.near(x - r, 0.2), max(1, d.off(m * d.number(1, 2), 0.2))))], (atom, r)


def exact_division(d: Draw) -> Attempt:
    divisor = d.linear()
    top = divisor * d.leaf() + (d.linear() if d.flip(0.5) else 0)
    atoms = [a for a in (top // divisor).atoms() if isinstance(a, Apply)] if divisor is not as_int(0) else []
    if not atoms:
        return exact_division(d)
    inner = atoms[0].args[1] if atoms[0].op == "floordiv" else divisor
    assert isinstance(inner, Int)
    return _sign_premises(d, inner) or [d.claim()], (atoms[0],)


def small_dividend(d: Draw) -> Attempt:
    atom = d.atom("floordiv") if d.flip(0.95) else d.atom("max")
    x, divisor = atom.args[:2]
    assert isinstance(x, Int) and isinstance(divisor, Int)
    return [d.instead(le_zero(-x), 0.2), d.instead(le_zero(x - divisor + 1), 0.2)], (atom,)


def max_above(d: Draw) -> Attempt:
    return [], (d.atom("max") if d.flip(0.9) else d.atom("floordiv"), d.number(0, 1))


def max_cases_(d: Draw) -> Attempt:
    return [], (d.atom("max") if d.flip(0.9) else d.atom("floordiv"),)


def max_without(d: Draw) -> Attempt:
    atom = d.atom("max")
    count = len(max_cases(atom))
    i, j = d.number(0, count - 1), d.number(0, count - 1)
    a, b = atom.args[i], atom.args[j]
    assert isinstance(a, Int) and isinstance(b, Int)
    return [d.instead(le_zero(a - b), 0.3)], (atom, i, j)


def ite_chosen(d: Draw) -> Attempt:
    atom = d.atom("ite")
    cond = atom.args[0]
    assert isinstance(cond, Bool)
    return [d.instead(cond if d.flip() else not_(cond), 0.3)], (atom,)


def ite_cases(d: Draw) -> Attempt:
    return [], (d.atom("ite") if d.flip(0.9) else d.atom("max"),)


def exact_rounding_(d: Draw) -> Attempt:
    a, b = d.linear(), d.linear()
    x: Any = int_truediv(a, b) if b.terms else to_float(a) * d.rng.choice((0.5, 0.75, -1.5))
    if d.flip(0.2):
        x = to_float(a * 2**51)
    atom = round_float(d.rng.choice(("floor", "ceil", "trunc", "round")), x).as_atom()
    if not isinstance(atom, Apply):
        return exact_rounding_(d)
    image, bounds = exact_rounding(atom)
    premises = [d.instead(b, 0.1) for b in bounds if d.flip(0.95)]
    return premises, (atom, d.near(image, 0.1) if image is not None else None)


def rounded_share_(d: Draw) -> Attempt:
    a = d.linear()
    x: Any = to_float(a) * d.rng.choice((0.3, 0.9, 1.1))
    if d.flip(0.4):
        x = int_truediv(a, as_int(d.rng.choice((1, 2, 3))))
    atom = round_float(d.rng.choice(("floor", "ceil", "trunc", "round")), x).as_atom()
    if not isinstance(atom, Apply):
        return rounded_share_(d)
    return [d.instead(le_zero(-a), 0.2)], (atom,)


ATTEMPTS: dict[str, Callable[[Draw], Attempt]] = {
    "declared": declared, "part": part, "linear": linear, "equation": equation, "transitive": transitive, "both": both,
    "tighten": tighten, "product": two_inequalities, "apart": apart, "strictly": strictly,
    "interval": interval, "atom interval": atom_interval, "shift": shift, "float bounds": float_bounds,
    "enumerate": enumerate_,
    "congruent": congruent, "residue": residue, "incongruent": incongruent,
    "incongruent difference": incongruent_difference, "chinese": chinese, "remainder of": remainder_of,
    "round up": round_up,
    "replace": replace, "rewrite": rewrite, "rewritten": rewritten, "modulo": modulo,
    "all": all_, "either": either, "remaining": remaining, "clash": clash, "normal form": normal_form,
    "floordiv bound": floordiv_bound, "remainder": remainder, "exact division": exact_division,
    "small dividend": small_dividend, "max above": max_above, "max cases": max_cases_, "max without": max_without,
    "ite chosen": ite_chosen, "ite cases": ite_cases, "exact rounding": exact_rounding_,
    "rounded share": rounded_share_,
}
"""rule -> attempts at it. "fact" and "assume" say nothing by themselves: a checker has them."""

