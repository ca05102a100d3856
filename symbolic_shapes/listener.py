"""Who wants to hear what an environment learns, as it learns it: for logs. Without listeners that costs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symbolic_shapes.expressions.expr import Atom, Int, Symbol
from symbolic_shapes.expressions.intervals import Interval
from symbolic_shapes.proofs.facts import Fact

if TYPE_CHECKING:
    from symbolic_shapes.environment import ShapeEnv


class Listener:
    """Override what you want to hear. A listener must ask nothing of the environment that would make a new fact."""

    def on_symbol(self, symbol: Symbol) -> None:
        """A new symbol, with its hint, range, source and origin."""

    def on_fact(self, fact: Fact) -> None:
        """A relation holds from now on."""

    def on_replacement(self, atom: Atom, value: Int, fact: Fact) -> None:
        """`atom` is written as `value` from now on, because of `fact`. A constant value is a specialisation."""

    def on_range(self, symbol: Symbol, before: Interval, after: Interval, fact: Fact) -> None:
        """`fact` changed what is known of a symbol's range."""


class Before:
    """What an environment knew before a fact; `tell` its listeners what the fact changed."""

    def __init__(self, env: ShapeEnv) -> None:
        self._env = env
        self._solved = dict(env.knowledge.solved)
        self._ranges = {s: env.bounds(s.as_int()) for s in env.symbols.values()}

    def tell(self, fact: Fact) -> None:
        env = self._env
        solved = {atom: value for atom, (value, _) in env.knowledge.solved.items() if self._is_new(atom, value)}
        ranges = [(s, old, now) for s, old in self._ranges.items() if (now := env.bounds(s.as_int())) != old]
        for listener in env.listeners:
            listener.on_fact(fact)
            for atom, value in solved.items():
                listener.on_replacement(atom, value, fact)
            for symbol, before, after in ranges:
                listener.on_range(symbol, before, after, fact)

    def _is_new(self, atom: Atom, value: Int) -> bool:
        known = self._solved.get(atom)
        return known is None or known[0] is not value
