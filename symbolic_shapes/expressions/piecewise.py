"""max (min and abs are defined from it), if-then-else, powers, rounding of integers. Each law has its condition."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Int, Monomial, Node, as_int, make_apply, make_int
from dynamo_lite.symbolic_shapes.expressions.floats import EXACT, ROUNDERS, Float, as_float, constant_of
from dynamo_lite.symbolic_shapes.expressions.intervals import declared
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, TRUE, Bool, Rel, and_, as_bool, eq, not_

# A table, so that the tests can switch each condition off and see a wrong answer (mutation tests).
SIDE_CONDITIONS: dict[str, Callable[..., bool]] = {
    # max(g*x, g*y) == g * max(x, y)           needs g >= 0
    "scale a max: g >= 0": lambda g: g >= 0,
    # max(x, y) == x                           needs x >= y always
    "dominated: x >= y": lambda difference: declared(difference)[0] >= 0,
    # floor(float(p)) == p                     needs |p| <= 2**53: then float(p) is exact
    "round of a float of an int: exact": lambda p: declared(p)[0] >= -EXACT and declared(p)[1] <= EXACT,
}


# -- max, min, abs -------------------------------------------------------------------------------------------
def maximum(*args: Int | int) -> Int:
    """The greatest of one or more. Canonical: flat, common terms and factors taken out, dominated ones dropped."""
    flat: dict[Int, None] = {}
    for arg in map(as_int, args):
        if _is_max(arg):
            flat.update(dict.fromkeys(arg.as_atom().args))  # type: ignore[union-attr]  # max(max(x, y), z) == max(x, y, z)
        else:
            flat[arg] = None
    kept = _undominated(list(flat))
    if len(kept) == 1:
        return kept[0]
    common = _common_terms(kept)  # max(x + z, y + z) == max(x, y) + z
    rest = [k - common for k in kept]
    g = math.gcd(*(c for r in rest for c in (*r.terms.values(), r.const)))
    if g > 1 and SIDE_CONDITIONS["scale a max: g >= 0"](g):
        rest = [make_int({m: c // g for m, c in r.terms.items()}, r.const // g) for r in rest]
    else:
        g = 1
    if any(_is_max(r) for r in rest):  # max(2*max(x, y), 2*z) == 2*max(x, y, z)
        return maximum(*rest) * g + common
    rest.sort(key=lambda r: r.id)
    return make_apply("max", tuple(rest)).as_int() * g + common


def _is_max(x: Int) -> bool:
    atom = x.as_atom()
    return isinstance(atom, Apply) and atom.op == "max"


def _undominated(args: list[Int]) -> list[Int]:
    dominated = SIDE_CONDITIONS["dominated: x >= y"]
    kept: list[Int] = []
    for arg in args:
        if any(dominated(k - arg) for k in kept):
            continue
        kept = [k for k in kept if not dominated(arg - k)]
        kept.append(arg)
    return kept


def _common_terms(args: list[Int]) -> Int:
    """Terms with one coefficient in all of `args`, and the least constant among those with symbols."""
    first = args[0]
    shared: dict[Monomial, int] = {m: c for m, c in first.terms.items() if all(a.terms.get(m) == c for a in args)}
    return make_int(shared, min(a.const for a in args if len(a.terms) > len(shared)))


def minimum(*args: Int | int) -> Int:
    """min(x, y) == -max(-x, -y)"""
    return -maximum(*(-as_int(a) for a in args))


# -- if-then-else --------------------------------------------------------------------------------------------
def ite(cond: Bool | bool, then: Int | int, other: Int | int) -> Int:
    """then if cond else other; what both share is taken out, and a max written as a choice becomes one."""
    c, a, b = as_bool(cond), as_int(then), as_int(other)
    if c is TRUE or a is b:
        return a
    if c is FALSE:
        return b
    if isinstance(c, Rel) and c.kind == "le":
        # (x if y - x <= k else y), k in {0, -1}, is max(x, y): where the two tests differ, x == y.
        if c.poly is b - a or c.poly is b - a + 1:
            return maximum(a, b)
        if c.poly is a - b or c.poly is a - b + 1:
            return minimum(a, b)
    negated = not_(c)
    if negated.id < c.id:
        c, a, b = negated, b, a
    shared = make_int({m: k for m, k in a.terms.items() if b.terms.get(m) == k}, b.const)
    return make_apply("ite", (c, a - shared, b - shared)).as_int() + shared


def ite_bool(cond: Bool | bool, then: Bool | bool, other: Bool | bool) -> Bool:
    """A choice between propositions."""
    c = as_bool(cond)
    return and_(~c | then, c | as_bool(other))


def bool_to_int(b: Bool | bool) -> Int:
    """1 if true, 0 if false."""
    return ite(b, 1, 0)


# -- powers --------------------------------------------------------------------------------------------------
MOST_FACTORS, MOST_TERMS = 64, 1024
"""Powers that would be longer products, or sums of more terms before like ones meet, are not multiplied out."""


def power(base: Int | int, exponent: Int | int) -> Int:
    """base ** exponent, a natural exponent. ValueError for a constant negative one (Python would give a float)."""
    base, exponent = as_int(base), as_int(exponent)
    if not exponent.terms:
        n = exponent.const
        if n < 0:
            raise ValueError("a negative power of an integer is not an integer")
        if not base.terms:
            return as_int(base.const**n)
        if n <= MOST_FACTORS and (len(base.terms) + (base.const != 0))**min(n, 64) <= MOST_TERMS:
            return _repeated(base, n)
        return make_apply("pow", (base, exponent)).as_int()
    if not base.terms and base.const == 1:
        return base
    return make_apply("pow", (base, exponent)).as_int()


def _repeated(base: Int, n: int) -> Int:
    result = as_int(1)
    while n:
        if n & 1:
            result = result * base
        base, n = (base * base if n > 1 else base), n >> 1
    return result


# -- rounding ------------------------------------------------------------------------------------------------
def round_float(op: str, x: Float | float) -> Int:
    """floor, ceil, trunc or round (half to even) of a float, as an integer."""
    x = as_float(x)
    value = constant_of(x)
    if value is not None:
        return as_int(ROUNDERS[op](value))
    if x.op == "to_float":
        p = x.args[0]
        assert isinstance(p, Int)
        if SIDE_CONDITIONS["round of a float of an int: exact"](p):
            return p
    return make_apply(op, (x,)).as_int()


def exact_rounding(op: str, x: Float) -> tuple[Int | None, list[Bool]]:
    """(the integer that `op` makes of x, the bounds under which that is exact); (None, []) where nothing is known.

    float(p) is exact for |p| <= 2**53. For a / b, 1 <= b <= 2**51, |a| <= 2**51: an integer or a tie k/2 that is not
    a / b itself is at least 1/(2b) away from it, which is more than the rounding error of a / b. Products with a float
    such as 0.75 == 3 / 2**2, and quotients by one such as 4.0, are such quotients (`_as_quotient`).
    """
    if x.op == "to_float":
        p = x.args[0]
        assert isinstance(p, Int)
        return p, [p <= EXACT, p >= -EXACT]
    quotient = _as_quotient(x)
    if quotient is None:
        return None, []
    a, b = quotient
    small = EXACT // 4
    bounds = [bound for bound in (a <= small, a >= -small, b >= 1, b <= small) if bound is not TRUE]
    down, up = a // b, -(-a // b)
    if op == "round":
        tie_to_odd = eq((a * 2 + b) % (b * 4), b * 2)
        return (a * 2 + b) // (b * 2) - ite(tie_to_odd, 1, 0), bounds
    return {"floor": down, "ceil": up, "trunc": ite(a >= 0, down, up)}[op], bounds


def _as_quotient(x: Float) -> tuple[Int, Int] | None:
    """(a, b) such that x is a / b, correctly rounded, for |a| <= 2**51.

    A float c is k / d with d a power of two. float(p) * c is exactly p*k / d where |p*k| <= 2**53 (then |p| is, too).
    float(p) / c for an integer c >= 1 is p / c, correctly rounded.
    """
    if x.op == "int_truediv":
        a, b = x.args
        assert isinstance(a, Int) and isinstance(b, Int)
        return a, b
    if x.op not in ("mul", "div"):
        return None
    left, right = x.args if constant_of(x.args[1]) is not None else x.args[::-1]
    c = constant_of(right)
    if c is None or not math.isfinite(c) or not isinstance(left, Float) or left.op != "to_float":
        return None
    p = left.args[0]
    assert isinstance(p, Int)
    if x.op == "div":
        whole = right is x.args[1] and c == int(c) and 1 <= c <= EXACT
        return (p, as_int(int(c))) if whole else None
    k, d = float(c).as_integer_ratio()
    return (p * k, as_int(d)) if k and abs(k) <= EXACT and d <= EXACT else None


LARGEST_SHARE = 1 - 2.0**-50
"""The greatest factor of `share`: a product with it is less than the number, whatever is rounded."""


def share(x: Float) -> Int | None:
    """The integer p of which x is a part: float(p) * c with 0 <= c < 1, or p / b with an integer b >= 2.

    For p >= 0 every rounding of x to an integer is p or less: float(p) <= p*(1 + 2**-53), and the product is rounded
    once more, which leaves it below p for c <= 1 - 2**-50.
    """
    if x.op == "int_truediv":
        p, b = x.args
        parts = constant_of(b)
        return p if isinstance(p, Int) and parts is not None and parts >= 2 else None
    if x.op != "mul":
        return None
    left, right = x.args if constant_of(x.args[1]) is not None else x.args[::-1]
    c = constant_of(right)
    if c is None or not 0 <= c <= LARGEST_SHARE or not isinstance(left, Float) or left.op != "to_float":
        return None
    p = left.args[0]
    return p if isinstance(p, Int) else None


def round_int(n: Int | int, digits: int) -> Int:
    """round(n, digits) of an int: to a multiple of m = 10**-digits, half to even; n itself for digits >= 0.

    q = floor(n/m + 1/2) rounds half up; on a tie with odd q the even neighbour is q - 1, and that is
    2n + m == 2m*q with odd q, i.e.  (2n + m) % 4m == 2m.
    """
    n = as_int(n)
    if digits >= 0:
        return n
    m = 10**-digits
    up = (n * 2 + m) // (2 * m)
    tie_to_odd = eq((n * 2 + m) % (4 * m), 2 * m)
    return (up - ite(tie_to_odd, 1, 0)) * m


# -- other integer functions -----------------------------------------------------------------------------------
def shift_left(x: Int, n: Int) -> Int:
    """x << n == x * 2**n  (n >= 0; Python raises ValueError below)."""
    return x * power(as_int(2), n)


def shift_right(x: Int, n: Int) -> Int:
    """x >> n == x // 2**n  (n >= 0): the arithmetic shift rounds down, for negative x too."""
    return x // power(as_int(2), n)


FUNCTIONS: dict[str, Callable[..., int]] = {
    "bitand": operator.and_,
    "bitor": operator.or_,
    "bitxor": operator.xor,
}
"""Integer functions without algebra. `register_function` adds to it."""


def register_function(name: str, meaning: Callable[..., int]) -> None:
    """Let `piecewise.function(name, ...)` build atoms with this meaning on Python ints."""
    if FUNCTIONS.setdefault(name, meaning) is not meaning:
        raise ValueError(f"the function {name} is registered already")


def function(name: str, *args: Int | int) -> Int:
    """An integer function registered in `FUNCTIONS`, uninterpreted except on constants."""
    nodes: tuple[Node, ...] = tuple(map(as_int, args))
    values = [constant_of(a) for a in nodes]
    if None not in values:
        return as_int(FUNCTIONS[name](*values))
    return make_apply(name, nodes).as_int()
