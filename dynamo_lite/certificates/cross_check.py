"""The claims of a certificate file in another way: asked of z3, or tried on values. Proofs are not looked at.

A claim is: where what a proof starts from holds, and each symbol is in its declared range, what it shows holds. Both
ways read the table of expressions themselves.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

Rows = Sequence[Sequence[Any]]
POINTS, VALUES = 20_000, (0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 33, -1, -2, -5, 64)
RLIMIT = 2_000_000
"""z3's resource units for a claim: no answer depends on the clock."""


@dataclass(frozen=True)
class Claim:
    """`given` and `shows` are numbers of expressions; the declared ranges of the symbols `free` are not presupposed."""

    kind: str
    given: tuple[int, ...]
    shows: int | tuple[int, str, int]
    free: frozenset[int] = frozenset()


def claims(document: dict[str, Any]) -> Iterator[Claim]:
    """The claims of a document."""
    proofs = document["proofs"]
    for kind in ("guards", "facts"):
        for row, step in zip(document[kind], proofs[kind], strict=True):
            yield Claim(kind, _leaves(document, step), row["relation"])
    missing = [symbol for symbol, *_ in proofs["ranges"]]
    for symbol, *steps in proofs["ranges"]:
        ends = [(side, end) for side, end in zip((">=", "<="), document["nodes"][symbol][2:]) if end is not None]
        for (side, end), step in zip(ends, steps, strict=True):
            yield Claim("ranges", _leaves(document, step), (symbol, side, end), frozenset(missing))
        missing.remove(symbol)
    for relation, step in proofs["decisions"]:
        yield Claim("decisions", _leaves(document, step), relation)


def _leaves(document: dict[str, Any], last: int) -> tuple[int, ...]:
    """The relations that a proof starts from."""
    seen: set[int] = set()
    stack, found = [last], dict[int, None]()
    while stack:
        number = stack.pop()
        if number not in seen:
            seen.add(number)
            rule, premises, data, _ = document["steps"][number]
            stack.extend(premises)
            if rule == "given":
                found[document[data[0]][data[1]]["relation"]] = None
    return tuple(found)


# -- by values --------------------------------------------------------------------------------------------------------
class NoMeaning(Exception):
    """An expression that this way cannot read."""


def _negative_power(base: int, exponent: int) -> int:
    if exponent < 0:
        raise ArithmeticError("a negative power")
    return int(base**exponent)


OPERATORS: dict[str, Callable[..., Any]] = {
    "floordiv": operator.floordiv, "max": max, "pow": _negative_power, "ite": lambda c, a, b: a if c else b,
    "bitand": operator.and_, "bitor": operator.or_, "bitxor": operator.xor,
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": round, "to_float": float,
    "int_truediv": operator.truediv, "add": operator.add, "sub": operator.sub, "mul": operator.mul,
    "div": operator.truediv, "neg": operator.neg, "abs": abs, "sqrt": math.sqrt,
}  # fmt: skip
TESTS: dict[str, Callable[[Any], bool]] = {"le": lambda v: v <= 0, "eq": lambda v: v == 0, "ne": lambda v: v != 0}
ORDERS: dict[str, Callable[[Any, Any], bool]] = {"lt": operator.lt, "le": operator.le, "eq": operator.eq}


def evaluate(rows: Rows, number: int, values: dict[int, int]) -> Any:
    """The value of an expression in Python; the errors are Python's."""
    kind, *data = rows[number]
    if kind == "symbol":
        return values[number]
    if kind == "sum":
        return data[0] + sum(k * math.prod(evaluate(rows, i, values) for i in mono) for k, *mono in data[1:])
    if kind == "apply" and data[0] == "ite":
        return evaluate(rows, data[2 if evaluate(rows, data[1], values) else 3], values)
    if kind == "apply" and data[0] in OPERATORS:
        return OPERATORS[data[0]](*(evaluate(rows, i, values) for i in data[1:]))
    if kind == "number":
        return float(data[0])
    if kind in TESTS:
        return TESTS[kind](evaluate(rows, data[0], values))
    if kind in ("and", "or"):
        return (all if kind == "and" else any)(evaluate(rows, i, values) for i in data)
    if kind == "compare":
        return ORDERS[data[0]](evaluate(rows, data[1], values), evaluate(rows, data[2], values)) == data[3]
    if kind in ("true", "false"):
        return kind == "true"
    raise NoMeaning(kind)


def by_values(document: dict[str, Any]) -> dict[str, int]:
    """How many claims hold at each point tried where what is given holds. AssertionError names a point that refutes
    one."""
    rows, counts = document["nodes"], {"confirmed": 0, "unknown": 0}
    for claim in claims(document):
        try:
            met = sum(_holds(rows, claim, point) for point in _points(rows, claim))
        except NoMeaning:
            met = 0
        counts["confirmed" if met else "unknown"] += 1
    return counts


def _holds(rows: Rows, claim: Claim, point: dict[int, int]) -> bool:
    """Whether what is given holds at a point, and has a value there. AssertionError if the claim does not."""
    try:
        if not all(evaluate(rows, number, point) for number in claim.given):
            return False
        holds = _shown(rows, claim, point)
    except (ArithmeticError, ValueError):
        return False
    if not holds:
        names = {rows[number][1]: value for number, value in point.items()}
        raise AssertionError(f"{claim.kind}: expression {claim.shows} does not hold at {names}")
    return True


def _shown(rows: Rows, claim: Claim, point: dict[int, int]) -> bool:
    if isinstance(claim.shows, int):
        return bool(evaluate(rows, claim.shows, point))
    symbol, side, end = claim.shows
    return point[symbol] >= end if side == ">=" else point[symbol] <= end


def _points(rows: Rows, claim: Claim) -> Iterator[dict[int, int]]:
    """Small values of the symbols in their ranges: all combinations, or as many of them at random."""
    last = claim.shows if isinstance(claim.shows, int) else claim.shows[0]
    symbols = sorted({s for number in (*claim.given, last) for s in _symbols(rows, number)})
    axes = [_axis(rows[s], s in claim.free) for s in symbols]
    if math.prod(map(len, axes)) <= POINTS:
        yield from (dict(zip(symbols, point)) for point in product(*axes))
    else:
        rng = Random(0)
        yield from (dict(zip(symbols, map(rng.choice, axes))) for _ in range(POINTS))


def _axis(row: Sequence[Any], free: bool) -> list[int]:
    lo, hi = (-math.inf, math.inf) if free else (-math.inf if row[2] is None else row[2], row[3])
    near = [end + step for end in (lo, hi) if isinstance(end, int) for step in (-1, 0, 1, 2)]
    return [v for v in dict.fromkeys((*near, *VALUES)) if lo <= v and (hi is None or v <= hi)]


def _symbols(rows: Rows, number: int) -> frozenset[int]:
    kind, *data = rows[number]
    if kind == "symbol":
        return frozenset((number,))
    parts = [i for _, *mono in data[1:] for i in mono] if kind == "sum" else data[1:] if kind == "apply" else data
    parts = data[1:3] if kind == "compare" else [] if kind in ("number", "unknown") else parts
    return frozenset().union(*(_symbols(rows, i) for i in parts))


# -- by z3 ------------------------------------------------------------------------------------------------------------
def by_z3(document: dict[str, Any]) -> dict[str, int]:
    """How many claims z3 confirms, and of how many it does not know. AssertionError if it refutes one."""
    try:
        import z3
    except ImportError as error:
        raise ImportError("the cross-check needs z3: pip install z3-solver") from error

    rows, counts = document["nodes"], {"confirmed": 0, "unknown": 0}
    for claim in claims(document):
        terms = _Terms(z3, rows)
        solver = z3.Solver()
        solver.set("rlimit", RLIMIT)
        try:
            solver.add(*(terms(number) for number in claim.given), z3.Not(_asked(terms, claim)))
        except NoMeaning:
            counts["unknown"] += 1
            continue
        solver.add(*terms.ranges(claim.free))
        answer = solver.check()
        if answer == z3.sat:
            raise AssertionError(f"{claim.kind}: z3 refutes expression {claim.shows}: {solver.model()}")
        counts["confirmed" if answer == z3.unsat else "unknown"] += 1
    return counts


def _asked(terms: _Terms, claim: Claim) -> Any:
    if isinstance(claim.shows, int):
        return terms(claim.shows)
    symbol, side, end = claim.shows
    return terms(symbol) >= end if side == ">=" else terms(symbol) <= end


class _Terms:
    """Expressions as z3 terms. z3's div is Euclidean, Python's rounds down; they agree for a positive divisor."""

    def __init__(self, z3: Any, rows: Rows) -> None:
        self._z3, self._rows = z3, rows
        self._made: dict[int, Any] = {}

    def __call__(self, number: int) -> Any:
        if number not in self._made:
            self._made[number] = self._term(number)
        return self._made[number]

    def ranges(self, free: frozenset[int]) -> Iterator[Any]:
        """The declared ranges of the symbols that were met."""
        for number, term in self._made.items():
            kind, *data = self._rows[number]
            if kind == "symbol" and number not in free:
                if data[1] is not None:
                    yield term >= data[1]
                if data[2] is not None:
                    yield term <= data[2]

    def _term(self, number: int) -> Any:
        z3, (kind, *data) = self._z3, self._rows[number]
        if kind == "symbol":
            return z3.Int(f"{data[0]}#{number}")
        if kind == "sum":
            terms = (math.prod(map(self, mono), start=z3.IntVal(k)) for k, *mono in data[1:])
            return sum(terms, z3.IntVal(data[0]))
        if kind == "apply":
            return self._applied(data[0], [self(i) for i in data[1:]])
        if kind in TESTS:
            value = self(data[0])
            return {"le": value <= 0, "eq": value == 0, "ne": value != 0}[kind]
        if kind in ("and", "or"):
            return (z3.And if kind == "and" else z3.Or)(*map(self, data))
        if kind in ("true", "false"):
            return z3.BoolVal(kind == "true")
        raise NoMeaning(kind)

    def _applied(self, op: str, args: list[Any]) -> Any:
        z3 = self._z3
        if op == "floordiv":
            x, d = args
            return z3.If(d == 0, z3.Int("x//0"), z3.If(d > 0, x / d, (-x) / (-d)))
        if op == "max":
            best = args[0]
            for arg in args[1:]:
                best = z3.If(best >= arg, best, arg)
            return best
        if op == "ite":
            return z3.If(*args)
        raise NoMeaning(op)


WAYS: dict[str, Callable[[dict[str, Any]], dict[str, int]]] = {"z3": by_z3, "values": by_values}
