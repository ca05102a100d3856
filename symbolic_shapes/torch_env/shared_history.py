"""Shares answers between environments with equal histories.

The answers of an environment depend on its symbols (names, ranges and values in the example) and on the facts recorded
before. A `HistoryState` represents such a history. Environments with equal histories share it, and the results stored
in it: answers (answer_cache.py), and results of operators (dynamo_lite/capture/fakes/symbolic_cache.py).

A state has symbols of its own, which expressions are translated to and from: two environments never share symbols.
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.symbolic_shapes.expressions.expr import Atom, Int, Node, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.floats import float_symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.torch_node.interfaces import Environment

_LIMIT = 50_000
"""Results and states that are kept; all are dropped beyond it."""


class Untranslatable(Exception):
    """An expression over something that is not a symbol of the environment's past."""


class HistoryState:
    """A history that environments have in common, and the results known in it. `symbol`: the newest one."""

    __slots__ = ("known", "next", "symbol")

    def __init__(self, symbol: Symbol | None = None) -> None:
        self.next: dict[Any, HistoryState] = {}
        self.known: dict[Any, Any] = {}
        self.symbol = symbol


_beginnings: dict[Any, HistoryState] = {}
_kept = 0


def forget() -> None:
    """Empty the memory (for tests and benchmarks)."""
    global _kept
    _beginnings.clear()
    _kept = 0


def kept() -> int:
    """How many states, answers and results are kept."""
    return _kept


class Past:
    """Follows one environment through the states."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._state: HistoryState | None = _beginnings.setdefault(env.settings, HistoryState())
        self._to_shared: dict[Atom, Int] = {}
        self._to_ours: dict[Atom, Int] = {}
        self._shared: dict[Node, Any] = {}
        self._ours: dict[Node, Any] = {}
        self._symbols = self._facts = self._derived = 0
        self._size_like: frozenset[Symbol] = frozenset()
        self._last: Fact | None = None

    def state(self) -> HistoryState | None:
        """The state that the environment is in now; None if its past is not one that others can have.

        (It has symbolic floats, or facts were rolled back.)
        """
        env = self._env
        if self._state is None or env.frozen:
            return None
        core = env.core
        if len(core.symbols) != self._symbols:
            for symbol in [*core.symbols.values()][self._symbols :]:
                self._add_symbol(symbol)
            self._symbols = len(core.symbols)
        try:
            if len(env.size_like) != len(self._size_like):
                self._size_like = frozenset(env.size_like)
                self._step(("size-like", frozenset(self.shared(s.as_int()) for s in self._size_like)))
            if len(env.derived_sizes) != self._derived:
                for atom, size in [*env.derived_sizes.items()][self._derived :]:
                    self._step(("derived", self.shared(atom), self.shared(size)))
                self._derived = len(env.derived_sizes)
            if len(core.facts) != self._facts or (self._facts and core.facts[-1] is not self._last):
                self._add_facts(core.facts)
        except Untranslatable:
            self._state = None
        return self._state

    def _add_symbol(self, symbol: Symbol) -> None:
        key = (symbol.name, symbol.lo, symbol.hi, symbol.hint, symbol.unbacked, symbol.size_like)
        state = self._step(key)
        if state.symbol is None:
            name, lo, hi, hint, unbacked, size_like = key
            state.symbol = Symbol(name, lo, hi, hint=hint, unbacked=unbacked, size_like=size_like)
        self._to_shared[symbol] = state.symbol.as_int()
        self._to_ours[state.symbol] = symbol.as_int()

    def _add_facts(self, facts: list[Fact]) -> None:
        if len(facts) < self._facts or (self._facts and facts[self._facts - 1] is not self._last):
            raise Untranslatable
        for fact in facts[self._facts :]:
            self._step((fact.kind, self.shared(fact.relation)))
        self._facts, self._last = len(facts), facts[-1]

    def _step(self, key: Any) -> HistoryState:
        assert self._state is not None
        following = self._state.next.get(key)
        if following is None:
            following = self._state.next[key] = HistoryState()
            _count()
        self._state = following
        return following

    # -- translation ------------------------------------------------------------------------------------------------
    def shared(self, node: Any) -> Any:
        """An expression of this environment over the state's symbols. Raises Untranslatable."""
        found = self._shared.get(node)
        if found is None:
            if not all(symbol in self._to_shared for symbol in symbols_of(node)) or float_symbols_of(node):
                raise Untranslatable
            found = self._shared[node] = substitute(node, self._to_shared)
        return found

    def ours(self, node: Any) -> Any:
        """An expression over the state's symbols in this environment."""
        found = self._ours.get(node)
        if found is None:
            found = self._ours[node] = substitute(node, self._to_ours)
        return found

    def shared_number(self, value: Any) -> Any:
        """A number as it is; a SymInt as an expression over the state's symbols. Raises Untranslatable."""
        if not isinstance(value, torch.SymInt):
            return value
        node = self._env.node_of(value)
        return self.shared(node.core) if node.constant is None else node.constant

    def our_number(self, value: int | Int) -> Any:
        """The number, or the SymInt, that corresponds here to a number of a state."""
        return self._env.wrap(self.ours(value)) if isinstance(value, Int) else value

    # -- shared results ----------------------------------------------------------------------------------------------
    def add_facts(self, facts: tuple[tuple[Bool, str], ...]) -> None:
        """Record the facts of an environment with the same history: none of them is known here."""
        for relation, kind in facts:
            self._env.core.add_fact(self.ours(relation), self._env.asked_at(), kind)

    def facts_since(self, count: int) -> tuple[tuple[Bool, str], ...]:
        """The facts that this environment recorded since there were `count`. Raises Untranslatable."""
        return tuple((self.shared(fact.relation), fact.kind) for fact in self._env.core.facts[count:])


def keep(state: HistoryState, key: Any, value: Any) -> None:
    """Store a result in a state."""
    state.known[key] = value
    _count()


def _count() -> None:
    global _kept
    _kept += 1
    if _kept > _LIMIT:
        forget()
