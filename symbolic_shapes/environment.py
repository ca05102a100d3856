"""The shape environment: symbols, facts about them, and the relations that follow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from dynamo_lite.symbolic_shapes.errors import (
    ContradictoryFacts,
    DataDependentQuestion,
    StaleSnapshot,
    UnknownValue,
    sorted_symbols,
)
from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import INF, Atom, Extended, Int, Node, Symbol, as_int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.floats import float_symbols_of
from dynamo_lite.symbolic_shapes.expressions.intervals import Interval
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, as_bool, eq, not_
from dynamo_lite.symbolic_shapes.listener import Listener
from dynamo_lite.symbolic_shapes.proofs.facts import UNKNOWN_ORIGIN, Fact, Origin
from dynamo_lite.symbolic_shapes.proofs.proof import facts_used
from dynamo_lite.symbolic_shapes.prover.decide import PROVED, REFUTED, Answer, decide
from dynamo_lite.symbolic_shapes.prover.knowledge import Contradiction, Knowledge
from dynamo_lite.symbolic_shapes.prover.models import Models
from dynamo_lite.symbolic_shapes.prover.tables import Mark
from dynamo_lite.symbolic_shapes.prover.unsat_core import smallest


class ShapeEnv:
    """Symbols and facts. Knowledge only grows, except by `rollback`.

    Attributes:
        symbols: name -> Symbol, in order of creation.
        facts: the log of `Fact`s.
        version: changes whenever an answer may change (a fact was recorded or rolled back).
        listeners: called with each new symbol and fact, and the changes by the fact (listener.py).
    """

    def __init__(self) -> None:
        self.symbols: dict[str, Symbol] = {}
        self.knowledge = Knowledge()
        self._models = Models(self.knowledge)
        self.listeners: list[Listener] = []
        self._suppressed = 0
        self._numbers = {"s": count(), "u": count()}
        self._proved: dict[Bool, Answer] = {}
        self._unknown: dict[Bool, Answer] = {}
        self._unknown_version = 0

    @property
    def facts(self) -> list[Fact]:
        return self.knowledge.facts

    @property
    def version(self) -> int:
        return self.knowledge.version

    # -- symbols ------------------------------------------------------------------------------------
    def backed(self, hint: int, *, name: str | None = None, lo: Extended = -INF, hi: Extended = INF,
               source: Any = None, origin: Origin | None = None) -> Int:
        """A new symbol with an example value. ValueError if the hint is outside [lo, hi] or the name is taken."""
        if not lo <= hint <= hi:
            raise ValueError(f"the hint {hint} is outside of the range [{lo}, {hi}]")
        return self._create("s", name, lo, hi, hint=hint, source=source, origin=origin)

    def unbacked(self, *, name: str | None = None, lo: Extended = -INF, hi: Extended = INF, size_like: bool = False,
                 source: Any = None, origin: Origin | None = None) -> Int:
        """A new symbol whose value only run time knows. A size-like one is a size: never negative."""
        low = max(lo, 0) if size_like else lo
        return self._create("u", name, low, hi, unbacked=True, size_like=size_like, source=source, origin=origin)

    def _create(self, prefix: str, name: str | None, lo: Extended, hi: Extended, **fields: Any) -> Int:
        if name is None:
            name = next(n for n in map(f"{prefix}{{}}".format, self._numbers[prefix]) if n not in self.symbols)
        if name in self.symbols:
            raise ValueError(f"there is a symbol {name} already")
        symbol = self.symbols[name] = Symbol(name, lo, hi, **fields)
        for listener in self.listeners:
            listener.on_symbol(symbol)
        return symbol.as_int()

    # -- questions ------------------------------------------------------------------------------------
    def decide(self, relation: Bool | bool) -> Answer:
        """Decide a relation by the facts, without hints: PROVED, REFUTED or UNKNOWN, with the facts used.

        Knowledge only grows between rollbacks, so a proof stays valid; "unknown" is recomputed after a new fact.
        """
        found = self._proved.get(relation)  # type: ignore[arg-type]
        if found is not None:
            return found
        relation = as_bool(relation)
        if self._unknown_version != self.knowledge.version:
            self._unknown, self._unknown_version = {}, self.knowledge.version
        found = self._unknown.get(relation)
        if found is None:
            example = self._in_example(relation)
            found = decide(self.knowledge, relation, model=example, models=self._models)
            (self._unknown if found.verdict is None else self._proved)[relation] = found
        return found

    def _in_example(self, relation: Bool) -> bool | None:
        """The truth at the hints, where every symbol has one: the example satisfies the facts, so the opposite
        cannot follow from them."""
        values = self._hints(relation)
        if values is None:
            return None
        try:
            return bool(evaluate(relation, values))
        except (ArithmeticError, ValueError):
            return None

    def evaluate(self, relation: Bool | bool, origin: Origin = UNKNOWN_ORIGIN) -> bool:
        """The truth of a relation in the traced run. If the facts do not decide it, the hints do, and the outcome
        becomes a fact of kind "guard". DataDependentQuestion if there is no hint."""
        relation = as_bool(relation)
        answer = self.decide(relation)
        if answer.verdict is not None:
            return answer.verdict
        value = self.hint(relation)
        if value is None:
            raise DataDependentQuestion(relation, origin, self.ranges_of(relation))
        if not self._suppressed:
            self._append_fact(relation if value else not_(relation), origin, "guard")
        return bool(value)

    def value_of(self, expr: Int | int, origin: Origin = UNKNOWN_ORIGIN) -> int:
        """A concrete value for an expression, specialising it (a guard `expr == hint`). UnknownValue without hint."""
        node = self.simplify(as_int(expr))
        if node.as_constant() is not None:
            return node.const
        lo, hi = self.bounds(node)
        if lo == hi:
            return int(lo)
        value = self.hint(node)
        if value is None:
            raise UnknownValue(node, origin, self.ranges_of(node))
        self.evaluate(eq(node, value), origin)
        return int(value)

    def hint(self, node: Node) -> Any:
        """The value at the example's sizes; None if an unbacked symbol is in it (after substitution)."""
        values = self._hints(node)
        if values is None:
            node = self.simplify(node)
            values = self._hints(node)
        return None if values is None else evaluate(node, values)

    def _hints(self, node: Node) -> dict[Node, Any] | None:
        """The hint of every symbol in a node, None if one has none."""
        values: dict[Node, Any] = {s: s.hint for s in symbols_of(node)}
        values.update((f, f.hint) for f in float_symbols_of(node))
        return None if None in values.values() else values

    def example_of(self, relation: Bool) -> dict[Symbol, int] | None:
        """Values of all backed symbols that satisfy the facts, and in which a relation holds; None if none is found."""
        model = self._models.find(relation)
        return None if model is None else {s: model[s] for s in self.symbols.values() if not s.unbacked}

    def bounds(self, expr: Int | int) -> Interval:
        """(lo, hi) that hold for every assignment that satisfies the facts; not necessarily the tightest."""
        return self.knowledge.bounds(as_int(expr))

    def simplify(self, node: Any) -> Any:
        """The expression with known equalities substituted and conditional laws applied where the facts allow."""
        return self.knowledge.simplify(node)

    def ranges_of(self, node: Node) -> dict[Symbol, Interval]:
        """The known range of each symbol in an expression, oldest first."""
        return {s: self.knowledge.bounds(s.as_int()) for s in sorted_symbols(node)}

    # -- facts ----------------------------------------------------------------------------------------
    def assume(self, relation: Bool | bool, origin: Origin = UNKNOWN_ORIGIN, kind: str = "check") -> Fact | None:
        """Record that a relation holds; None if that is known already. ContradictoryFacts names the conflicting facts.

        Under suppression nothing is recorded (and None returned), but a contradiction still raises."""
        relation = as_bool(relation)
        answer = self.decide(relation)
        if answer.verdict is PROVED:
            return None
        if answer.verdict is REFUTED:
            raise ContradictoryFacts(relation, origin, smallest(relation, answer.facts))
        return None if self._suppressed else self._append_fact(relation, origin, kind)

    def add_fact(self, relation: Bool | bool, origin: Origin = UNKNOWN_ORIGIN, kind: str = "check") -> Fact | None:
        """`assume` without searching for a proof first: None only if the relation is known at a glance. A contradiction
        that only search would find goes unnoticed."""
        relation = as_bool(relation)
        shown = self.knowledge.quick(self.simplify(relation))
        if shown is not None and shown[0]:
            return None
        return None if self._suppressed else self._append_fact(relation, origin, kind)

    def _append_fact(self, relation: Bool, origin: Origin, kind: str) -> Fact:
        before = _KnownBefore(self) if self.listeners else None
        try:
            fact = self.knowledge.add(relation, origin, kind)
        except Contradiction as clash:
            others = [f for f in facts_used(clash.step) if f.index < len(self.facts)]
            raise ContradictoryFacts(relation, origin, smallest(relation, others)) from None
        if before is not None:
            before.tell(fact)
        return fact

    # -- going back -----------------------------------------------------------------------------------
    def snapshot(self) -> Mark:
        """A token for `rollback`."""
        return self.knowledge.snapshot()

    def rollback(self, token: Mark) -> None:
        """Forget every fact recorded since the snapshot (symbols stay). StaleSnapshot if it is gone."""
        if not self.knowledge.is_current(token):
            raise StaleSnapshot("facts that this snapshot includes have been rolled back since")
        self.knowledge.rollback(token)
        self._proved = {}

    @contextmanager
    def suppressed(self) -> Iterator[None]:
        """Within, answers taken from hints are not recorded as facts."""
        self._suppressed += 1
        try:
            yield
        finally:
            self._suppressed -= 1


class _KnownBefore:
    """The knowledge of an environment before a fact; `tell` notifies its listeners of the changes by the fact."""

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
