"""Expressions: interned integer polynomials over symbols and irreducible atoms.

An `Int` is a polynomial with integer coefficients. Its variables are *atoms*: a `Symbol`, or an `Apply` of an operator
that is not polynomial (floordiv, max, ite, ...). mod, min, ceildiv and abs have no atom: they are defined from floordiv
and max, so `(a//8)*8 + a%8` is `a` itself.

Every node is interned: two equal nodes are one object, `is` is equality of canonical forms and a node is its own
dictionary key. The newest of its parts keeps it alive, so nodes live as long as the symbols in them, and no longer.
Results of operations are cached on their left operand, so a repeated operation costs one dictionary look-up.

Division by zero: in canonical forms and proofs `x // 0` is some unknown integer, the same for every x. So no law may
drop a divisor unless it is known not to be zero; the code that *performs* a division records that fact
(torch_env/recording.py). `evaluate` raises ZeroDivisionError as Python does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from weakref import WeakValueDictionary

from dynamo_lite.symbolic_shapes.expressions.nodes import OPERATIONS, Bool, made_of, next_id
from dynamo_lite.symbolic_shapes.expressions.nodes import Node as Node

Extended = int | float
"""An integer, or -inf / inf. Never put into arithmetic with big integers: see `bounds`."""

INF = math.inf


MOST_PRODUCTS = 100_000
"""Of monomials in one multiplication. Repeated squares of sums double the number of terms with each step."""


class TooManyTerms(ArithmeticError):
    """The product of two polynomials would have to multiply more than MOST_PRODUCTS monomials."""


class Atom(Node):
    """A variable of a polynomial."""

    __slots__ = ("_declared", "_int", "_symbols")
    _int: Int | None
    _declared: tuple[Extended, Extended] | None
    _symbols: frozenset[Symbol] | None

    def _init(self) -> None:
        self.id = next_id()
        self._int = self._declared = self._symbols = self._made = None

    def as_int(self) -> Int:
        """The polynomial that is just this atom."""
        if self._int is None:
            self._int = make_int({(self,): 1}, 0)
        return self._int


Monomial = tuple[Atom, ...]
"""Atoms sorted by id, repeated for powers: x*x*y is (x, x, y). Never empty."""


class Symbol(Atom):
    """An integer unknown. Two symbols are different even if their names agree.

    `lo` and `hi` are the range that the symbol was declared with: part of the symbol, and never changed.
    Later knowledge is in facts, which can be rolled back; canonical forms use the declared range only.
    """

    __slots__ = ("hi", "hint", "lo", "name", "origin", "size_like", "source", "unbacked")

    def __init__(self, name: str, lo: Extended = -INF, hi: Extended = INF, *, hint: int | None = None,
                 unbacked: bool = False, size_like: bool = False, source: Any = None, origin: Any = None) -> None:
        if lo > hi:
            raise ValueError(f"symbol {name} has the empty range [{lo}, {hi}]")
        self._init()
        self.name, self.lo, self.hi, self.hint = name, lo, hi, hint
        self.unbacked, self.size_like, self.source, self.origin = unbacked, size_like, source, origin
        self._declared = (lo, hi)

    def __repr__(self) -> str:
        return self.name


class Apply(Atom):
    """An operator (`op`, its name: "floordiv", "max", ...) applied to nodes."""

    __slots__ = ("args", "op")
    op: str
    args: tuple[Node, ...]

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(map(repr, self.args))})"


class Int(Node):
    """An integer expression: sum of coefficient * monomial, plus a constant.

    Operators follow Python: + - * // % ** abs, and < <= > >= which give a `Bool`. `==` is identity
    (use `relations.eq` for the relation).
    """

    __slots__ = ("_declared", "_memo", "_symbols", "const", "terms")
    terms: dict[Monomial, int]
    const: int
    _memo: dict[Any, Any]
    _declared: tuple[Extended, Extended] | None
    _symbols: frozenset[Symbol] | None

    # -- the ring ---------------------------------------------------------------------------------
    def __add__(self, other: Int | int) -> Int:
        if other.__class__ is not Int and other.__class__ is not int:
            if not isinstance(other, int):
                return NotImplemented
            other = int(other)
        found = self._memo.get(("+", other))
        if found is not None:
            return found
        b = as_int(other)
        if not b.terms:
            result = make_int(self.terms, self.const + b.const) if b.const else self
        elif not self.terms:
            result = b + self.const
        else:
            terms = dict(self.terms)
            for mono, coef in b.terms.items():
                total = terms.get(mono, 0) + coef
                if total:
                    terms[mono] = total
                else:
                    del terms[mono]
            result = make_int(terms, self.const + b.const)
        return self._remember(("+", other), result)

    def __mul__(self, other: Int | int) -> Int:
        if other.__class__ is not Int and other.__class__ is not int:
            if not isinstance(other, int):
                return NotImplemented
            other = int(other)
        found = self._memo.get(("*", other))
        if found is not None:
            return found
        b = as_int(other)
        if not b.terms:
            k = b.const
            if k == 1:
                return self
            result = make_int({m: c * k for m, c in self.terms.items()}, self.const * k) if k else ZERO
        elif not self.terms:
            result = b * self.const
        else:
            result = _product(self, b)
        return self._remember(("*", other), result)

    def __neg__(self) -> Int:
        return self * -1

    def __pos__(self) -> Int:
        return self

    def __sub__(self, other: Int | int) -> Int:
        if other.__class__ is not Int and other.__class__ is not int:
            if not isinstance(other, int):
                return NotImplemented
            other = int(other)
        found = self._memo.get(("-", other))
        if found is not None:
            return found
        return self._remember(("-", other), self + as_int(other) * -1)

    def __rsub__(self, other: int) -> Int:
        return as_int(other) - self

    __radd__ = __add__
    __rmul__ = __mul__

    def _remember(self, key: Any, result: Any) -> Any:
        # All expressions share a constant: a memo on it would keep unrelated nodes alive.
        if self.terms:
            self._memo[key] = result
        return result

    # -- operators that need atoms: the laws are in division.py and piecewise.py --------------------------
    def __floordiv__(self, other: Int | int) -> Int:
        if other.__class__ is not Int and other.__class__ is not int:
            if not isinstance(other, int):
                return NotImplemented
            other = int(other)
        found = self._memo.get(("//", other))
        if found is not None:
            return found
        return self._remember(("//", other), OPERATIONS["floordiv"](self, as_int(other)))

    def __rfloordiv__(self, other: int) -> Int:
        return as_int(other) // self

    def __mod__(self, other: Int | int) -> Int:
        if other.__class__ is not Int and other.__class__ is not int:
            if not isinstance(other, int):
                return NotImplemented
            other = int(other)
        found = self._memo.get(("%", other))
        if found is not None:
            return found
        # Definition of Python's %, for either sign of the divisor:  a % b == a - b * (a // b).
        return self._remember(("%", other), self - (self // other) * other)

    def __rmod__(self, other: int) -> Int:
        return as_int(other) % self

    def __pow__(self, other: Int | int) -> Int:
        return OPERATIONS["power"](self, as_int(other))

    def __rpow__(self, other: int) -> Int:
        return as_int(other) ** self

    def __abs__(self) -> Int:
        return OPERATIONS["maximum"](self, -self)

    # -- relations ----------------------------------------------------------------------------------
    def __le__(self, other: Int | int) -> Bool:
        return OPERATIONS["le"](self, other)

    def __lt__(self, other: Int | int) -> Bool:
        return OPERATIONS["lt"](self, other)

    def __ge__(self, other: Int | int) -> Bool:
        return OPERATIONS["ge"](self, other)

    def __gt__(self, other: Int | int) -> Bool:
        return OPERATIONS["gt"](self, other)

    # -- looking inside -------------------------------------------------------------------------------
    def as_constant(self) -> int | None:
        """The value if no symbol is left, else None."""
        return None if self.terms else self.const

    def as_atom(self) -> Atom | None:
        """The atom if this polynomial is just that atom, else None."""
        if self.const or len(self.terms) != 1:
            return None
        (mono, coef), = self.terms.items()
        return mono[0] if coef == 1 and len(mono) == 1 else None

    def sorted_terms(self) -> list[tuple[Monomial, int]]:
        """Terms in a fixed order: by degree descending, then by age of the atoms."""
        return sorted(self.terms.items(), key=lambda t: (-len(t[0]), [a.id for a in t[0]]))

    def atoms(self) -> Iterator[Atom]:
        """The atoms at the top level (with repeats), not those inside other atoms."""
        for mono in self.terms:
            yield from mono

    def content(self) -> int:
        """The greatest common divisor of the coefficients without the constant (0 for a constant)."""
        return math.gcd(*self.terms.values())

    def __bool__(self) -> bool:
        if self.terms:
            raise TypeError(f"the truth of {self!r} is not known: ask `ShapeEnv.evaluate`")
        return bool(self.const)

    def __repr__(self) -> str:
        return OPERATIONS["to_python"](self)


_CONSTANTS: WeakValueDictionary[int, Int] = WeakValueDictionary()

def make_int(terms: dict[Monomial, int], const: int) -> Int:
    """The node of a polynomial; `terms` has no zero coefficient and is not changed afterwards."""
    if not terms:
        node = _CONSTANTS.get(const)
        if node is None:
            node = _CONSTANTS[const] = _new_int(terms, const)
        return node
    table = made_of([mono[-1] for mono in terms])
    key = (const, frozenset(terms.items()))
    found: Int | None = table.get(key)
    if found is None:
        found = table[key] = _new_int(terms, const)
    return found


def _new_int(terms: dict[Monomial, int], const: int) -> Int:
    node = Int.__new__(Int)
    node.id = next_id()
    node.terms, node.const = terms, const
    node._memo = {}
    node._declared = node._symbols = node._made = None
    return node


def make_apply(op: str, args: tuple[Node, ...]) -> Apply:
    """The atom `op(args)`. Called by the constructors in division.py and piecewise.py, with canonical arguments."""
    table = made_of(args)
    key = (op, args)
    node: Apply | None = table.get(key)
    if node is None:
        node = table[key] = Apply.__new__(Apply)
        node._init()
        node.op, node.args = op, args
    return node


def as_int(value: Int | int) -> Int:
    """An `Int` from an int or an Int. TypeError for anything else (floats have their own sort)."""
    if isinstance(value, Int):
        return value
    if isinstance(value, int):
        small = _SMALL.get(value)
        return small if small is not None else make_int({}, int(value))
    if isinstance(value, Atom):
        return value.as_int()
    raise TypeError(f"expected an integer expression, got {type(value).__name__}")


def _product(a: Int, b: Int) -> Int:
    if len(a.terms) * len(b.terms) > MOST_PRODUCTS:
        raise TooManyTerms(f"the product of a sum of {len(a.terms)} terms and one of {len(b.terms)}")
    terms: dict[Monomial, int] = {}
    const = a.const * b.const
    for poly, k in ((a, b.const), (b, a.const)):
        if k:
            for mono, coef in poly.terms.items():
                terms[mono] = terms.get(mono, 0) + coef * k
    for m1, c1 in a.terms.items():
        for m2, c2 in b.terms.items():
            mono = merge(m1, m2)
            terms[mono] = terms.get(mono, 0) + c1 * c2
    return make_int({m: c for m, c in terms.items() if c}, const)


def merge(m1: Monomial, m2: Monomial) -> Monomial:
    """The product of two monomials."""
    if m1[-1].id <= m2[0].id:
        return m1 + m2
    if m2[-1].id <= m1[0].id:
        return m2 + m1
    return tuple(sorted(m1 + m2, key=lambda a: a.id))


ZERO = make_int({}, 0)
ONE = make_int({}, 1)
_SMALL: dict[int, Int] = {0: ZERO, 1: ONE} | {k: make_int({}, k) for k in (*range(-16, 0), *range(2, 65))}


def symbols_of(node: Node) -> frozenset[Symbol]:
    """Every symbol inside an expression, at any depth."""
    if isinstance(node, Symbol):
        return frozenset((node,))
    found: frozenset[Symbol] | None = getattr(node, "_symbols", None)
    if found is None:
        found = frozenset().union(*(symbols_of(child) for child in children(node)))
        node._symbols = found  # type: ignore[attr-defined]
    return found


def children(node: Node) -> tuple[Node, ...]:
    """The direct parts of a node: atoms of an Int, arguments of the others."""
    if isinstance(node, Int):
        return tuple(dict.fromkeys(node.atoms()))
    return tuple(getattr(node, "args", ()))


def total(parts: Iterator[Int] | list[Int] | tuple[Int, ...]) -> Int:
    """The sum of many expressions in one pass."""
    terms: dict[Monomial, int] = {}
    const = 0
    for part in parts:
        const += part.const
        for mono, coef in part.terms.items():
            terms[mono] = terms.get(mono, 0) + coef
    return make_int({m: c for m, c in terms.items() if c}, const)


def split(p: Int) -> tuple[Int, int]:
    """(form, sign) with p == sign * form + constant, where the leading coefficient of the form is positive."""
    found = p._memo.get(("split",))
    if found is None:
        form = p - p.const
        found = (form, 1) if form.sorted_terms()[0][1] > 0 else (-form, -1)
        p._memo[("split",)] = found
    return found
