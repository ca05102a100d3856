"""Guards as Python expressions over the inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from symbolic_shapes.expr import INF, Extended, Int, Node, Symbol, children, symbols_of
from symbolic_shapes.guard_set import Guard, GuardSet
from symbolic_shapes.printer import to_python
from symbolic_shapes.relations import Rel
from symbolic_shapes.semantics import FUNCTIONS

Names = Callable[[Any], str]
DIVIDING = frozenset({"floordiv", "div", "int_truediv", "pow"})
"""Operators that may raise for some value of their second argument."""


def guards_as_code(guards: GuardSet, sources: Mapping[Symbol, str] | None = None, *,
                   signed: Collection[Symbol] = ()) -> list[str]:
    """Python expressions over the inputs that are all true exactly where the guards, and the declared ranges, hold.

    Try them in order: what may divide by zero comes last, and one that raises ArithmeticError counts as false. Evaluate
    them with `namespace()`. `sources` says how to write each symbol; by default its `source`. Symbols are sizes, never
    negative, but for those in `signed`. ValueError for a symbol without source.
    """
    names = sources if sources is not None else {s: str(s.source) for s in guards.symbols if s.source is not None}

    def name(symbol: Any) -> str:
        if symbol not in names:
            raise ValueError(f"no source is known for {symbol}: an input cannot be asked for it")
        return names[symbol]

    lines = [equality_text(g, guards, name) for g in guards.guards if g.kind == "equality" and not divides(g.relation)]
    for symbol in guards.kept_symbols:
        lo, hi = guards.own_range(symbol)
        text = range_text(symbol.as_int(), lo if lo > 0 or symbol in signed else -INF, hi, name)
        lines += [text] if text else []
    rest = sorted((g for g in guards.guards if g.kind not in ("range", "equality")), key=lambda g: divides(g.relation))
    lines += [to_python(g.relation, name) for g in rest]
    return lines + [equality_text(g, guards, name) for g in guards.guards
                    if g.kind == "equality" and divides(g.relation)]


def namespace() -> dict[str, Any]:
    """The globals that the expressions need."""
    return {"math": math, **FUNCTIONS}


def equality_text(guard: Guard, guards: GuardSet, name: Names) -> str:
    """`replaced == what it is`"""
    assert guard.symbol is not None
    return f"{name(guard.symbol)} == {to_python(guards.images[guard.symbol], name)}"


def range_text(x: Int, lo: Extended, hi: Extended, name: Names) -> str:
    """`lo <= x <= hi`; empty if both ends are open."""
    text = to_python(x, name)
    if lo == -INF:
        return f"{text} <= {hi}" if hi != INF else ""
    return f"{text} >= {lo}" if hi == INF else f"{lo} <= {text} <= {hi}"


def divides(node: Node) -> bool:
    """Whether a symbol is in a divisor (or an exponent), at any depth."""
    if getattr(node, "op", None) in DIVIDING and symbols_of(node.args[1]):  # type: ignore[attr-defined]
        return True
    return any(divides(part) for part in ((node.poly,) if isinstance(node, Rel) else children(node)))
