"""Replays every proof of a certificate file, by arithmetic of its own and without search: the standard library alone.

docs/certificates.md describes the file. Each step names a rule, its premises and what it shows; a rule computes what
follows from the premises, and that must equal the claim of the step. `x // 0` is some integer, the same for every x.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

FORMAT, VERSION, GIVEN = "dynamo-lite certificates", 1, ("axioms", "facts", "checks", "guards")
INF, MOST_PRODUCTS, MOST_POINTS, MOST_RESIDUES = math.inf, 100_000, 512, 256


class Rejected(Exception):
    """The file does not prove its claims."""


def require(condition: object, why: str) -> None:
    if not condition:
        raise Rejected(why)


# -- expressions: polynomials over atoms, which are symbols and operators that are not polynomial ---------------------
class PolyAtom:
    """`op` is "symbol", with args (number, name, lo, hi), or an operator of polynomials and relations; equal ones are
    one object. Operators of floats are not interpreted, except by the rule "exact rounding"."""

    known: dict[tuple[Any, ...], PolyAtom] = {}

    def __init__(self, op: str, args: tuple[Any, ...]) -> None:
        self.op, self.args, self.rank = op, args, len(PolyAtom.known)

    @staticmethod
    def of(op: str, *args: Any) -> PolyAtom:
        if (op, *args) not in PolyAtom.known:
            PolyAtom.known[op, *args] = PolyAtom(op, args)
        return PolyAtom.known[op, *args]


Mono = tuple[PolyAtom, ...]
Ranges = Callable[[PolyAtom], Any]
by_rank = operator.attrgetter("rank")


class Poly:
    """`terms`: monomial (atoms by rank; () for the constant) -> coefficient other than 0."""

    def __init__(self, terms: dict[Mono, int]) -> None:
        self.terms = {mono: k for mono, k in terms.items() if k}
        self.hash = hash(frozenset(self.terms.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __hash__(self) -> int:
        return self.hash

    def __add__(self, other: Poly | int) -> Poly:
        terms = dict(self.terms)
        for mono, k in poly(other).terms.items():
            terms[mono] = terms.get(mono, 0) + k
        return Poly(terms)

    def __mul__(self, other: Poly | int) -> Poly:
        terms: dict[Mono, int] = {}
        require(len(self.terms) * len(poly(other).terms) <= MOST_PRODUCTS, "a product of too many terms")
        for (a, j), (b, k) in product(self.terms.items(), poly(other).terms.items()):
            mono = tuple(sorted(a + b, key=by_rank))
            terms[mono] = terms.get(mono, 0) + j * k
        return Poly(terms)

    def __neg__(self) -> Poly:
        return self * -1

    def __sub__(self, other: Poly | int) -> Poly:
        return self + poly(other) * -1

    def over(self, g: int) -> Poly:
        """Each coefficient divided by g, rounded down."""
        return Poly({mono: k // g for mono, k in self.terms.items()})

    @property
    def const(self) -> int:
        return self.terms.get((), 0)

    @property
    def is_number(self) -> bool:
        return not self.terms or self.terms.keys() == {()}

    @property
    def atom(self) -> PolyAtom | None:
        mono = next(iter(self.terms), ())
        return mono[0] if len(mono) == 1 and self.terms == {mono: 1} else None

    def content(self) -> int:
        return math.gcd(*(k for mono, k in self.terms.items() if mono))

    def ordered(self) -> list[tuple[Mono, int]]:
        """The terms without the constant: the highest degree, then the oldest atoms, first."""
        return sorted((t for t in self.terms.items() if t[0]), key=lambda t: (-len(t[0]), [a.rank for a in t[0]]))


def poly(x: Any) -> Poly:
    return x if isinstance(x, Poly) else Poly({(x,): 1}) if isinstance(x, PolyAtom) else Poly({(): operator.index(x)})


# -- relations: ("le" | "eq" | "ne", p) compares p with 0; ("and" | "or", parts); ("compare", op, x, y, positive) of
# -- floats; ("mod", p, m): m divides p -------------------------------------------------------------------------------
Relation = tuple[Any, ...]
Claims = Sequence[Relation]
TRUE: Relation = ("true",)
FALSE: Relation = ("false",)


def le(p: Poly) -> Relation:
    if p.is_number:
        return TRUE if p.const <= 0 else FALSE
    return "le", (p - p.const).over(p.content()) - (-p.const // p.content())


def eq(p: Poly, kind: str = "eq") -> Relation:
    if p.is_number or p.const % p.content():
        return TRUE if (not p.terms) == (kind == "eq") else FALSE
    return kind, p.over(p.content() if p.ordered()[0][1] > 0 else -p.content())


KINDS: dict[str, Callable[[Poly], Relation]] = {"le": le, "eq": eq, "ne": lambda p: eq(p, "ne")}


def divides(p: Poly, m: int) -> Relation:
    return ("mod", p, operator.index(m)) if not p.is_number else FALSE if p.const % operator.index(m) else TRUE


def negated(r: Relation) -> Relation:
    if r[0] in ("and", "or"):
        return junction("or" if r[0] == "and" else "and", map(negated, r[1]))
    if r[0] in ("compare", "le"):
        return (*r[:4], not r[4]) if r[0] == "compare" else le(-r[1] + 1)
    return {"true": FALSE, "false": TRUE}.get(r[0]) or eq(r[1], {"eq": "ne", "ne": "eq"}[r[0]])


def junction(kind: str, parts: Iterable[Relation]) -> Relation:
    neutral, absorbing = (TRUE, FALSE) if kind == "and" else (FALSE, TRUE)
    flat = frozenset(p for part in parts for p in (part[1] if part[0] == kind else (part,))) - {neutral}
    if absorbing in flat or any(negated(p) in flat for p in flat):
        return absorbing
    return (kind, flat) if len(flat) > 1 else next(iter(flat), neutral)


# -- intervals: ends are ints, or infinite floats, which are compared and never computed with -------------------------
def plus(x: Any, y: Any) -> Any:
    return x if isinstance(x, float) else y if isinstance(y, float) else x + y


def times(x: Any, y: Any) -> Any:
    if not x or not y:
        return 0
    return x * y if isinstance(x, int) and isinstance(y, int) else INF if (x > 0) == (y > 0) else -INF


def interval(p: Poly, ranges: Ranges) -> Any:
    """Ends that hold for each assignment within the ranges of the atoms."""
    lo = hi = 0
    for mono, k in p.terms.items():
        a = b = 1
        for atom in dict.fromkeys(mono):
            (c, d), n = ranges(atom), mono.count(atom)
            if len(mono) > 1:
                powers = [end**n if isinstance(end, int) else end if n % 2 else INF for end in (c, d)]
                c, d = 0 if n % 2 == 0 and c <= 0 <= d else min(powers), max(powers)
                corners = [times(x, y) for x in (a, b) for y in (c, d)]
                c, d = min(corners), max(corners)
            a, b = c, d
        lo, hi = plus(lo, times(a if k > 0 else b, k)), plus(hi, times(b if k > 0 else a, k))
    return lo, hi


def declared(atom: PolyAtom) -> Any:
    """Its ends by the declared ranges of the symbols alone."""
    return atom.args[2:] if atom.op == "symbol" else interval_of(atom, declared)


def quotient(x: Any, d: Any) -> Any:
    if isinstance(x, float):
        return x if d > 0 else -x
    return x // d if isinstance(d, int) else 0 if x == 0 or (x > 0) == (d > 0) else -1


def interval_of(atom: PolyAtom, ranges: Ranges) -> Any:
    """The ends of an operator's value, from those of its arguments."""
    if atom.op not in INTERVALS:
        return -INF, INF
    return INTERVALS[atom.op](ranges, *atom.args, *(interval(a, ranges) for a in atom.args if isinstance(a, Poly)))


def ends_of_floordiv(ranges: Ranges, x: Poly, d: Poly, of_x: Any, of_d: Any) -> Any:
    for mono, k in x.terms.items():  # a maximum in the dividend is at least each of its arguments
        for arg in mono[0].args if len(mono) == 1 and mono[0].op == "max" else ():
            lo, hi = interval(x + (arg - poly(mono[0])) * k, ranges)
            of_x = (max(of_x[0], lo), of_x[1]) if k > 0 else (of_x[0], min(of_x[1], hi))
    corners = () if of_d[0] <= 0 <= of_d[1] or 0 in of_d else product(of_x, of_d)
    ends = [quotient(a, b) for a, b in corners if isinstance(a, int) or isinstance(b, int)]
    return (min(ends), max(ends)) if ends else (-INF, INF)


def ends_of_max(ranges: Ranges, *args: Any) -> Any:
    args, ends = args[: len(args) // 2], args[len(args) // 2 :]
    both = args[0] + args[1]
    half = -(-both.const // 2) if len(args) == 2 and both.is_number else -INF  # at least half of their sum
    return max(half, *(lo for lo, _ in ends)), max(hi for _, hi in ends)


def ends_of_ite(ranges: Ranges, cond: Relation, x: Poly, y: Poly, of_x: Any, of_y: Any) -> Any:
    truth = truth_of(cond, ranges)
    return (min(of_x[0], of_y[0]), max(of_x[1], of_y[1])) if truth is None else of_x if truth else of_y


INTERVALS: dict[str, Callable[..., Any]] = {"floordiv": ends_of_floordiv, "max": ends_of_max, "ite": ends_of_ite}


def truth_of(r: Relation, ranges: Ranges) -> bool | None:
    """The truth of a relation by intervals; None where they leave it open."""
    if r[0] in ("and", "or"):
        truths = {truth_of(part, ranges) for part in r[1]}
        return (r[0] == "or") if (r[0] == "or") in truths else None if None in truths else r[0] == "and"
    if r[0] not in ("le", "eq", "ne"):
        return INTERVALS[r[0]](ranges, *r[1:]) if r[0] in INTERVALS else {"true": True, "false": False}.get(r[0])
    lo, hi = interval(r[1], ranges)
    if r[0] == "le":
        return True if hi <= 0 else False if lo > 0 else None
    return (r[0] == "ne") if lo > 0 or hi < 0 else (r[0] == "eq") if lo == hi else None


def is_nonzero(p: Poly) -> bool:
    return truth_of(("ne", p), declared) is True


# -- the laws of the operators: a canonical form for each -------------------------------------------------------------
def floordiv(p: Poly, d: Poly) -> Poly:
    if d.is_number:
        return by_number(p, d.const) if d.terms else poly(PolyAtom.of("floordiv", d, d))
    if d.ordered()[0][1] < 0:  # x // -d == -x // d
        p, d = -p, -d
    whole, rest = take_out(p, d) if is_nonzero(d) else (poly(0), p)  # (d*q + y) // d == q + y // d
    if not rest.terms and is_nonzero(d):
        return whole
    g = math.gcd(*rest.terms.values(), *d.terms.values())
    p, d = rest.over(g), d.over(g)  # (g*x) // (g*d) == x // d
    for atom in next(iter(p.terms), ()):
        if all(atom in mono for mono in [*p.terms, *d.terms]) and is_nonzero(poly(atom)):
            p, d = (Poly({divided(m, (atom,)) or (): k for m, k in x.terms.items()}) for x in (p, d))
    return whole + (by_number(p, d.const) if d.is_number else poly(PolyAtom.of("floordiv", p, d)))


def by_number(p: Poly, d: int) -> Poly:
    """p // d for a number d other than 0."""
    if d < 0:
        p, d = -p, -d
    whole = Poly({m: k // d if k >= 0 or not m else -(-k // d) for m, k in p.terms.items()})
    p = p - whole * d
    if p.is_number:  # in [0, d)
        return whole
    g = math.gcd(p.content(), d)  # (g*x + k) // (g*d) == (x + k // g) // d
    p, d = p.over(g), d // g
    if d == 1:
        return whole + p
    (mono, k), *others = p.ordered()
    if not others and len(mono) == 1 and mono[0].op == "floordiv" and k in (1, -1) and mono[0].args[1].is_number:
        x, a = mono[0].args[0], mono[0].args[1].const
        if a >= 1:  # (x // a + c) // d == (x + a*c) // (a*d), and -(x // a) == (-x + a - 1) // a
            return whole + by_number((x if k == 1 else -x + (a - 1)) + a * p.const, a * d)
    if k < 0:  # x // d == -((-x + d - 1) // d)
        return whole - poly(PolyAtom.of("floordiv", -p + (d - 1), poly(d)))
    return whole + poly(PolyAtom.of("floordiv", p, poly(d)))


def divided(mono: Mono, by: Mono) -> Mono | None:
    rest = list(mono)
    for atom in by:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def take_out(p: Poly, d: Poly) -> tuple[Poly, Poly]:
    """(q, r) with p == d*q + r: the multiples of d that are in p term by term."""
    (lead, k), whole, found = d.ordered()[0], poly(0), True
    while found:
        found = False
        for mono, coef in p.ordered():
            rest = divided(mono, lead)
            part = Poly({} if rest is None or coef % k else {rest: coef // k})
            if part.terms and (len(d.ordered()) == 1 or all(p.terms.get(m) == c for m, c in (part * d).terms.items())):
                whole, p, found = whole + part, p - part * d, True
                break
    return whole, p


def maximum(*args: Poly) -> Poly:
    flat: list[Poly] = []
    for arg in (a for x in args for a in (x.atom.args if x.atom and x.atom.op == "max" else (x,))):
        if not any(interval(kept - arg, declared)[0] >= 0 for kept in flat):
            flat = [kept for kept in flat if interval(arg - kept, declared)[0] < 0] + [arg]
    if len(flat) == 1:
        return flat[0]
    shared = Poly({m: k for m, k in flat[0].terms.items() if m and all(a.terms.get(m) == k for a in flat)})
    shared += min(a.const for a in flat if not (a - shared).is_number)  # max(x + z, y + z) == max(x, y) + z
    g = math.gcd(*(k for a in flat for k in (a - shared).terms.values()))  # max(g*x, g*y) == g * max(x, y)
    rest = [(a - shared).over(g) for a in flat]
    if any(a.atom and a.atom.op == "max" for a in rest):
        return maximum(*rest) * g + shared
    rest.sort(key=lambda a: [(len(m), [x.rank for x in m], k) for m, k in (*a.ordered(), ((), a.const))])
    return poly(PolyAtom.of("max", *rest)) * g + shared


def ite(cond: Relation, then: Poly, other: Poly) -> Poly:
    if cond in (TRUE, FALSE) or then == other:
        return other if cond == FALSE else then
    if cond[0] == "le" and cond[1] in (other - then, other - then + 1, then - other, then - other + 1):
        return maximum(then, other) if cond[1] in (other - then, other - then + 1) else -maximum(-then, -other)
    if ("chosen", negated(cond)) in PolyAtom.known:  # of a condition and its negation the first that is met
        cond, then, other = negated(cond), other, then
    PolyAtom.of("chosen", cond)
    shared = Poly({m: k for m, k in then.terms.items() if m and other.terms.get(m) == k}) + other.const
    return poly(PolyAtom.of("ite", cond, then - shared, other - shared)) + shared


def power(base: Poly, n: Poly) -> Poly:
    if n.is_number and n.const >= 0 and (base.is_number or (n.const <= 64 and len(base.terms) ** n.const <= 1024)):
        return poly(base.const**n.const) if base.is_number else math.prod([base] * n.const, start=poly(1))
    return base if base == poly(1) else poly(PolyAtom.of("pow", base, n))


FUNCTIONS: dict[str, Callable[..., int]] = {"bitand": operator.and_, "bitor": operator.or_, "bitxor": operator.xor}
MEANINGS: dict[str, Callable[..., Any]] = {"floordiv": operator.floordiv, "max": max, "pow": operator.pow, **FUNCTIONS}
LAWS: dict[str, Callable[..., Any]] = {"floordiv": floordiv, "max": maximum, "ite": ite, "pow": power}
"""The tables of operators. floats.py has those of floats, which have no laws, bounds or meanings without it."""


def build(op: str, args: Sequence[Any]) -> Any:
    if op in FUNCTIONS and all(a.is_number for a in args):
        return poly(FUNCTIONS[op](*(a.const for a in args)))
    return LAWS[op](*args) if op in LAWS else poly(PolyAtom.of(op, *args))


def substitute(x: Any, mapping: dict[PolyAtom, Poly], memo: dict[Any, Any]) -> Any:
    """A polynomial or a relation with atoms replaced at any depth."""
    if x not in memo:
        memo[x] = _substitute(x, lambda part: substitute(part, mapping, memo), mapping)
    return memo[x]


def _substitute(x: Any, inside: Callable[[Any], Any], mapping: dict[PolyAtom, Poly]) -> Any:
    if isinstance(x, Poly):
        return sum((math.prod(map(inside, mono), start=poly(k)) for mono, k in x.terms.items()), poly(0))
    if isinstance(x, PolyAtom):
        known = mapping.get(x) or (poly(x) if x.op in ("symbol", "number") else None)
        return known or build(x.op, [inside(arg) for arg in x.args])
    if x[0] in ("and", "or"):
        return junction(x[0], map(inside, x[1]))
    if x[0] == "compare":
        return LAWS["compare"](x[1], inside(x[2]), inside(x[3]), x[4])
    return KINDS[x[0]](inside(x[1])) if len(x) > 1 else x


def evaluate(x: Any, values: dict[PolyAtom, int]) -> Any:
    """The value in Python."""
    if isinstance(x, Poly):
        return sum(k * math.prod(evaluate(atom, values) for atom in mono) for mono, k in x.terms.items())
    if isinstance(x, PolyAtom):
        if x.op in ("symbol", "ite"):
            return values[x] if x.op == "symbol" else evaluate(x.args[2 - evaluate(x.args[0], values)], values)
        args = x.args if x.op == "number" else [evaluate(arg, values) for arg in x.args]
        if x.op == "pow" and args[1] < 0:
            raise ArithmeticError("a negative power")
        return MEANINGS[x.op](*args)
    if x[0] in ("and", "or"):
        return (all if x[0] == "and" else any)(evaluate(part, values) for part in x[1])
    if x[0] == "compare":
        return MEANINGS[x[1]](evaluate(x[2], values), evaluate(x[3], values)) == x[4]
    value = evaluate(x[1], values) if len(x) > 1 else 0
    return {"le": value <= 0, "eq": value == 0, "ne": value != 0, "true": True, "false": False}[x[0]]


# -- rules: from the claims of the premises and data to the claim that follows ----------------------------------------
def when(condition: object, claim: Any) -> Any:
    require(condition, "it does not follow")
    return claim


def side(r: Relation, *kinds: str) -> Poly:
    """The p of p <= 0, or of what else is allowed; FALSE shows 1 <= 0 and 1 == 0 too."""
    require(r == FALSE or r[0] in kinds, "a premise is of another kind")
    return poly(1) if r == FALSE else r[1]


def atom_of(p: Poly, *operators: str) -> PolyAtom:
    require(p.atom and p.atom.op in (operators or (p.atom.op,)), "not such an operator")
    return p.atom  # type: ignore[return-value]


def end_of(p: Poly, which: str, ends: Any) -> Relation:
    require(isinstance(ends[which == "hi"], int), "no such end")
    return le(p - ends[1]) if which == "hi" else le(-p + ends[0])


def ranges_of(claims: Claims) -> Ranges:
    """The declared ranges, cut to bounds of single atoms."""
    known: dict[PolyAtom, Any] = {}
    for claim in claims:
        p = side(claim, "le", "eq")
        ((mono, k),) = p.ordered()
        require(len(mono) == 1 and k in (1, -1), "not a bound of one atom")
        (lo, hi), end = known.get(mono[0]) or declared(mono[0]), -p.const * k
        both = claim[0] == "eq"
        known[mono[0]] = max(lo, end) if both or k < 0 else lo, min(hi, end) if both or k > 0 else hi
    return lambda atom: known.get(atom) or declared(atom)


def replaced(x: Any, equations: Claims, atoms: Sequence[Poly], images: Sequence[Poly]) -> Any:
    require(list(equations) == [eq(a - b) for a, b in zip(atoms, images, strict=True)], "not the equations")
    return substitute(x, {atom_of(a): b for a, b in zip(atoms, images)}, {})


def linear(c: Claims, ks: list[int], slack: int) -> Relation:
    positive = slack >= 0 and all(k >= 0 or r[0] == "eq" for k, r in zip(ks, c, strict=True))
    require(positive, "a negative multiple of an inequality")
    return le(sum((side(r, "le", "eq") * k for k, r in zip(ks, c)), poly(-slack)))


def modulo(c: Claims, relation: Relation, ks: list[Any], truth: bool) -> Relation:
    """A relation of p is decided by that of p minus multiples of what is 0."""
    p = sum((side(r, "eq") * -k for k, r in zip(ks, c[1:], strict=True)), relation[1])
    left = KINDS[relation[0]](p)
    left, goal = (left, relation) if truth else (negated(left), negated(relation))
    return when(left in (c[0], TRUE), goal)


def enumerated(c: Claims, relation: Relation, symbols: list[Poly], facts: int) -> Relation:
    """Each assignment in the ranges either violates a fact or satisfies the relation."""
    ranges = ranges_of(c[facts:])
    axes = [range(lo, hi + 1) for lo, hi in map(ranges, map(atom_of, symbols))]
    require(math.prod(map(len, axes)) <= MOST_POINTS, "too many assignments")
    for point in product(*axes):
        values = dict(zip(map(atom_of, symbols), point))
        require(any(fails(r, values) for r in c[:facts]) or evaluate(relation, values), "an assignment violates it")
    return relation


def fails(fact: Relation, values: dict[PolyAtom, int]) -> bool:
    """A fact that has no value there excludes nothing."""
    with suppress(ArithmeticError):
        return not evaluate(fact, values)
    return False


def residues(c: Claims, goal: Relation, symbol: Poly, m: int) -> Relation:
    """For symbol == m*k + r, each r, the goal is true or a premise false."""
    require(1 <= m <= MOST_RESIDUES, "too many residues")
    lo, hi = declared(atom_of(symbol, "symbol"))
    for r in range(m):
        low, high = (-((r - lo) // m) if isinstance(lo, int) else lo), (hi - r) // m if isinstance(hi, int) else hi
        case = {symbol.atom: poly(PolyAtom.of("symbol", -1, "k", low, high)) * m + r}
        now = [substitute(x, case, {}) for x in (goal, *c)] if low <= high else [TRUE]  # type: ignore[arg-type]
        require(now[0] == TRUE or FALSE in now[1:], "a residue leaves it open")
    return goal


def congruent(c: Claims, p: Poly, m: int, ks: list[Any]) -> Relation:
    """m divides p - sum(k * q) for premises n | q (n == 0: q is 0) where m divides k * n."""
    for k, r in zip(ks, c, strict=True):
        require(r[0] == "eq" or (r[0] == "mod" and k * r[2] % m == 0), "the modulus does not divide")
        p = p - side(r, "eq", "mod") * k
    whole = sum((side(r, "eq", "mod") * k for k, r in zip(ks, c)), p)
    return when(m >= 1 and not any(k % m for k in p.terms.values()), divides(whole, m))


def residue(c: Claims, p: Poly, m: int) -> Relation:
    """(n, r): a value is r modulo n, or r itself if n is 0; sums and products of such."""
    known = {atom_of(side(r, "mod") - r[1].const): (r[2], -r[1].const) for r in c}
    n, rest = 0, 0
    for mono, k in p.terms.items():
        a, x = 0, k
        for b, y in (known.get(atom, (1, 0)) for atom in mono):
            a, x = math.gcd(x * b, y * a, a * b), x * y
        n, rest = math.gcd(n, a), rest + x
    return when(n % m == 0 and rest % m == 0, divides(p, m))


def next_multiple(c: Claims) -> Relation:
    """p <= 0 and m | p + k, 0 <= k < m, give p + k <= 0."""
    k = side(c[1], "mod") - side(c[0], "le", "eq")
    return when(k.is_number and 0 <= k.const < c[1][2], le(c[1][1]))


def divisor(c: Claims, d: Poly) -> int:
    """1 if it is shown to be positive, -1 if negative, 0 if not 0."""
    shown = [sign for sign, r in ((1, le(-d + 1)), (-1, le(d + 1)), (0, eq(d, "ne"))) if r == TRUE or r in c[:1]]
    return shown[0]


def floordiv_bound(c: Claims, q: Poly, half: int) -> Relation:
    """d*q <= x <= d*q + d - 1 for d >= 1, d*q + d + 1 <= x <= d*q for d <= -1."""
    x, d = atom_of(q, "floordiv").args
    sign = divisor(c, d)
    rest = (x - d * q) * sign
    return when(sign, le(rest - d * sign + 1 if half else -rest))


def exact_division(c: Claims, q: Poly) -> Relation:
    """(d*w + y) // d == w + y // d for d other than 0."""
    x, d = atom_of(q, "floordiv").args
    divisor(c, d)
    whole, rest = take_out(x, d)
    return eq(q - whole - (floordiv(rest, d) if rest.terms else 0))


def remainder(c: Claims, q: Poly, r: int) -> Relation:
    """x - d * (x // d) == r % d for x ≡ r modulo a multiple of d."""
    x, d = atom_of(q, "floordiv").args
    known = c[0][:2] == ("mod", x - r) and d.is_number and d.const > 0 and c[0][2] % d.const == 0
    return when(known, eq(x - d * q - r % d.const))


def small_dividend(c: Claims, q: Poly) -> Relation:
    x, d = atom_of(q, "floordiv").args
    return when(list(c) == [le(-x), le(x - d + 1)], eq(q))


def without(c: Claims, q: Poly, less: Poly, more: Poly) -> Relation:
    """A maximum needs no argument that is shown to be at most another."""
    args = atom_of(q, "max").args
    dominated = {less, more} <= {*args} and less != more and c[0] == le(less - more)
    return when(dominated, eq(q - maximum(*(a for a in args if a != less))))


def chosen(c: Claims, q: Poly) -> Relation:
    cond, then, other = atom_of(q, "ite").args
    return when(c[0] in (cond, negated(cond)), eq(q - (then if c[0] == cond else other)))


def choices(q: Poly) -> Relation:
    cond, then, other = atom_of(q, "ite").args
    parts = ((cond, eq(q - then)), (negated(cond), eq(q - other)))
    return junction("or", [junction("and", part) for part in parts])


RULES: dict[str, Callable[..., Relation]] = {
    "assume": lambda c, relation: when(relation[0] != "mod", relation),
    "declared": lambda c, x, which: end_of(x, which, declared(atom_of(x, "symbol"))),
    "interval": lambda c, p: end_of(p, "hi", interval(p, ranges_of(c))),
    "atom interval": lambda c, x, which: end_of(x, which, interval_of(atom_of(x), ranges_of(c))),
    "equation": lambda c, ms: eq(sum((side(r, "eq") * m for m, r in zip(ms, c, strict=True)), poly(0))),
    "linear": linear, "modulo": modulo, "enumerate": enumerated,
    "product": lambda c: le(-(side(c[0], "le", "eq") * side(c[1], "le", "eq"))),
    "apart": lambda c: junction("or", (le(side(c[0], "ne") + 1), le(-side(c[0], "ne") + 1))),
    "replace": lambda c, p, atoms, images: eq(p - replaced(p, c, atoms, images)),
    "rewrite": lambda c, goal, atoms, images: when(c[-1] in (replaced(goal, c[:-1], atoms, images), FALSE), goal),
    "rewritten": lambda c, atoms, images: replaced(c[-1], c[:-1], atoms, images),
    "residues": residues, "congruent": congruent, "residue": residue, "round up": next_multiple,
    "remainder of": lambda c, p, m: when(c[0] == ("mod", p, m), eq(p - floordiv(p, poly(m)) * m)),
    "part": lambda c, goal: when(c[0][0] == "and" and goal in c[0][1], goal),
    "either": lambda c, goal: when(c[0] == FALSE or (goal[0] == "or" and c[0] in goal[1]), goal),
    "remaining": lambda c: when(c[0][0] == "or", junction("or", (p for p in c[0][1] if negated(p) not in c[1:]))),
    "all": lambda c: junction("and", c),
    "clash": lambda c: when(negated(c[0]) == c[1], FALSE), "normal form": lambda c: TRUE,
    "floordiv bound": floordiv_bound, "remainder": remainder, "exact division": exact_division,
    "small dividend": small_dividend, "max without": without, "ite chosen": chosen,
    "max above": lambda c, q, arg: when(arg in atom_of(q, "max").args, le(arg - q)),
    "max cases": lambda c, q: junction("or", (le(q - a) for a in atom_of(q, "max").args)),
    "ite cases": lambda c, q: choices(q),
}  # fmt: skip


# -- a file -----------------------------------------------------------------------------------------------------------
MALFORMED = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError)
BY_SUBSTITUTION = ("given", "part", "rewrite", "rewritten", "linear", "max above")
"""Rules that need no declared range of the symbols that they speak of."""
Given = dict[str, dict[int, Relation]]
Step = tuple[Relation, frozenset[Relation], frozenset[Any]]
"""Claim, open assumptions, and sources: "facts", "guards", ..., and symbols whose declared range may be used."""


def read_node(nodes: dict[int, Any], row: list[Any]) -> Any:
    match row:
        case ["symbol", name, lo, hi]:
            lo, hi = (end if at is None else operator.index(at) for at, end in ((lo, -INF), (hi, INF)))
            return when(lo <= hi, poly(PolyAtom.of("symbol", len(nodes), name, lo, hi)))
        case ["sum", const, *terms]:
            return sum((math.prod((nodes[i] for i in mono), start=poly(k)) for k, *mono in terms), poly(const))
        case ["number" | "unknown" as kind, text]:
            return poly(PolyAtom.of(kind, text, *[len(nodes)] * (kind == "unknown")))
        case ["apply", op, *args] if op != "symbol":
            return build(op, [nodes[i] for i in args])
        case ["le" | "eq" | "ne" as kind, p]:
            return KINDS[kind](nodes[p])
        case ["and" | "or" as kind, *parts]:
            return junction(kind, [nodes[i] for i in parts])
        case ["compare" as kind, op, x, y, positive]:
            return LAWS[kind](op, nodes[x], nodes[y], positive)
        case ["mod", p, m]:
            return divides(nodes[p], m)
        case ["true" | "false" as kind]:
            return (kind,)
    raise Rejected(f"no such expression: {row}")


def symbols_of(x: Any) -> frozenset[PolyAtom]:
    if isinstance(x, PolyAtom) and x.op == "symbol":
        return frozenset((x,))
    parts = x.terms if isinstance(x, Poly) else x.args if isinstance(x, PolyAtom) else x
    nested = isinstance(parts, (dict, tuple, frozenset, list))
    return frozenset().union(*map(symbols_of, parts)) if nested else frozenset()


def applied(rule: str, premises: Sequence[Step], data: list[Any], given: Given) -> Step:
    claims = [claim for claim, _, _ in premises]
    assumed: frozenset[Relation] = frozenset().union(*(h for _, h, _ in premises))
    rests: frozenset[Any] = frozenset().union(*(r for _, _, r in premises))
    if rule == "given":
        claim, rests = given[data[0]][data[1]], frozenset((data[0],))
    elif rule == "refute":
        claim, assumed = when(claims == [FALSE], negated(data[0])), assumed - {data[0]}
    elif rule == "cases":  # data: a disjunction's parts, or a relation and its negation; then a premise for each
        first = len(premises) - len(data)
        require(first in (0, 1) and junction("or", data) in (TRUE, *claims[:first]), "not all cases")
        ends = set(claims[first:]) - {FALSE}
        require(len(ends) <= 1, "the cases conclude different things")
        claim = ends.pop() if ends else FALSE
        cases = (hypotheses - {case} for case, (_, hypotheses, _) in zip(data, premises[first:]))
        assumed = frozenset().union(*cases, *(hypotheses for _, hypotheses, _ in premises[:first]))
    else:
        claim = RULES[rule](claims, *data)
        assumed |= {claim} if rule == "assume" else frozenset()
    return claim, assumed, rests if rule in BY_SUBSTITUTION else rests | symbols_of((claim, data))


def replay(document: dict[str, Any]) -> tuple[dict[int, Any], Given, list[Step]]:
    """The expressions, what is given, and what each step shows."""
    PolyAtom.known.clear()
    nodes: dict[int, Any] = {}  # no list: -1 is not the last
    steps: list[Step] = []

    def value(data: Any) -> Any:
        if isinstance(data, list):
            return [value(part) for part in data]
        return nodes[int(data[1:])] if isinstance(data, str) and data[0] == "#" else data

    for node in document["nodes"]:
        nodes[len(nodes)] = read_node(nodes, node)
    given = {kind: {i: nodes[row["relation"]] for i, row in enumerate(document[kind])} for kind in GIVEN}
    for number, (rule, premises, data, shows) in enumerate(document["steps"]):
        try:
            require(all(0 <= i < number for i in premises), "a premise does not come before the step")
            steps.append(applied(rule, [steps[i] for i in premises], value(data), given))
            require(steps[-1][0] == nodes[shows], "it shows something else")
        except (Rejected, *MALFORMED) as error:
            raise Rejected(f"step {number}, {rule!r}: {error}") from error
    return nodes, given, steps


def verify(document: dict[str, Any]) -> dict[str, int]:
    """Rejected, or one of MALFORMED, unless every proof follows; else how many there are of each sort."""
    require((document["format"], document["version"]) == (FORMAT, VERSION), "another format or version")
    whole = json.dumps({**document, "digest": None}, sort_keys=True, separators=(",", ":")).encode()
    require(document["digest"] == hashlib.sha256(whole).hexdigest(), "the file was changed: its digest is another one")
    require(not document["unproved"], "the file has a decision without proof")
    nodes, given, steps = replay(document)
    used = {i for _, premises, _, _ in document["steps"] for i in premises}
    proofs = document["proofs"]

    def shows(number: int, relation: Relation, *sources: str, absent: Iterable[Any] = ()) -> None:
        used.add(number)
        claim, assumed, rests = steps[number]
        require(claim == relation, f"step {number} shows another relation than the one to prove")
        require(not assumed, f"step {number} assumes what is never discharged")
        require(rests.isdisjoint({*given, *absent} - {*sources}), f"step {number} rests on what it may not use")

    for kind, other in (("guards", "facts"), ("facts", "guards")):
        for relation, number in zip(given[kind].values(), proofs[kind], strict=True):
            shows(number, relation, other, "axioms")
    missing = [atom_of(nodes[symbol], "symbol") for symbol, *_ in proofs["ranges"]]
    for symbol, *numbers in proofs["ranges"]:
        ends = declared(nodes[symbol].atom)
        for which, number in zip([w for w, end in zip(("lo", "hi"), ends) if math.isfinite(end)], numbers, strict=True):
            shows(number, end_of(nodes[symbol], which, ends), "guards", "axioms", absent=missing)
        missing.remove(nodes[symbol].atom)
    for relation, number in proofs["decisions"]:
        shows(number, nodes[relation], "facts", "axioms", "checks")
    require(used == set(range(len(steps))), "a step is of no use")
    return {**{kind: len(proofs[kind]) for kind in ("guards", "facts", "ranges", "decisions")}, "steps": len(steps)}
