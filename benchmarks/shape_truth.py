"""What is true of a query, without asking us: every assignment of bounded sizes (numpy), z3 for unbounded ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import z3

from benchmarks.shape_terms import Query, Range, Term
from tests.symbolic_shapes.oracle import z3_term

ALL = 1_100_000
"""Up to so many assignments are all tried."""
WINDOW = 4000
"""About so many assignments are looked at of what has more."""
RLIMIT = 3_000_000
"""z3's resource units per query."""
AT_ZERO = (0, 5)
"""Values of x // 0 tried: what holds must hold for each."""


def _floordiv_at(at_zero: int) -> Callable[[Any, Any], Any]:
    def divide(x: Any, d: Any) -> Any:
        return np.where(d == 0, at_zero, np.floor_divide(x, np.where(d == 0, 1, d)))

    return divide


def arrays_table(at_zero: int) -> dict[str, Callable[..., Any]]:
    """operator -> its meaning on arrays of int64 or float64, which agrees with Python's on small numbers."""
    div = _floordiv_at(at_zero)
    return {
        "+": np.add, "-": np.subtract, "*": np.multiply, "//": div, "%": lambda x, d: x - d * div(x, d),
        "max": np.maximum, "min": np.minimum, "abs": np.abs, "neg": np.negative, "ceildiv": lambda x, d: -div(-x, d),
        "<": np.less, "<=": np.less_equal, "==": np.equal, "!=": np.not_equal,
        ">": np.greater, ">=": np.greater_equal,
        "and": np.logical_and, "or": np.logical_or, "not": np.logical_not, "ite": np.where, "pow": np.power,
        "f/": np.true_divide, "f*": np.multiply,
        "floor": _rounded(np.floor), "ceil": _rounded(np.ceil), "trunc": _rounded(np.trunc),
        "to_even": _rounded(np.rint),
    }


def _rounded(op: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: op(x).astype(np.int64)


def value(term: Term, arrays: dict[str, Any], table: dict[str, Callable[..., Any]]) -> Any:
    """The term's value at every point."""
    if isinstance(term, str):
        return arrays[term]
    if isinstance(term, int):
        return np.int64(term)
    if isinstance(term, float):
        return np.float64(term)
    return table[term[0]](*(value(t, arrays, table) for t in term[1:]))


def _axes(ranges: dict[str, Range]) -> tuple[list[Any], bool]:
    """(values of each variable, whether these are all of its range)."""
    sizes = [hi - lo + 1 for lo, hi in ranges.values()]
    if math.prod(sizes) <= ALL:
        return [np.arange(int(lo), int(hi) + 1) for lo, hi in ranges.values()], True
    each = max(9, int(WINDOW ** (1 / max(len(ranges), 1))))
    axes = []
    for lo, hi in ranges.values():
        start = int(lo) if math.isfinite(lo) else -each // 2
        axes.append(np.arange(start, int(min(hi, start + each)) + 1))
    return axes, False


def truths(query: Query) -> tuple[set[bool], bool | None]:
    """(truth values seen in assignments that satisfy the facts, what is entailed if that could be settled)."""
    axes, complete = _axes(query.ranges)
    grid = np.meshgrid(*axes, indexing="ij") if axes else []
    arrays = {n: a.reshape(-1) for n, a in zip(query.ranges, grid)}
    seen: set[bool] = set()
    for at_zero in AT_ZERO:
        table = arrays_table(at_zero)
        holds: Any = np.ones(arrays[next(iter(arrays))].shape, bool) if arrays else np.ones(1, bool)
        for fact in query.facts:
            holds = holds & value(fact, arrays, table)
        seen |= set(np.broadcast_to(value(query.goal, arrays, table), holds.shape)[holds].tolist())
    if len(seen) == 2:
        return seen, None
    if complete:
        return seen, next(iter(seen)) if seen else None
    if not seen:
        return seen, None
    only = next(iter(seen))
    return seen, only if entailed(query, only) else None


def entailed(query: Query, truth: bool) -> bool:
    """Whether z3 proves the goal, or its negation, from the facts."""
    names: dict[str, Any] = {}
    at_zero = z3.Int("x//0")
    solver = z3.Solver()
    solver.set("rlimit", RLIMIT)
    solver.set("random_seed", 0)
    try:
        goal = z3_term(query.goal, names, at_zero)
        facts = [z3_term(f, names, at_zero) for f in query.facts]
    except KeyError:  # floats, powers
        return False
    for name, (lo, hi) in query.ranges.items():
        x = names.get(name)
        if x is not None:
            solver.add(*([x >= int(lo)] if math.isfinite(lo) else []), *([x <= int(hi)] if math.isfinite(hi) else []))
    solver.add(*facts, z3.Not(goal) if truth else goal)
    return bool(solver.check() == z3.unsat)
