"""Floats and powers in certificates: sizes that a program computes by `n * 0.5`, `n / 2`, `math.floor` or `2 ** n`.

`install(checker)` gives the checker's tables their entries; files without these do not need it. No algebra happens on
floats: a float is an atom of which bounds are known, since +, -, *, / and sqrt are correctly rounded, and so monotone.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

INF, EXACT, MOST_BITS = math.inf, 2**53, 4096
ROUND: dict[str, Callable[[float], int]] = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": round}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {"lt": operator.lt, "le": operator.le, "eq": operator.eq}
FUNCTIONS = ("sqrt", "log2", "exp", "log", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan")
MEANINGS: dict[str, Callable[..., float]] = {
    "to_float": float, "int_truediv": operator.truediv, "add": operator.add, "sub": operator.sub, "mul": operator.mul,
    "div": operator.truediv, "pow": operator.pow, "neg": operator.neg, "abs": abs, "round_digits": round,
    "trunc_float": lambda x: float(math.trunc(x)),
    **{name: getattr(math, name) for name in FUNCTIONS},
}  # fmt: skip
MONOTONE = ("to_float", "sqrt", "neg", "add", "sub", "mul", "int_truediv")
"""Correctly rounded, and monotone in each argument (mul and int_truediv: on each side of zero)."""
SIGNED = {"log": 1.0, "log2": 1.0, "exp": -INF}
"""Not correctly rounded, and not negative from this argument on."""
LARGEST_SHARE = 1 - 2.0**-50
"""A product with a factor up to this one is less than the number, whatever is rounded."""


class Floats:
    """The rules of floats, on the arithmetic of the checker `of` (the module)."""

    def __init__(self, of: Any) -> None:
        self.of = of

    # -- laws ---------------------------------------------------------------------------------------------------------
    def number(self, x: Any) -> Any:
        """The number that an argument is, if it is one: a float or an integer."""
        if x.atom is not None and x.atom.op == "number":
            return float(x.atom.args[0])
        return x.const if x.is_number else None

    def applied(self, op: str, *args: Any) -> Any:
        """Computed where all arguments are numbers; 1.0 * x is x."""
        values = [self.number(x) for x in args]
        if None not in values:
            try:
                return self.of.poly(self.of.PolyAtom.of("number", repr(float(MEANINGS[op](*values)))))
            except (ArithmeticError, ValueError):
                pass
        if op == "mul" and 1.0 in values:
            return args[1 - values.index(1.0)]
        return self.of.poly(self.of.PolyAtom.of(op, *args))

    def rounded(self, op: str, x: Any) -> Any:
        """Of a number, and of float(p) where that is exact."""
        value = self.number(x)
        if value is not None and math.isfinite(value):
            return self.of.poly(ROUND[op](value))
        p = self.integer(x)
        return p if p is not None and self.is_exact(p) else self.of.poly(self.of.PolyAtom.of(op, x))

    def integer(self, x: Any) -> Any:
        """p of float(p)."""
        return x.atom.args[0] if x.atom is not None and x.atom.op == "to_float" else None

    def is_exact(self, p: Any) -> bool:
        return all(-EXACT <= end <= EXACT for end in self.of.interval(p, self.of.declared))

    def compared(self, op: str, a: Any, b: Any, positive: bool) -> Any:
        """Of integers where the conversion is exact. The negation is not the opposite: with a nan both are false."""
        found = self._compared(op, a, b)
        return found if positive else self.of.negated(found)

    def _compared(self, op: str, a: Any, b: Any) -> Any:
        of, x, y = self.of, self.number(a), self.number(b)
        if x is not None and y is not None:
            return of.TRUE if COMPARE[op](x, y) else of.FALSE
        if x != x or y != y:  # a nan
            return of.FALSE
        p, q = self.integer(a), self.integer(b)
        if p is None and q is not None and x is not None:  # c <= q is -q <= -c
            p, q, y = -q, None, -x
        if p is not None and y is not None and abs(y) < EXACT:
            if op == "eq":
                return of.eq(p - int(y)) if y == math.floor(y) else of.FALSE
            return of.le(p - (math.floor(y) if op == "le" else math.ceil(y) - 1))
        if p is not None and q is not None and self.is_exact(p) and self.is_exact(q):
            return of.eq(p - q) if op == "eq" else of.le(p - q if op == "le" else p - q + 1)
        return "compare", op, a, b, True

    # -- bounds -------------------------------------------------------------------------------------------------------
    def interval(self, x: Any, ranges: Any) -> Any:
        """Ends of a float argument, or of an integer one. A nan may occur beside them."""
        atom = x.atom
        if atom is not None and atom.op == "number":
            return float(atom.args[0]), float(atom.args[0])
        if atom is None or atom.op not in MEANINGS:
            return self.of.interval(x, ranges)
        if atom.op in SIGNED:
            return (0.0 if self.interval(atom.args[0], ranges)[0] >= SIGNED[atom.op] else -INF), INF
        if atom.op not in MONOTONE:
            return -INF, INF
        given = [self.interval(arg, ranges) for arg in atom.args]
        if atom.op == "int_truediv":
            return self.quotient_of(*given)
        try:
            values = [MEANINGS[atom.op](*corner) for corner in product(*(map(self.end, ends) for ends in given))]
        except (ValueError, ArithmeticError):
            return -INF, INF
        return (-INF, INF) if any(v != v for v in values) else (min(values), max(values))

    @staticmethod
    def end(end: Any) -> float:
        try:
            return float(end)
        except OverflowError:
            return INF if end > 0 else -INF

    def quotient_of(self, a: Any, b: Any) -> Any:
        """a / b is monotone in a, and in b on each side of zero."""
        if min(b) <= 0 <= max(b):
            return -INF, INF
        values: list[float] = []
        for x, y in product(a, b):
            if math.isinf(x):
                values += [x if y > 0 else -x, *[0.0] * math.isinf(y)]
            else:
                values.append(0.0 if math.isinf(y) else self._divided(x, y))
        return min(values), max(values)

    @staticmethod
    def _divided(x: int, y: int) -> float:
        try:
            return x / y
        except OverflowError:
            return INF if (x > 0) == (y > 0) else -INF

    def ends_of_rounded(self, op: str, ranges: Any, x: Any, *_: Any) -> Any:
        return tuple(end if math.isinf(end) else ROUND[op](end) for end in self.interval(x, ranges))

    def is_number(self, x: Any, ranges: Any) -> bool:
        """Whether it is a number, not a nan, wherever it has a value."""
        atom = x.atom
        if atom is None or atom.op in ("number", "to_float", "int_truediv"):
            return atom is None or atom.op != "number" or float(atom.args[0]) == float(atom.args[0])
        if atom.op not in ("add", "sub", "mul", "neg", "sqrt"):
            return False
        return all(self.is_number(a, ranges) and all(map(math.isfinite, self.interval(a, ranges))) for a in atom.args)

    def truth(self, ranges: Any, op: str, x: Any, y: Any, positive: bool) -> bool | None:
        """The truth of a comparison by bounds."""
        (a, b), (c, d) = self.interval(x, ranges), self.interval(y, ranges)
        if {"lt": b < c, "le": b <= c, "eq": a == b == c == d}[op]:
            return positive if self.is_number(x, ranges) and self.is_number(y, ranges) else None
        return not positive if {"lt": a >= d, "le": a > d, "eq": a > d or b < c}[op] else None

    # -- rules --------------------------------------------------------------------------------------------------------
    def by_bounds(self, c: Sequence[Any], relation: Any) -> Any:
        truth = self.of.truth_of(relation, self.of.ranges_of(c))
        return self.of.when(truth is not None, relation if truth else self.of.negated(relation))

    def exact_rounding(self, c: Sequence[Any], q: Any) -> Any:
        """Rounding of float(p) for |p| <= 2**53, or of the correctly rounded a / b for |a|, b <= 2**51, is exact."""
        of, atom = self.of, self.of.atom_of(q, *ROUND)
        p = self.integer(atom.args[0])
        a, b = (p, of.poly(1)) if p is not None else self.quotient(of.atom_of(atom.args[0]))
        small = EXACT if p is not None else EXACT // 4
        bounds = (of.le(a - small), of.le(-a - small), of.le(-b + 1), of.le(b - small))
        of.require(all(r == of.TRUE or r in c for r in bounds), "not shown to be small")
        down, up, half = of.floordiv(a, b), -of.floordiv(-a, b), of.floordiv(a * 2 + b, b * 2)
        tie_to_odd = of.eq(a * 2 + b - of.floordiv(a * 2 + b, b * 4) * b * 4 - b * 2)
        values = {
            "floor": down, "ceil": up, "trunc": of.ite(of.le(-a), down, up),
            "round": half - of.ite(tie_to_odd, of.poly(1), of.poly(0)),
        }  # fmt: skip
        return of.eq(q - (a if p is not None else values[atom.op]))

    def rounded_share(self, c: Sequence[Any], q: Any) -> Any:
        """A part of p >= 0 is p or less when it is rounded: p / b with b >= 2, or float(p) * k with k < 1."""
        of = self.of
        x = of.atom_of(of.atom_of(q, *ROUND).args[0], "int_truediv", "mul")
        if x.op == "int_truediv":
            p, b = x.args
            is_part = b.is_number and b.const >= 2
        else:
            last = self.number(x.args[1])
            left, k = (x.args[0], last) if last is not None else (x.args[1], self.number(x.args[0]))
            p = self.integer(left)
            is_part = p is not None and k is not None and 0 <= k <= LARGEST_SHARE
        return of.when(is_part and c[0] == of.le(-p), of.le(q - p))

    def quotient(self, x: Any) -> Any:
        """(a, b): the float is a / b, rounded once. A float is k / d, d a power of two."""
        of = self.of
        if x.op == "int_truediv":
            return x.args
        of.require(x.op in ("mul", "div"), "not a quotient")
        last = self.number(x.args[1])
        left, number = (x.args[0], last) if last is not None else (x.args[1], self.number(x.args[0]))
        p = self.integer(left)
        of.require(p is not None and number is not None and math.isfinite(number), "not a quotient")
        k, d = float(number).as_integer_ratio()
        of.require(0 < abs(k) <= EXACT and d <= EXACT, "the factor is too large")
        if x.op == "mul":
            return p * k, of.poly(d)
        of.require(last is not None and d == 1 and k >= 1, "not a quotient")
        return p, of.poly(k)


def ends_of_power(ranges: Any, base: Any, n: Any, of_base: Any, of_n: Any) -> Any:
    """Monotone in both for base >= 1 and n >= 0; 0 ** 0 is 1."""
    if of_base[0] < 0 or min(of_n) < 0:
        return -INF, INF
    most = power(of_base[1], of_n[1])
    if of_base[0] < 1:
        return (0, 0) if of_base[1] < 1 <= of_n[0] else (0, max(1, most))
    least = power(of_base[0], of_n[0])
    return least if isinstance(least, int) else 1, most


def power(base: Any, n: Any) -> Any:
    """An end; infinite where it is too large to compute."""
    if base == 1 or n == 0:
        return 1
    is_small = isinstance(base, int) and isinstance(n, int) and base.bit_length() * n <= MOST_BITS
    return base**n if is_small else INF


def install(checker: Any) -> None:
    """Enter the laws, bounds, meanings and rules of floats and the bounds of powers into the checker (the module)."""
    floats = Floats(checker)
    for op in MEANINGS:
        checker.LAWS[op] = lambda *args, op=op: floats.applied(op, *args)
    for op in ROUND:
        checker.LAWS[op] = lambda x, op=op: floats.rounded(op, x)
        checker.INTERVALS[op] = lambda *args, op=op: floats.ends_of_rounded(op, *args)
    checker.INTERVALS["pow"] = ends_of_power
    checker.LAWS["compare"] = floats.compared
    checker.INTERVALS["compare"] = floats.truth
    checker.MEANINGS.update({**MEANINGS, **ROUND, **COMPARE, "number": float})
    checker.RULES.update({"float bounds": floats.by_bounds, "exact rounding": floats.exact_rounding})
    checker.RULES["rounded share"] = floats.rounded_share
