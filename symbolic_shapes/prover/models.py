"""Models: assignments that satisfy all facts, kept from one question to the next.

A question that is true in one model and false in another follows neither way, and need not be searched. The example is
a model; this file finds others near it, by changing a symbol or two. Only facts about what changes are looked at: the
rest hold as in the example. Nothing is proved here, and nothing that follows is ever denied: each model is checked
against every fact that it could break.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, islice, product
from typing import TYPE_CHECKING, Any

from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import INF, Atom, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.floats import Float, float_symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, Junction
from dynamo_lite.symbolic_shapes.proofs.facts import Fact

if TYPE_CHECKING:
    from dynamo_lite.symbolic_shapes.prover.knowledge import Knowledge

MAX_SYMBOLS = 8
"""Questions about more symbols are left to the search."""
POOL = 12
"""How many models are kept; each is tried on each question that gets here."""
EXHAUSTIVE = 400
"""Up to so many combinations of the values of a question's symbols, all are tried."""
PAIRS = 40
"""How many changes of two symbols at once are tried."""
FARTHEST = 4096
"""How far from the example's value each symbol is tried, where nothing else gives a model."""
_UNDEFINED = (ArithmeticError, ValueError, KeyError, TypeError)


class Unknowable(KeyError):
    """An unbacked symbol, for which our models have no value."""


class Assignment(dict[Symbol, int]):
    """Values of all symbols: those in the dict, what equations make of them, and the example's for the rest."""

    def __init__(self, known: Knowledge, changes: dict[Symbol, int]) -> None:
        super().__init__(changes)
        self._known = known

    def __missing__(self, symbol: Symbol) -> int:
        if isinstance(symbol, Float):  # a fact is about an input float: it stays as it is in the example
            return self._float(symbol)
        if symbol.unbacked:
            raise Unknowable(symbol)
        image = self._known.solved.get(symbol)
        value: int = _plain(symbol) if image is None else evaluate(image[0], self)
        self[symbol] = value
        return value

    @staticmethod
    def _float(symbol: Float) -> Any:
        if symbol.hint is None:
            raise Unknowable(symbol)
        return symbol.hint


def _plain(symbol: Symbol) -> int:
    """The example's value; the least one of a symbol that represents a part of a range."""
    if symbol.hint is not None:
        return int(symbol.hint)
    return int(symbol.lo) if symbol.lo != -INF else 0


class Models:
    """The models of one `Knowledge`."""

    def __init__(self, known: Knowledge) -> None:
        self._known = known
        self._changes: list[dict[Symbol, int]] = []
        self._pool: list[Assignment] = []
        self._facts: tuple[int, Fact | None] = (0, None)
        self._solved = 0

    def shows(self, relation: Bool, truth: bool) -> bool:
        """Whether some model is at hand, or easily found, in which the relation has this truth value."""
        symbols = sorted(symbols_of(relation), key=lambda s: s.id)
        if not symbols or len(symbols) > MAX_SYMBOLS or float_symbols_of(relation):
            return False
        if any(s.unbacked for s in symbols):
            return False
        self._refresh()
        for model in reversed(self._pool):
            if _truth(relation, model) is truth:
                return True
        return any(self._is_witness(relation, truth, changes) for changes in self._candidates(symbols))

    def find(self, relation: Bool) -> Assignment | None:
        """A model in which a relation of backed symbols holds; None if none is easily found. Of those at hand one whose
        values are positive is preferred: kernels treat 0 apart."""
        symbols = sorted(symbols_of(relation), key=lambda s: s.id)
        if any(s.unbacked for s in symbols):
            return None
        self._refresh()
        found = self._model_of(relation, self._candidates(symbols))
        return found or self._model_of(relation, chain(self._part_by_part(relation), self._near(symbols_of(relation))))

    def _model_of(self, relation: Bool, candidates: Iterable[dict[Symbol, int]]) -> Assignment | None:
        symbols, found = symbols_of(relation), None
        for changes in candidates:
            if _truth(relation, Assignment(self._known, changes)) is not True:
                continue
            model = self._model(changes)
            if model is not None:
                if all(model[symbol] > 0 for symbol in symbols):
                    return model
                found = found or model
        return found

    def _refresh(self) -> None:
        """Facts were added or taken back: which of the models are still some?"""
        facts, solved = self._known.facts, self._known.solved
        now = (len(facts), facts[-1] if facts else None)
        if now == self._facts:
            return
        (count, last), known_solved = self._facts, self._solved
        self._facts, self._solved = now, len(solved)
        if count <= len(facts) and (not count or facts[count - 1] is last):  # only new ones, and their changes
            new, moved = facts[count:], list(islice(solved, known_solved, None))
            pairs = [(changes, self._model(changes, new, moved)) for changes in self._changes]
        else:
            pairs = [(changes, self._model(changes)) for changes in self._changes]
        kept = [(changes, model) for changes, model in pairs if model is not None]
        self._changes = [changes for changes, _ in kept]
        self._pool = [model for _, model in kept]

    def _is_witness(self, relation: Bool, truth: bool, changes: dict[Symbol, int]) -> bool:
        self._known.steps += 1
        if _truth(relation, Assignment(self._known, changes)) is not truth:
            return False
        model = self._model(changes)
        if model is None:
            return False
        self._changes, self._pool = [*self._changes[1 - POOL:], changes], [*self._pool[1 - POOL:], model]
        return True

    def _model(self, changes: dict[Symbol, int], new: Sequence[Fact] | None = None,
               solved: Iterable[Atom] = ()) -> Assignment | None:
        """The assignment with these changes of the example, if no fact contradicts it. It was a model before the `new`
        facts, and the equations that they solved: then these are checked, and facts about values they move."""
        known = self._known
        model, checked = Assignment(known, changes), set[Fact]()
        try:
            pending = list(changes) if new is None else _other_than_in_example(solved, model)
            for fact in new or ():
                if _other_than_in_example(symbols_of(fact.relation), model) and not evaluate(fact.relation, model):
                    return None
            while pending:
                symbol = pending.pop()
                if not symbol.lo <= model[symbol] <= symbol.hi:
                    return None
                for fact in known.facts_of.get(symbol, ()):
                    if fact in checked:
                        continue
                    checked.add(fact)
                    pending += self._moved(fact, model)
                    if not evaluate(fact.relation, model):
                        return None
        except _UNDEFINED:
            return None
        return model

    def _moved(self, fact: Fact, model: Assignment) -> list[Symbol]:
        """The symbols of a fact whose value differs from the example's because of equations."""
        new = [s for s in symbols_of(fact.relation) if s not in model]
        return [s for s in new if model[s] != _plain(s)]

    def _candidates(self, symbols: Iterable[Symbol]) -> Iterator[dict[Symbol, int]]:
        free = list(dict.fromkeys(f for s in symbols for f in self._free(s)))[:MAX_SYMBOLS]
        # Symbols with few facts are changed first: a model is checked against all facts about changed symbols.
        free.sort(key=lambda s: len(self._known.facts_of.get(s, ())))
        domain = self._domain(free)
        if domain is not None:
            yield from (dict(zip(free, values)) for values in product(*domain))
            return
        choices = {s: self._choices(s) for s in free}
        for symbol in free:
            yield from ({symbol: value} for value in choices[symbol])
        pairs = ({a: x, b: y} for a, b in combinations(free, 2) for x in choices[a][:4] for y in choices[b][:4])
        yield from islice(pairs, PAIRS)

    def _part_by_part(self, relation: Bool) -> Iterator[dict[Symbol, int]]:
        """Changes after which each part of a conjunction holds, if one change more makes the next part do so."""
        changes: dict[Symbol, int] = {}
        parts: Any = relation.args if isinstance(relation, Junction) and relation.kind == "and" else ()
        for part in parts:
            tried = chain((changes,), ({**changes, **more} for more in self._near(symbols_of(part))))
            found = next((c for c in tried if _truth(part, Assignment(self._known, c)) is True), None)
            if found is None:
                return
            changes = found
        yield changes

    def _near(self, symbols: Iterable[Symbol]) -> Iterator[dict[Symbol, int]]:
        """One symbol changed, to each value around its own: `s // 128 >= 1` holds from 128 on."""
        for symbol in dict.fromkeys(f for s in sorted(symbols, key=lambda s: s.id) for f in self._free(s)):
            lo, hi = self._known.range(symbol)
            at = _plain(symbol)
            for distance in range(1, FARTHEST):
                yield from ({symbol: value} for value in (at + distance, at - distance) if lo <= value <= hi)

    def _domain(self, free: list[Symbol]) -> list[range] | None:
        """Every value that each symbol may have, if that makes few combinations."""
        ranges, size = [], 1
        for symbol in free:
            lo, hi = self._known.range(symbol)
            if not isinstance(lo, int) or not isinstance(hi, int):
                return None
            ranges.append(range(lo, hi + 1))
            size *= hi - lo + 1
            if size > EXHAUSTIVE:
                return None
        return ranges

    def _free(self, symbol: Symbol) -> list[Symbol]:
        """The symbols that one is determined by."""
        image = self._known.solved.get(symbol)
        if image is None:
            return [symbol]
        return [f for s in sorted(symbols_of(image[0]), key=lambda s: s.id) for f in self._free(s)]

    def _choices(self, symbol: Symbol) -> list[int]:
        """Other values of a symbol, those that decide most first: ends of its range, neighbours, multiples."""
        lo, hi = self._known.range(symbol)
        at = _plain(symbol)
        ends = [int(end) for end in (lo, hi) if isinstance(end, int)]
        values = [at + 1, *ends, at - 1, 2 * at, *(e + 1 for e in ends), at + 2, at // 2, *(e - 1 for e in ends),
                  at - 2, at + 3, at + 8, at - 8, at + 16, at - 16, 3 * at, at + 64]
        return [v for v in dict.fromkeys(values) if lo <= v <= hi and v != at]


def _other_than_in_example(atoms: Iterable[Atom], model: Assignment) -> list[Symbol]:
    """The symbols that have another value in a model."""
    return [s for s in atoms if isinstance(s, Symbol) and not s.unbacked and model[s] != _plain(s)]


def _truth(relation: Bool, values: Any) -> bool | None:
    """The truth of a relation; None where it has none (a division by zero)."""
    try:
        return bool(evaluate(relation, values))
    except _UNDEFINED:
        return None
