"""Tensors with sizes of the inputs that the first call stores in Python state, as the second trace finds them.

`if n > self.n: self.table, self.n = torch.arange(n), n` stores a table, and its length. A later call finds the state
after a call with other sizes. So the second trace begins with symbols of its own for the sizes of the call before, and
with tensors of these sizes, whose values are those of the first trace, with these symbols in place of its sizes. It
must end with all such places as it found them, or with all of them as the first trace left them: then, by induction,
each call finds there the state after one call before it. Places of different sizes (one of the length of the encoder's
input, another of the decoder's) are judged separately: no symbol is in both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from dynamo_lite.symbolic_shapes.expressions.expr import Atom, Int, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, eq
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.torch_env.inputs import strided_fake
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.later_calls.free_sizes import PREFIX, symbolic_within
from dynamo_lite.tracing.later_calls.places import place_of
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

if TYPE_CHECKING:
    from dynamo_lite.capture.comparison.fingerprint import Fingerprint


class KeptTables:
    """The places of one trace's tensors and sizes. `fits` is False if one of them can hold no other value.

    To be made once the trace is over; `place` then puts the fake values of the next trace there, each time it begins.
    """

    def __init__(self, tracer: TracerView, changes: Sequence[Change], prints: Fingerprint) -> None:
        self._env, self._prints = tracer.recorder.env, prints
        self._sizes: dict[Atom, None] = {}  # what the sizes are made of
        self._atoms_of: dict[int, frozenset[Atom]] = {}  # the same of each value, by its id
        self._spare: dict[Atom, int] = {}  # how many rows more the tables of a size have at least
        self._mapping: dict[Atom, Int] = {}
        self._second: Any = None
        self.symbols: list[Symbol] = []
        found = [(place_of(change), change.new) for change in changes if symbolic_within([change.new])]
        self.fits = all(place is not None and self._collect(value) for place, value in found)
        for rows in prints.stored.rows.values():
            for extent in rows.extents:
                self._sizes.update(dict.fromkeys(sorted(extent.atoms(), key=str)))
        self._left = [(place, value) for place, value in found if place is not None]
        self._placed: list[Any] = []
        self._groups = self._of_the_same_sizes()

    def _of_the_same_sizes(self) -> list[list[int]]:
        """The indices of the places, those with a size in common together."""
        groups: list[tuple[frozenset[Atom], list[int]]] = []
        for index, (_, value) in enumerate(self._left):
            atoms, members = self._atoms_in(value), [index]
            if self._prints.stored.rows:  # of all sizes
                atoms = frozenset(self._sizes)
            for group in [*groups]:
                if not atoms.isdisjoint(group[0]):
                    groups.remove(group)
                    atoms, members = atoms | group[0], [*group[1], *members]
            groups.append((atoms, members))
        return [members for _, members in groups]

    def _atoms_in(self, value: Any) -> frozenset[Atom]:
        parts = map(self._atoms_in, value) if type(value) is tuple else ()
        return self._atoms_of.get(id(value), frozenset()).union(*parts)

    def _collect(self, value: Any) -> bool:
        if type(value) is tuple:
            return all(map(self._collect, value))
        if type(value) is torch.SymInt and self._env is not None:
            atoms = set(self._env.core.simplify(self._env.unwrap(value)).atoms())
        elif _is_table(value):
            found = self._prints.sizes_in(value)
            if found is None:
                return False
            atoms = found
            self._note_spare_rows(value)
        else:
            return not symbolic_within([value])
        self._atoms_of[id(value)] = frozenset(atoms)
        self._sizes.update(dict.fromkeys(sorted(atoms, key=str)))
        return not any(symbol.unbacked for atom in atoms for symbol in symbols_of(atom))

    def _note_spare_rows(self, table: torch.Tensor) -> None:
        assert self._env is not None
        for size in table.shape:
            if type(size) is torch.SymInt:
                expression = self._env.core.simplify(self._env.unwrap(size))
                for atom in expression.atoms():
                    more = max(expression.const, 0) if expression == atom.as_int() + expression.const else 0
                    self._spare[atom] = min(self._spare.get(atom, more), more)

    def hints(self) -> list[int]:
        """The numbers of the example."""
        assert self._env is not None
        return [int(self._env.hint_of(atom.as_int())) for atom in self._sizes]

    def place(self, recorder: Any, hints: Sequence[int]) -> None:
        """Put the fake values of the new recording in each place, with these numbers as examples of the sizes."""
        assert self._env is not None
        self._second = env = recorder.env
        self._mapping, self.symbols = {}, []
        for index, (atom, hint) in enumerate(zip(self._sizes, hints)):
            lo, hi = self._env.core.bounds(atom.as_int())
            spare = self._spare.get(atom, 0)
            too_short = int(self._env.hint_of(atom.as_int())) - spare - 1
            lo = min(lo, max(too_short, -spare))  # the shortest input has to find a table that is too short as well
            made = env.core.backed(hint, name=f"{PREFIX}{index}", lo=lo, hi=hi)
            self._mapping[atom] = made
            self.symbols.extend(symbols_of(made))
        known: dict[int, torch.Tensor] = {}
        self._placed = [self._placed_value(value, recorder, known) for _, value in self._left]
        for (place, _), value in zip(self._left, self._placed):
            place.put(value)

    def put_back(self) -> None:
        """After each second trace: the first one's values are there again."""
        for place, value in self._left:
            place.put(value)

    def _placed_value(self, value: Any, recorder: Any, known: dict[int, torch.Tensor]) -> Any:
        if type(value) is tuple:
            return tuple(self._placed_value(item, recorder, known) for item in value)
        if type(value) is torch.SymInt:
            return recorder.env.wrap(self._now(value))
        if not _is_table(value):
            return value
        if id(value) not in known:
            layout = value.shape, value.stride()
            shape, strides = ([self._wrapped(recorder.env, size) for size in sizes] for sizes in layout)
            made = strided_fake(recorder.fake_mode, shape, strides, value.dtype, value.device)
            recorder.carry(made, self._prints.recorder.node_of(value))
            known[id(value)] = made
        return known[id(value)]

    def _wrapped(self, env: Any, size: Any) -> Any:
        return env.wrap(self._now(size)) if type(size) is torch.SymInt else size

    def _now(self, size: torch.SymInt) -> Int:
        """A size of the first trace, of the call whose state the second trace finds."""
        assert self._env is not None
        return self._of_kept(self._env.core.simplify(self._env.unwrap(size)))

    def _of_kept(self, expression: Any) -> Any:
        return substitute(expression, self._mapping)

    def earlier(self, fingerprint: Callable[..., Fingerprint], prints: Fingerprint) -> Fingerprint:
        """Return the digests of the first trace, as of the call whose state the second trace finds. fingerprint: makes
        them, given the values of sizes. prints: as of its own call."""
        env = self._second
        return fingerprint(sizes=lambda expression: env.core.simplify(self._of_kept(expression)))

    def about(self, relation: Bool) -> bool:
        """Whether a relation is about a size that an earlier call left."""
        return not symbols_of(relation).isdisjoint(self.symbols)

    def hide(self) -> None:
        """Nothing is in its place that may not be looked at."""

    def were_read(self, second: TracerView) -> bool:
        """Nothing that may not be looked at was."""
        return False

    def leaves_other(self, change: Change, env: Any) -> bool:
        """Whether a change of the second trace is one of these places, which `are_settled` judges together."""
        return any(place.is_of(change) for place, _ in self._left)

    def are_settled(self, again: Fingerprint) -> bool:
        """Whether the second trace, which is over, has left all places as they were, or all as the first trace did."""
        if not self._groups:
            return again.rows_are_as_found() or again.rows_are(self._prints)
        return all(self._is_settled(again, group) for group in self._groups)

    def _is_settled(self, again: Fingerprint, group: Sequence[int]) -> bool:
        rows = [(self._left[index][0].value(), self._placed[index], self._left[index][1]) for index in group]
        if again.rows_are_as_found() and all(self._are_equal(again, now, again, found) for now, found, _ in rows):
            return True
        return again.rows_are(self._prints) and all(self._are_equal(again, now, self._prints, b) for now, _, b in rows)

    def _are_equal(self, prints: Fingerprint, one: Any, others: Fingerprint, other: Any) -> bool:
        if type(one) is tuple and type(other) is tuple:
            return len(one) == len(other) and all(self._are_equal(prints, a, others, b) for a, b in zip(one, other))
        if _is_size(one) and _is_size(other):
            a, b = self._second.unwrap(one), self._in_second(others, other)
            return bool(a is b) or self._second.memo.decide(eq(a, b)) is True
        if is_fake(one) and is_fake(other):
            return bool(prints.value(one) == others.value(other))
        return one is other

    def _in_second(self, prints: Fingerprint, size: Any) -> Any:
        """The expression of a size in the second trace, whose symbols have the names of the first trace's."""
        if prints.recorder.env is self._second or type(size) is int:
            return self._second.unwrap(size)
        assert self._env is not None
        expression = self._env.core.simplify(self._env.unwrap(size))
        ours = self._second.core.symbols
        return substitute(expression, {symbol: ours[symbol.name].as_int() for symbol in symbols_of(expression)})


def has_tables(changes: Sequence[Change], prints: Fingerprint) -> bool:
    """Whether changes leave tensors with sizes of the inputs, or the program leaves rows of such tables in a buffer."""
    if any(rows.family is not None for rows in prints.stored.rows.values()):
        return True
    return any(map(_is_table, symbolic_within([change.new for change in changes])))


def _is_table(value: Any) -> bool:
    is_one = is_fake(value) and value._has_symbolic_sizes_strides
    is_plain = is_one and value.layout is torch.strided and not (value.is_conj() or value.is_neg())
    return is_plain and not value.requires_grad


def _is_size(value: Any) -> bool:
    return type(value) in (int, torch.SymInt)
