"""Callbacks for new symbols and facts, for logs. Without listeners they cost nothing."""

from __future__ import annotations

from dynamo_lite.symbolic_shapes.expressions.expr import Atom, Int, Symbol
from dynamo_lite.symbolic_shapes.expressions.intervals import Interval
from dynamo_lite.symbolic_shapes.proofs.facts import Fact


class Listener:
    """Override the events you need. A listener must evaluate nothing in the environment that would make a new fact."""

    def on_symbol(self, symbol: Symbol) -> None:
        """A new symbol, with its hint, range, source and origin."""

    def on_fact(self, fact: Fact) -> None:
        """A relation holds from now on."""

    def on_replacement(self, atom: Atom, value: Int, fact: Fact) -> None:
        """`atom` is written as `value` from now on, because of `fact`. A constant value is a specialisation."""

    def on_range(self, symbol: Symbol, before: Interval, after: Interval, fact: Fact) -> None:
        """`fact` changed a symbol's known range."""
