"""Answers that stay true: facts only grow, so a proved relation stays proved until a rollback.

An answer missing here may be in an earlier environment with the same history (shared_history.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.expressions.expr import INF, Atom, Extended, Int, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, Junction, Rel, not_, or_
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.torch_env.shared_history import Past, Untranslatable, keep


class Memo:
    """Proved and refuted propositions of one environment.

    `generation` counts rollbacks: answers derived before one may depend on facts that are gone.
    """

    def __init__(self, core: ShapeEnv) -> None:
        self._core = core
        self.generation = 0
        self._truths: dict[Bool, bool] = {}
        self._large: dict[Bool, bool] = {}
        self._shifted: dict[Atom, Int] = {}
        self._version = -1
        self._seen = 0
        self._last: Fact | None = None
        self._equations = self._solved = 0
        self._open: set[Bool] = set()
        self.past: Past | None = None

    def _refresh(self) -> None:
        """Look at what happened to the log since the last question."""
        facts = self._core.facts
        kept = len(facts) >= self._seen and (not self._seen or facts[self._seen - 1] is self._last)
        if not kept:
            self.generation += 1
            self._equations += 1
            self._truths.clear()
            self._large.clear()
            self._seen = 0
        # An equation, or ranges that leave one value, give expressions a simpler form.
        solved = len(self._core.knowledge.solved)
        self._equations += solved != self._solved or any(_is_equation(fact.relation) for fact in facts[self._seen:])
        self._solved = solved
        self._open.clear()
        self._seen, self._last = len(facts), facts[-1] if facts else None
        self._version = self._core.version

    def equations(self) -> int:
        """Changes when an equation is recorded or facts are rolled back: expressions may now simplify differently."""
        if self._version != self._core.version:
            self._refresh()
        return self._equations

    def epoch(self) -> tuple[int, int]:
        """(rollbacks, equations) so far: results of operators hold within one epoch."""
        equations = self.equations()
        return self.generation, equations

    def decide(self, relation: Bool) -> bool | None:
        """As `ShapeEnv.decide(relation).verdict`."""
        if self._version != self._core.version:
            self._refresh()
        found = self._truths.get(relation)
        if found is None and relation not in self._open:
            found = self._shared("decide", relation, lambda: self._core.decide(relation).verdict)
            if found is None:
                self._open.add(relation)
            else:
                self._truths[relation] = found
        return found

    def decided(self) -> list[Bool]:
        """The relations that were proved so far: each question that the facts answer, or its negation."""
        if self._version != self._core.version:
            self._refresh()
        return [relation if truth else not_(relation) for relation, truth in self._truths.items()]

    def _shared(self, question: str, relation: Bool, answer: Callable[[], bool | None]) -> bool | None:
        """The answer in an environment with the same history, if there is one; else `answer()`."""
        state = None if self.past is None else self.past.state()
        if state is None or self.past is None:
            return answer()
        try:
            key = (question, self.past.shared(relation))
        except Untranslatable:
            return answer()
        if key not in state.known:
            keep(state, key, answer())
        known: bool | None = state.known[key]
        return known

    def decide_large(self, relation: Bool, sizes: Iterable[Symbol], derived: Mapping[Atom, Int]) -> bool | None:
        """The answer, if it is one for all sizes >= 2 (a question about 0 and 1).

        sizes: the symbols that are sizes; derived: atoms that occur in sizes of tensors, with the size
        ({s//2: s//2 - 1}).
        """
        if self._version != self._core.version:
            self._refresh()
        found = self._large.get(relation)
        if found is None:
            found = self._shared("decide_large", relation, lambda: self._decide_large(relation, sizes, derived))
            if found is not None:
                self._large[relation] = found
        return found

    def decide_under(self, assumed: Bool, relation: Bool) -> bool | None:
        """The answer that follows from the facts and the assumption; None if none does, or both do."""
        refuted = not_(assumed)
        found = [truth for truth in (True, False) if self.decide(or_(refuted, relation if truth else not_(relation)))]
        return found[0] if len(found) == 1 else None

    def _decide_large(self, relation: Bool, sizes: Iterable[Symbol], derived: Mapping[Atom, Int]) -> bool | None:
        current = self._core.simplify(relation)
        mapping: dict[Atom, Int] = {}
        for atom, size in [*((s, s.as_int()) for s in symbols_of(current) if s in sizes), *derived.items()]:
            lo, hi = self._core.bounds(size)
            if lo < 2 <= hi:
                mapping[atom] = self._shifted_size(atom, hi) - size.const
        if not mapping:
            return None
        return self._core.decide(substitute(current, mapping)).verdict

    def _shifted_size(self, atom: Atom, hi: Extended) -> Int:
        # size = 2 + t with t >= 0: what holds for every t holds for every size >= 2.
        found = self._shifted.get(atom)
        if found is None:
            high = hi - 2 if isinstance(atom, Symbol) and hi != INF else INF
            found = self._shifted[atom] = Symbol(f"{atom}_less_2", 0, high).as_int() + 2
        return found


def _is_equation(relation: Bool) -> bool:
    if isinstance(relation, Rel):
        return relation.kind == "eq"
    return isinstance(relation, Junction) and relation.kind == "and" and any(map(_is_equation, relation.args))  # type: ignore[arg-type]
