"""Relations: canonical comparisons of integer polynomials with zero, and their boolean combinations.

Over the integers every comparison is one of  p <= 0,  p == 0,  p != 0  with the coefficients of p having
gcd 1; `not` never leaves that family, so it is pushed to the leaves when it is made.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite.symbolic_shapes.expressions.expr import Int, Node, as_int, make_int
from dynamo_lite.symbolic_shapes.expressions.nodes import Bool as Bool
from dynamo_lite.symbolic_shapes.expressions.nodes import made_of, next_id


class Truth(Bool):
    """TRUE or FALSE."""

    __slots__ = ("value",)
    value: bool

    def __bool__(self) -> bool:
        return self.value


class Rel(Bool):
    """`poly <= 0`, `poly == 0` or `poly != 0`; kind is "le", "eq" or "ne"."""

    __slots__ = ("kind", "poly")
    kind: str
    poly: Int


class Junction(Bool):
    """`and` or `or` (its `kind`) of two or more propositions, flattened, without repeats."""

    __slots__ = ("kind",)
    kind: str


class FloatRelation(Bool):
    """A comparison of floats, or its negation: `op` is "lt", "le" or "eq" on two `Float`s; `positive` False negates.

    The negation is not the opposite comparison: with a nan both are false.
    """

    __slots__ = ("op", "positive")
    op: str
    positive: bool


def _make(cls: type[Bool], args: tuple[Node, ...], **fields: Any) -> Any:
    table = made_of(args)
    key = (cls, args, *fields.values())
    node = table.get(key)
    if node is None:
        node = table[key] = _new(cls, args, **fields)
    return node


def _new(cls: type[Bool], args: tuple[Node, ...], **fields: Any) -> Any:
    node = cls.__new__(cls)
    node.id = next_id()
    node.args, node._negation, node._symbols, node._made = args, None, None, None
    for name, value in fields.items():
        setattr(node, name, value)
    return node


TRUE: Truth = _new(Truth, (), value=True)
FALSE: Truth = _new(Truth, (), value=False)


def as_bool(value: Bool | bool) -> Bool:
    """A `Bool` from a bool or a Bool; TypeError otherwise."""
    if isinstance(value, Bool):
        return value
    if isinstance(value, bool):
        return TRUE if value else FALSE
    raise TypeError(f"expected a proposition, got {type(value).__name__}")


# -- the canonical comparisons with zero --------------------------------------------------------------
def le_zero(p: Int) -> Bool:
    """p <= 0, with g = gcd of the coefficients:  g*q + c <= 0  <=>  q + ceil(c/g) <= 0  (q is an integer, g > 0)."""
    found = p._memo.get(("le",))
    if found is not None:
        return found
    if not p.terms:
        return TRUE if p.const <= 0 else FALSE
    g = p.content()
    q = p if g == 1 else make_int({m: c // g for m, c in p.terms.items()}, -(-p.const // g))
    result: Rel = _make(Rel, (q,), kind="le", poly=q)
    p._memo[("le",)] = result
    return result


def eq_zero(p: Int) -> Bool:
    """p == 0. With g = gcd of the coefficients, g not dividing the constant makes it false (p is never 0 mod g)."""
    return _equality(p, "eq")


def ne_zero(p: Int) -> Bool:
    """p != 0: the negation of `eq_zero`."""
    return _equality(p, "ne")


ZERO_RELATIONS = {"le": le_zero, "eq": eq_zero, "ne": ne_zero}
"""The kind of a `Rel` -> its constructor from the polynomial that is compared with zero."""


def _equality(p: Int, kind: str) -> Bool:
    found = p._memo.get((kind,))
    if found is not None:
        return found
    if not p.terms:
        return TRUE if (p.const == 0) == (kind == "eq") else FALSE
    g = p.content()
    if p.const % g:
        return FALSE if kind == "eq" else TRUE
    # p == 0 <=> -p == 0: the oldest of the highest monomials gets a positive coefficient.
    if p.sorted_terms()[0][1] < 0:
        g = -g
    q = p if g == 1 else make_int({m: c // g for m, c in p.terms.items()}, p.const // g)
    result: Rel = _make(Rel, (q,), kind=kind, poly=q)
    p._memo[(kind,)] = result
    return result


# -- what users write -----------------------------------------------------------------------------------
def le(a: Int | int, b: Int | int) -> Bool:
    """a <= b"""
    return le_zero(as_int(a) - b)


def lt(a: Int | int, b: Int | int) -> Bool:
    """a < b  <=>  a - b + 1 <= 0  over the integers."""
    return le_zero(as_int(a) - b + 1)


def ge(a: Int | int, b: Int | int) -> Bool:
    """a >= b"""
    return le_zero(as_int(b) - a)


def gt(a: Int | int, b: Int | int) -> Bool:
    """a > b"""
    return le_zero(as_int(b) - a + 1)


def eq(a: Int | int, b: Int | int) -> Bool:
    """a == b"""
    return eq_zero(as_int(a) - b)


def ne(a: Int | int, b: Int | int) -> Bool:
    """a != b"""
    return ne_zero(as_int(a) - b)


def not_(b: Bool | bool) -> Bool:
    """Negation, pushed to the leaves (De Morgan)."""
    b = as_bool(b)
    if b._negation is not None:
        return b._negation
    result: Bool
    if isinstance(b, Truth):
        result = FALSE if b.value else TRUE
    elif isinstance(b, Rel):
        # not (p <= 0)  <=>  p >= 1  <=>  1 - p <= 0.
        result = le_zero(1 - b.poly) if b.kind == "le" else _equality(b.poly, "ne" if b.kind == "eq" else "eq")
    elif isinstance(b, Junction):
        result = _junction("or" if b.kind == "and" else "and", tuple(not_(a) for a in b.args))  # type: ignore[arg-type]
    elif isinstance(b, FloatRelation):
        result = _make(FloatRelation, b.args, op=b.op, positive=not b.positive)
    else:
        raise TypeError(f"cannot negate {type(b).__name__}")
    b._negation = result
    return result


def and_(*parts: Bool | bool) -> Bool:
    """Conjunction; TRUE when empty."""
    return _junction("and", tuple(as_bool(p) for p in parts))


def or_(*parts: Bool | bool) -> Bool:
    """Disjunction; FALSE when empty."""
    return _junction("or", tuple(as_bool(p) for p in parts))


def _junction(kind: str, parts: tuple[Bool, ...]) -> Bool:
    neutral, absorbing = (TRUE, FALSE) if kind == "and" else (FALSE, TRUE)
    flat: dict[Bool, None] = {}
    for part in parts:
        if isinstance(part, Junction) and part.kind == kind:
            flat.update(dict.fromkeys(part.args))  # type: ignore[arg-type]
        elif part is absorbing:
            return absorbing
        elif part is not neutral:
            flat[part] = None
    if any(not_(part) in flat for part in flat):  # excluded middle
        return absorbing
    if len(flat) < 2:
        return next(iter(flat), neutral)
    return _make(Junction, tuple(sorted(flat, key=lambda p: p.id)), kind=kind)


def opaque(op: str, a: Node, b: Node) -> Bool:
    """A comparison of two `Float` nodes; see floats.py for the folding before it comes to this."""
    return _make(FloatRelation, (a, b), op=op, positive=True)
