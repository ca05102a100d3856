"""Sizes that the first call leaves in Python state, as the second trace finds them: any number at all.

`if self.n != x.shape[0]: self.n = x.shape[0]` keeps the size of the call before. The second trace begins with a new
symbol in its place. Each answer that depends on such a symbol is a branch; the trace is made again for the other one,
until every case is covered (`Cases`). If all of them record the program of the first trace and leave sizes in the same
places only, it is right whatever sizes the calls before had. Where that fails, the size becomes a constant
(persisted_sizes.py). A number of the data (`self.found = mask.nonzero().shape[0]`) has no example, and no symbol stands
for it: the second trace must write its place before anything looks there, as it must for a float or a bool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Final

import torch

from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, not_
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.tracing.effects.scratch_places import was_looked_at
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.later_calls.places import Place, place_of
from dynamo_lite.tracing.vocabulary.contents import attributes_of, items_of
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

_MOST_CASES = 6
_DEPTH = 8
_CLOSED = (str, bytes, type)
PREFIX = "s_kept"
"""How the symbols of sizes that an earlier call left are named."""


def symbolic(changes: Sequence[Change]) -> list[Any]:
    """The sizes of the run that the changes leave: SymInts (SymFloats, SymBools), and tensors of symbolic shape."""
    return symbolic_within([change.new for change in changes])


def symbolic_within(values: Sequence[Any]) -> list[Any]:
    """Return the symbolic values within eight objects of these. Each object is opened once, at its least depth.

    Cached objects of a library may lead to modules of Python code: too many paths for each to be followed.
    """
    found: list[Any] = []
    opened: dict[int, Any] = {}  # kept, so that an id is not used again
    level: list[Any] = [*values]
    for _ in range(_DEPTH + 1):
        below: list[Any] = []
        for value in level:
            if type(value) in SYMBOLIC or is_fake(value):
                if type(value) in SYMBOLIC or value._has_symbolic_sizes_strides:
                    found.append(value)
            elif not issubclass(type(value), _CLOSED) and id(value) not in opened:
                opened[id(value)] = value
                below.extend(_parts(value))
        level = below
    return found


def _parts(value: Any) -> list[Any]:
    kind = type(value)
    if issubclass(kind, dict):
        return [*dict.keys(value), *items_of(value)]
    if issubclass(kind, (list, tuple, set, frozenset)):
        return items_of(value)
    # What a run leaves in a module's names is a change of its own.
    return attributes_of(value) if not issubclass(kind, (torch.nn.Module, ModuleType)) else []


class FreeSizes:
    """The places of one trace's sizes. `fits` is False if one of them cannot hold a symbol.

    To be made once the trace is over; `place` then puts symbols of the next trace there, each time it begins.
    """

    def __init__(self, tracer: TracerView, changes: Sequence[Change]) -> None:
        self._env = tracer.recorder.env
        self.sizes: list[torch.SymInt] = []  # each place's, in order
        self.fits = True
        self._setters: list[Callable[[Any], None]] = []
        self.symbols: list[Symbol] = []
        self._symbol_set: frozenset[Symbol] = frozenset()
        self._unread: list[Change] = []  # those that leave a number for which no symbol stands
        for change in changes:
            if _is_unread_number(change):
                self._unread.append(change)
            else:
                self._find(change.new, place_of(change))

    def __bool__(self) -> bool:
        return bool(self.sizes)

    def _find(self, value: Any, place: Place | None) -> None:
        """Note the sizes in the value of one place: a size, or a list, tuple or dict with sizes in it."""
        if not symbolic_within([value]):
            return
        before = len(self.sizes)
        if place is None or not self._collect(value):
            self.fits = False
            return
        count = len(self.sizes) - before
        self._setters.append(lambda numbers: place.put(_rebuilt(value, iter(numbers[before : before + count]))))

    def _collect(self, value: Any) -> bool:
        if type(value) is torch.SymInt:
            self.sizes.append(value)
            return value.node.hint is not None
        if type(value) in (tuple, list, torch.Size):
            return all(self._collect(item) for item in value)
        if type(value) is dict:
            return all(self._collect(item) for item in value.values())
        return not symbolic_within([value])

    def hide(self) -> None:
        """Before each second trace: nothing of use is where it must not look."""
        for change in self._unread:
            change.owner.__dict__[change.key] = _LEFT

    def were_read(self, second: TracerView) -> bool:
        """Whether the second trace may have read the first one's value in such a place, or stores it there."""
        read = second.reads.read_first
        for owner, key in ((change.owner, change.key) for change in self._unread):
            namespace = owner.__dict__
            places = ((id(owner), key), (id(owner), "__dict__"), (id(namespace), key))
            if any(map(read.get, places)) or was_looked_at(second, owner, namespace, key):
                return True
            if namespace.get(key) is _LEFT:
                return True
        return False

    def place(self, recorder: Any, hints: Sequence[int]) -> None:
        """Put a new symbol of the recording that begins in each place, with these numbers as examples."""
        assert self._env is not None
        env = recorder.env
        numbers = []
        self.symbols = []
        for index, (size, hint) in enumerate(zip(self.sizes, hints)):
            lo, hi = self._env.core.bounds(self._env.unwrap(size))
            made = env.core.backed(hint, name=f"{PREFIX}{index}", lo=lo, hi=hi)
            self.symbols.extend(symbols_of(made))
            numbers.append(env.wrap(made))
        self._symbol_set = frozenset(self.symbols)
        for setter in self._setters:
            setter(numbers)

    def hints(self) -> list[int]:
        """The numbers of the example."""
        return [int(size.node.hint) for size in self.sizes]

    def about(self, relation: Bool) -> bool:
        """Whether a relation is about a size that an earlier call left."""
        return not self._symbol_set.isdisjoint(symbols_of(relation))

    def put_back(self) -> None:
        """The next second trace puts its own there."""

    def earlier(self, fingerprint: Any, prints: Any) -> Any:
        """Return the digests of the first trace: nothing in them has sizes of another call."""
        return prints

    def are_settled(self, again: Any) -> bool:
        """Each change was judged by itself."""
        return bool(again.rows_are_as_found())

    def leaves_other(self, change: Change, env: TorchShapeEnv) -> bool:
        """Whether a change of the second trace leaves another size where there was one, and nothing else."""
        return self._alike(change.old, change.new, env)

    def _alike(self, old: Any, new: Any, env: TorchShapeEnv) -> bool:
        if type(old) is torch.SymInt:
            free = env.unwrap(old).as_atom()
            if free not in self._symbol_set or type(new) not in (int, torch.SymInt):
                return False
            lo, hi = env.core.bounds(env.unwrap(new))
            return bool(free.lo <= lo and hi <= free.hi)
        if type(old) in (tuple, list, torch.Size) and type(new) is type(old):
            return len(old) == len(new) and all(self._alike(a, b, env) for a, b in zip(old, new))
        if type(old) is dict and type(new) is dict:
            return [*old] == [*new] and all(self._alike(a, b, env) for a, b in zip(old.values(), new.values()))
        return old is new or (type(old) is type(new) and isinstance(old, (int, float, str, bool)) and old == new)


_LEFT: Final = object()
"""A number that the first trace has read from data, as a second trace finds it."""


def _is_unread_number(change: Change) -> bool:
    """Whether an attribute is set to a number that no symbol of a second trace can represent."""
    value = change.new
    if change.part != "attributes" or type(value) not in SYMBOLIC:
        return False
    has_symbol = type(value) is torch.SymInt and value.node.hint is not None
    return not has_symbol and type(getattr(change.owner, "__dict__", None)) is dict


def _rebuilt(value: Any, numbers: Iterator[Any]) -> Any:
    """The value with the next of `numbers` for each size. Lists and dicts of the run are changed as they stand."""
    if type(value) is torch.SymInt:
        return next(numbers)
    if type(value) in (tuple, torch.Size):
        items = [_rebuilt(item, numbers) for item in value]
        return torch.Size(items) if type(value) is torch.Size else tuple(items)
    if type(value) is list:
        value[:] = [_rebuilt(item, numbers) for item in value]
    elif type(value) is dict:
        value.update({key: _rebuilt(item, numbers) for key, item in value.items()})
    return value


class Cases:
    """The cases that second traces have to cover. A case is a row of example numbers for the free sizes."""

    def __init__(self, first: Sequence[int]) -> None:
        self._open: list[tuple[int, ...]] = [tuple(first)]
        self._seen: set[tuple[str, ...]] = set()  # answers in words: each trace has symbols of its own
        self._count = 0

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        while self._open:
            yield self._open.pop()

    def covered(self, answers: Sequence[Bool], values: Mapping[Symbol, int], free: Sequence[Symbol]) -> bool:
        """Take in the answers of one trace, whose symbols had these values. False if a case was not found."""
        self._count += 1
        if self._count > _MOST_CASES:
            return False
        for end in range(len(answers)):
            self._seen.add(_words(answers[: end + 1]))
        for end, answer in enumerate(answers):
            other = (*answers[:end], not_(answer))
            if _words(other) in self._seen:
                continue
            found = _example(other, values, free)
            if found is None:
                return False
            self._seen.add(_words(other))
            self._open.append(found)
        return True


def _words(answers: Sequence[Bool]) -> tuple[str, ...]:
    return tuple(map(str, answers))


def _example(relations: Sequence[Bool], values: Mapping[Symbol, int], free: Sequence[Symbol]) -> tuple[int, ...] | None:
    """Numbers for the free sizes that make the relations true, if a few near ones do."""
    near = {number + step for number in (0, *values.values()) for step in (-1, 0, 1)}
    for symbol in free:
        for number in sorted(near | ({symbol.lo} if type(symbol.lo) is int else set())):
            changed = {**values, symbol: number}
            if symbol.lo <= number <= symbol.hi and all(evaluate(relation, changed) for relation in relations):
                return tuple(changed[s] for s in free)
    return None
