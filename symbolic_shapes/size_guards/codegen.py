"""Guards as Python expressions over the inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.expr import INF, Extended, Int, Node, Symbol, children, symbols_of
from dynamo_lite.symbolic_shapes.expressions.piecewise import FUNCTIONS
from dynamo_lite.symbolic_shapes.expressions.printer import to_python
from dynamo_lite.symbolic_shapes.expressions.relations import Rel
from dynamo_lite.symbolic_shapes.size_guards.guard import Guards, SizeGuard

Names = Callable[[Any], str]
DIVIDING = frozenset({"floordiv", "div", "int_truediv", "pow"})
"""Operators that may raise for some value of their second argument."""


@dataclass(frozen=True)
class GuardLine:
    """One line of code, and the guards that it states; `symbol` is the one whose declared range it states, if any."""

    text: str
    guards: tuple[SizeGuard, ...]
    symbol: Symbol | None = None


def guards_as_code(guards: Guards, sources: Mapping[Symbol, str] | None = None, *,
                   signed: Collection[Symbol] = ()) -> list[str]:
    """Python expressions over the inputs that are all true exactly if the guards, and the declared ranges, hold.

    Try them in order: those that may divide by zero come last, and one that raises ArithmeticError counts as false.
    Evaluate them with `namespace()`. `sources` has the text of each symbol; by default its `source`. Symbols are sizes,
    never negative, except those in `signed`. ValueError for a symbol without source.
    """
    return [line.text for line in guard_lines(guards, sources, signed=signed)]


def guard_lines(guards: Guards, sources: Mapping[Symbol, str] | None = None, *,
                signed: Collection[Symbol] = ()) -> list[GuardLine]:
    """`guards_as_code` with what each line states."""
    names = sources if sources is not None else {s: str(s.source) for s in guards.symbols if s.source is not None}

    def name(symbol: Any) -> str:
        if symbol not in names:
            raise ValueError(f"no source is known for {symbol}: an input cannot be asked for it")
        return names[symbol]

    equalities = [g for g in guards.guards if g.kind == "equality"]
    rest = sorted((g for g in guards.guards if g.kind not in ("range", "equality")), key=lambda g: divides(g.relation))
    return [
        *(GuardLine(equality_text(g, guards, name), (g,)) for g in equalities if not divides(g.relation)),
        *(line for symbol in guards.kept_symbols if (line := _range_line(symbol, guards, name, symbol in signed))),
        *(GuardLine(to_python(g.relation, name), (g,)) for g in rest),
        *(GuardLine(equality_text(g, guards, name), (g,)) for g in equalities if divides(g.relation)),
    ]


def _range_line(symbol: Symbol, guards: Guards, name: Names, signed: bool) -> GuardLine | None:
    """The condition on a symbol alone; None if its range is open, or just that of a size."""
    lo, hi = guards.own_range(symbol)
    text = range_text(symbol.as_int(), lo if lo > 0 or signed else -INF, hi, name)
    if not text:
        return None
    declared = (lo == symbol.lo and (lo > 0 or signed)) or (hi == symbol.hi and hi != INF)
    return GuardLine(text, tuple(g for g in guards.about(symbol) if g.kind == "range"), symbol if declared else None)


def namespace() -> dict[str, Any]:
    """The globals that the expressions need."""
    return {"math": math, **FUNCTIONS}


def equality_text(guard: SizeGuard, guards: Guards, name: Names) -> str:
    """`replaced == its image`"""
    assert guard.symbol is not None
    return f"{name(guard.symbol)} == {to_python(guards.images[guard.symbol], name)}"


def range_text(x: Int, lo: Extended, hi: Extended, name: Names) -> str:
    """`lo <= x <= hi`; empty if both ends are open."""
    text = to_python(x, name)
    if lo == -INF:
        return f"{text} <= {hi}" if hi != INF else ""
    return f"{text} >= {lo}" if hi == INF else f"{lo} <= {text} <= {hi}"


def divides(node: Node, seen: set[Node] | None = None) -> bool:
    """Whether a symbol is in a divisor (or an exponent), at any depth."""
    seen = set() if seen is None else seen
    if node in seen:
        return False
    seen.add(node)
    if getattr(node, "op", None) in DIVIDING and symbols_of(node.args[1]):  # type: ignore[attr-defined]
        return True
    return any(divides(part, seen) for part in ((node.poly,) if isinstance(node, Rel) else children(node)))
