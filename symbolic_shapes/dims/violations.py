"""Checks that the guards of a trace admit all that each input dimension's spec promises, and describes violations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dynamo_lite.symbolic_shapes.dims.specs import Auto, DimSpec, Dynamic, Named
from dynamo_lite.symbolic_shapes.dims.suggestions import Suggestion, suggest
from dynamo_lite.symbolic_shapes.dims.symbols import DimTable
from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.expressions.expr import INF, Extended, Int, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.floats import has_unknown_float
from dynamo_lite.symbolic_shapes.expressions.intervals import Interval
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, Rel, eq, eq_zero, ge
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.proofs.facts import Fact, Origin
from dynamo_lite.symbolic_shapes.size_guards.admissible_range import reach_of
from dynamo_lite.symbolic_shapes.size_guards.codegen import GuardLine, guard_lines
from dynamo_lite.symbolic_shapes.size_guards.explain import explain_line
from dynamo_lite.symbolic_shapes.size_guards.guard_set import SizeGuard, SizeGuardSet
from dynamo_lite.symbolic_shapes.size_guards.reformulations import as_residue
from dynamo_lite.symbolic_shapes.size_guards.simplify import simplify

RANKS = {Auto: 1, Dynamic: 2, Named: 3}
"""Of two dimensions that an equality relates, the one with the lower rank follows the other."""


_RAISING = frozenset({"Dim spec", "torch._check", "division"})
"""Kinds of origins: assertions of the program, and conditions of Python itself."""

FEW = 2
"""A spec without `min` does not promise tensors with no or one element along the dimension: most operators have no
meaning there, and no spec requires it. So a program may demand a size of up to this, as with torch.export, or that it
is not 0 or 1; that is a guard. (A `min` that only keeps derived dimensions from being negative does not count.)"""


@dataclass(frozen=True, eq=False)
class Violation:
    """A dimension for which the program does not admit its spec.

    `kind` is "specialised", "range", "related" (follows another dimension), "divisibility" or "other".
    """

    kind: str
    symbol: Symbol
    guards: tuple[SizeGuard, ...]
    message: str
    origins: tuple[Fact, ...]

    def __str__(self) -> str:
        return "\n".join([self.message, *dict.fromkeys(_because(fact.origin) for fact in self.origins)])


def _because(origin: Origin) -> str:
    """The program's line; of a library's line the user's own line first, which has called it."""
    own = origin.own_call()
    if own is None:
        return f"      because of {origin}"
    line = f"user line {own.filename}:{own.lineno} `{own.source}`"
    return f"      because of {line}\n        in {replace(origin, kind='line')}"


@dataclass(frozen=True, eq=False)
class Solution:
    """The guards of a trace, against the specs of its input dimensions."""

    table: DimTable
    guard_set: SizeGuardSet
    violations: tuple[Violation, ...]
    _suggestion: list[Suggestion | None] = field(default_factory=list, repr=False)

    @property
    def ranges(self) -> dict[Symbol, Interval]:
        """The range of each symbol that is left."""
        return {s: self.guard_set.range_of(s.as_int()) for s in self.guard_set.kept_symbols}

    @property
    def sizes(self) -> tuple[Int, ...]:
        """The size of each input dimension in the symbols that are left."""
        return tuple(self.guard_set.size_of(size) for size in self.table.sizes)

    @property
    def raised(self) -> list[str]:
        """Lower ends that the program demands of named dimensions whose spec has none: no violations (`FEW`)."""
        table, guard_set = self.table, self.guard_set
        notes, declared = [], set(table.symbols())
        for symbol in guard_set.kept_symbols:
            spec = table.spec_of(symbol) if symbol in declared else None
            lo, hi = guard_set.own_range(symbol)
            if not isinstance(spec, Named):
                continue
            if spec.hi == INF and hi < INF:
                notes.append(f"{table.labels[symbol]} <= {hi} is demanded by the program, as it is in eager")
            least, start = table.edges(symbol, FEW)
            if spec.lo <= least and spec.lo < lo <= start:
                notes.append(f"{table.labels[symbol]} >= {lo} is demanded by the program")
            if spec.lo <= least:
                own = [g for g in guard_set.about(symbol) if g.kind != "range"]
                notes += [f"{table.in_words(g.relation)} is demanded by the program" for g in own]
        return notes

    @property
    def suggestion(self) -> Suggestion | None:
        """New specs that were seen to solve; None if there is no violation, or no fix was found."""
        if not self._suggestion:
            self._suggestion.append(suggest(self, solve) if self.violations else None)
        return self._suggestion[0]

    def guards_as_code(self) -> list[str]:
        """Python expressions over the inputs, to be tried in order: all are true exactly where the program is right.
        Symbols that no spec made (the caller's own, with a source) are written by their source."""
        return [line.text for line in self.guard_lines()]

    def guard_lines(self, source_text: Callable[[Any], str] = str) -> list[GuardLine]:
        """The same with the guards that each line states: none if the specs imply the line."""
        sources = {s: source_text(s.source) for s in self.guard_set.symbols if s.source is not None}
        sources |= self.table.sources()
        signed = frozenset(self.table.symbols()) - self.table.unsigned()
        structure = [GuardLine(text, ()) for text in self.table.structure()]
        return [*structure, *guard_lines(self.guard_set, sources, signed=signed)]

    def explain(self, line: GuardLine) -> str:
        """Why a line of `guard_lines` has to be checked: the program's lines and operators, the Dim specs."""
        labels = self.table.labels
        text = explain_line(self.guard_set, line, lambda s: labels.get(s, str(s)))
        return text or f"{line.text}: by the specs of the dimensions"

    def report(self) -> str:
        """The violations and the fix, for people (and for torch's refine_dynamic_shapes_from_suggested_fixes)."""
        if not self.violations:
            return "Every dimension conforms to its spec."
        lines = ["The program does not admit all the sizes that its dynamic_shapes promise:"]
        lines += [f"  - {violation}" for violation in self.violations]
        fix = self.suggestion
        if fix is None:
            return "\n".join([*lines, "No change of the specs was found that the program admits."])
        return "\n".join([*lines, "Suggested fixes:", *(f"  {line}" for line in fix.lines)])


def _of_run_time(relation: Bool) -> bool:
    return any(s.unbacked for s in symbols_of(relation)) or has_unknown_float(relation)


def solve(table: DimTable, facts: Sequence[Fact]) -> Solution:
    """Simplify the facts about the inputs and compare them with the specs. Facts about unbacked symbols are left out:
    see runtime_asserts. ContradictoryFacts if the facts cannot hold together."""
    ranks = {s: RANKS[type(table.spec_of(s))] for s in table.symbols()}
    about_inputs = [f for f in facts if not _of_run_time(f.relation)]
    about_inputs += [few for fact in about_inputs for few in _few_left_out(table, fact)]
    guard_set = simplify(about_inputs, table.symbols(), rank=lambda s: ranks.get(s, 0))
    return Solution(table, guard_set, tuple(_Check(table, guard_set).violations()))


def _few_left_out(table: DimTable, fact: Fact) -> list[Fact]:
    """States that sizes are large enough for an equation between named dimensions to be linear, if no spec requires
    small ones (`FEW`): `c == max(b - 2, 0)` is `c == b - 2` from 2 on, a relation that a derived dimension states."""
    relation = fact.relation
    if not isinstance(relation, Rel) or relation.kind != "eq" or len(symbols_of(relation)) != 2:
        return []
    starts: dict[Symbol, int] = {}
    for symbol in {s for atom in relation.poly.atoms() if not isinstance(atom, Symbol) for s in symbols_of(atom)}:
        spec = table.spec_of(symbol) if symbol in table.symbols() else None
        least, start = table.edges(symbol, FEW)
        if not isinstance(spec, Named) or spec.lo > least:
            return []
        starts[symbol] = start
    large = {s: Symbol(f"{s}_large", 0, INF) for s in starts}
    linear = substitute(relation.poly, {s: large[s].as_int() + start for s, start in starts.items()})
    if not starts or not _is_linear(linear):
        return []
    linear = substitute(linear, {large[s]: s.as_int() - start for s, start in starts.items()})
    relations = [*(ge(s.as_int(), start) for s, start in starts.items()), eq_zero(linear)]
    return [Fact(fact.index, relation, fact.origin, fact.kind) for relation in relations]


def _is_linear(poly: Int) -> bool:
    return all(len(mono) == 1 and isinstance(mono[0], Symbol) for mono in poly.terms)


class _Check:
    """Holds a guard set against the specs."""

    def __init__(self, table: DimTable, guard_set: SizeGuardSet) -> None:
        self.table, self.guard_set = table, guard_set
        self.specs: dict[Symbol, DimSpec] = {s: table.spec_of(s) for s in table.symbols()}
        self.strict = {s for s, spec in self.specs.items() if isinstance(spec, Named)}

    def violations(self) -> list[Violation]:
        found = []
        for symbol, spec in self.specs.items():
            if isinstance(spec, Named | Dynamic):
                image = self.guard_set.images.get(symbol)
                if image is not None:
                    found += self._replaced(symbol, image)
                elif isinstance(spec, Named):
                    found += self._restricted(symbol, spec)
        return found + self._related({guard for violation in found for guard in violation.guards})

    def _related(self, told: set[SizeGuard]) -> list[Violation]:
        """Guards that relate named dimensions to one another, which no spec states, unless eager raises an error for
        sizes that break them. A linear inequality alone is checked by the call. told: guards already reported.
        """
        found = []
        for guard in self.guard_set.guards:
            symbols = sorted(symbols_of(guard.relation) & self.specs.keys(), key=lambda s: s.id)
            if guard.kind == "equality" or guard in told or len(symbols) < 2 or not self.strict.issuperset(symbols):
                continue
            if isinstance(guard.relation, Rel) and guard.relation.kind == "le" and _is_linear(guard.relation.poly):
                continue
            if not self._are_promised(symbols, guard.relation) or self._eager_raises(guard.relation):
                continue
            names = " and ".join(map(self._name, symbols))
            text = f"{names}: {self._words(guard.relation)} must hold"
            found.append(self._violation("other", symbols[0], [guard], text))
        return found

    def _are_promised(self, symbols: Sequence[Symbol], relation: Bool) -> bool:
        """Whether there are sizes among those promised for which a relation does not hold."""
        env = ShapeEnv()
        for symbol in symbols:
            spec, (least, start) = self.specs[symbol], self.table.edges(symbol, FEW)
            assert isinstance(spec, Named)
            lowest = max(spec.lo, start) if spec.lo <= least else spec.lo
            if isinstance(lowest, int):
                env.add_fact(ge(symbol.as_int(), lowest))
            if isinstance(spec.hi, int):
                env.add_fact(ge(spec.hi - symbol.as_int(), 0))
        return env.decide(relation).verdict is not True

    def _replaced(self, symbol: Symbol, image: Int) -> list[Violation]:
        """A symbol that an equality does away with."""
        guards = [g for g in self.guard_set.guards if g.kind == "equality" and g.symbol is symbol]
        name, spec = self._name(symbol), self.specs[symbol]
        if not image.terms:
            if isinstance(spec, Named) and self._is_all_promised(symbol, spec, image.const):
                return []
            text = f"{name}: the program only works for {image.const}"
            if image.const in (0, 1) and symbol not in self.table.integers():
                text += " (operators treat sizes of 0 and 1 apart: give an example of 2 or more)"
            return [self._violation("specialised", symbol, guards, text)]
        if not isinstance(spec, Named):
            return []
        linear = as_linear(image)
        if linear is not None and linear[1] in self.strict:
            text = f"{name}: must always be {self._words(image)}, with {self._name(linear[1])}"
            return [self._violation("related", symbol, guards, text)]
        # A relation of more dimensions is a guard, as between the others, except for its effect on this one alone.
        return self._narrowed(symbol, spec, image, guards)

    def _is_all_promised(self, symbol: Symbol, spec: Named, value: int) -> bool:
        """Whether a value is the only one of a range that is not too small to be promised (`FEW`)."""
        least, start = self.table.edges(symbol, FEW)
        return spec.lo <= least and value == spec.hi and start >= value

    def _restricted(self, symbol: Symbol, spec: Named) -> list[Violation]:
        """A named dimension of its own: are all values of its range admitted?"""
        found = self._narrowed(symbol, spec, symbol.as_int())
        least, start = self.table.edges(symbol, FEW)
        for guard in self.guard_set.about(symbol):
            if guard.kind == "range" or as_residue(guard.relation):
                continue
            if spec.lo > least or not _holds_from(start, symbol, guard.relation):
                kind = "divisibility" if guard.kind == "divisibility" else "other"
                text = f"{self._name(symbol)}: {self._words(guard.relation)} must hold"
                found.append(self._violation(kind, symbol, [guard], text))
        return found

    def _narrowed(self, symbol: Symbol, spec: Named, size: Int, because: Sequence[SizeGuard] = ()) -> list[Violation]:
        """A named dimension whose range the guards together narrow (`Reach`): an end that moves in, a residue."""
        reach = reach_of(self.guard_set, size)
        least, start = self.table.edges(symbol, FEW)
        from_ = max(spec.lo, start) if spec.lo <= least else spec.lo
        found, ends = [], []
        lo, hi = spec.lo, spec.hi
        if reach.lo > reach.first(from_):
            lo, ends = reach.lo, [reach.lower_end()]
        if reach.hi < reach.last(spec.hi) and not (spec.hi == INF and self._eager_raises(reach.upper_end())):
            hi, ends = reach.hi, [*ends, reach.upper_end()]
        guards = self._reasons(ends, because)
        if guards:
            text = f"{self._name(symbol)}: {bounds_words(self._label(symbol), lo, hi, spec)} must hold"
            found.append(self._violation("range", symbol, guards, text))
        guards = self._reasons([reach.residue()] if reach.m > 1 else [], because)
        if guards and not _holds_from(from_, symbol, eq(symbol.as_int() % reach.m, reach.r)):
            text = f"{self._name(symbol)}: {self._label(symbol)} % {reach.m} == {reach.r} must hold"
            found.append(self._violation("divisibility", symbol, guards, text))
        return found

    def _eager_raises(self, relation: Bool) -> bool:
        """Whether all that a relation follows from is checked by operators in eager as well."""
        facts = [fact for guard in self.guard_set.resting_on(relation) for fact in self.guard_set.origins(guard)]
        return bool(facts) and all(fact.origin.eager_raises or fact.origin.kind in _RAISING for fact in facts)

    def _reasons(self, relations: Sequence[Bool], because: Sequence[SizeGuard]) -> list[SizeGuard]:
        """The guards that the relations follow from, and `because`; none if there is no relation."""
        found = dict.fromkeys(g for relation in relations for g in self.guard_set.resting_on(relation))
        return [*dict.fromkeys([*because, *found])] if relations else []

    def _violation(self, kind: str, symbol: Symbol, guards: list[SizeGuard], message: str) -> Violation:
        origins = dict.fromkeys(f for g in guards for f in self.guard_set.origins(g))
        return Violation(kind, symbol, tuple(guards), message, tuple(origins))

    def _words(self, node: Int | Bool) -> str:
        return self.table.in_words(node)

    def _label(self, symbol: Symbol) -> str:
        return self.table.labels[symbol]

    def _name(self, symbol: Symbol) -> str:
        spec = self.specs[symbol]
        return f"{self._label(symbol)} ({spec.to_python()})"


def _holds_from(least: Extended, symbol: Symbol, relation: Bool) -> bool:
    """Whether a relation of one symbol holds for all sizes from `least` on."""
    env = ShapeEnv()
    if isinstance(least, int):
        env.add_fact(ge(symbol.as_int(), least))
    return env.decide(relation).verdict is True


def as_linear(image: Int) -> tuple[int, Symbol, int] | None:
    """(a, s, b) if an expression is a*s + b."""
    if len(image.terms) != 1:
        return None
    (mono, a), = image.terms.items()
    return (a, mono[0], image.const) if len(mono) == 1 and isinstance(mono[0], Symbol) else None


def bounds_words(label: str, lo: object, hi: object, spec: Named) -> str:
    """`x.shape[0] >= 4`: the ends that are not the spec's."""
    parts = [f"{label} >= {lo}"] if lo != spec.lo else []
    parts += [f"{label} <= {hi}"] if hi != spec.hi else []
    return " and ".join(parts)
