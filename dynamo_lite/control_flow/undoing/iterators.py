"""Iterators in the variables of a frame that forks: each side moves a copy on, and an unmoved one stays itself.

No snapshot shows the position of an iterator, so one that is older than a side must not be moved on by it: `Watch`
finds the iterators that a side is about to use.

A generator that waits within `try` or `with` runs code when it dies, as where a `for` over it is left. Nothing but the
variables of the side holds its copy, so that this code runs when the side drops it, and is part of the side.
"""

from __future__ import annotations

import copy
import gc
import types
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from dynamo_lite.control_flow.loops.counted import Counter
from dynamo_lite.control_flow.undoing.new_objects import KeptAlive
from dynamo_lite.interpreter.frames.frame import Frame
from dynamo_lite.interpreter.frames.generators import delegates, frame_of, give_up, make_waiting, waits_in_block
from dynamo_lite.tracing.heap.iterator_types import ITERATORS, is_c_iterator

_SIMPLE = (*map(type, map(iter, ([], (), "", b"", range(0), range(1 << 70)))), type(reversed([])), reversed)
_COMPOUND = (enumerate, zip, map, filter)
_DICTS = tuple(map(type, (iter({}), iter({}.values()), iter({}.items()), iter(set()))))
_COPIED = frozenset({*_SIMPLE, *_COMPOUND, *_DICTS})


def is_copied(value: Any) -> bool:
    """Whether a side gets a copy of this iterator, or of this generator of the program's."""
    if type(value) is types.GeneratorType:
        frame = frame_of(value)
        if frame is None or value.gi_running or (frame.handled is not None and frame.handled.value is not None):
            return False
        return not delegates(frame) or is_copied(frame.stack[-1])
    if type(value) in _COMPOUND:
        return all(type(part) is int or is_copied(part) for part in _parts(value)[1])
    return type(value) in _COPIED


def _parts(value: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a constructor of such an iterator from other iterators (and the start), and these."""
    make, parts = value.__reduce__()[:2]
    return (partial(make, parts[0]), parts[1:]) if make in (map, filter) else (make, parts)


def is_iterator(value: Any) -> bool:
    """Whether this is an iterator of Python's, or of a loop that is captured."""
    return type(value) in ITERATORS or isinstance(value, Counter)


def copied(value: Any, memo: dict[int, Any]) -> Any:
    """Return a copy that advances independently. memo: id → copy, so that shared objects stay shared."""
    made = memo.get(id(value))
    if made is None:
        made = memo[id(value)] = _copied(value, memo)
    return made


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    if type(value) is types.GeneratorType:
        return _copied_generator(value, memo)
    if type(value) in _COMPOUND:
        make, parts = _parts(value)
        return make(*[part if type(part) is int else copied(part, memo) for part in parts])
    if type(value) in _DICTS:
        return iter(_Rest(value))
    return copy.copy(value)


class _Rest(list[Any]):
    """The remaining items of an iterator of a dict or set, for a copy. `of`: the iterator's type, and its iterable."""

    def __init__(self, iterator: Any) -> None:
        super().__init__(iterator.__reduce__()[1][0])
        self.of = type(iterator), _goes_over(iterator)


def _goes_over(iterator: Any) -> tuple[int, ...]:
    return tuple(id(of) for of in gc.get_referents(iterator) if type(of) is not tuple)


def _copied_generator(value: Any, memo: dict[int, Any]) -> Any:
    """Copy a generator of the program: its frame is ours, and a new driver continues where the old one waits."""
    old = frame_of(value)
    assert old is not None
    variables, stack = (
        [copied(item, memo) if is_copied(item) else item for item in part] for part in (old.locals, old.stack)
    )
    new = Frame(old.vm, old.code, old.info, old.globals, old.builtins, variables)
    new.stack[:] = stack
    new.pc, new.state, new.namespace, new.taken = old.pc, old.state, old.namespace, old.taken
    return make_waiting(new, value.__name__, value.__qualname__)


def runs_at_its_end(value: Any) -> Iterator[Any]:
    """The generators that a copied value is, or holds, whose code runs when they die."""
    if type(value) is types.GeneratorType:
        frame = frame_of(value)
        if frame is not None:
            if waits_in_block(frame):
                yield value
            for held in (*frame.locals, *frame.stack):
                if is_copied(held):
                    yield from runs_at_its_end(held)
    elif type(value) in _COMPOUND:
        for part in _parts(value)[1]:
            yield from runs_at_its_end(part)


def position(value: Any) -> Any:
    """Return a key that changes when the iterator is advanced; None for a value that a side does not copy."""
    if type(value) is types.GeneratorType:
        frame = frame_of(value)
        if frame is None:
            return None
        held = (*frame.locals, *frame.stack)
        return frame.pc, len(frame.stack), tuple(position(item) if is_copied(item) else id(item) for item in held)
    if type(value) in _COMPOUND:
        _, parts = _parts(value)
        return type(value), tuple(part if type(part) is int else position(part) for part in parts)
    if type(value) in _DICTS:
        return type(value), _goes_over(value), value.__length_hint__()
    if type(value) in _SIMPLE:
        return _sequence_position(value.__reduce__())
    return None


def _sequence_position(reduced: Any) -> Any:
    """A key for what `__reduce__` gave: the sequence by identity (a range by value), the position by value."""
    make, (of, *_), *state = reduced
    if type(of) is _Rest:
        return *of.of, len(of) - state[0]
    sequence: Any = ("range", of.start, of.stop, of.step) if type(of) is range else id(of)
    if not state and type(of) in (tuple, list, str, bytes) and not of:
        sequence = "exhausted"
    return make, sequence, tuple(item for item in state if type(item) is int)


class Watch:
    """The iterators that one side may move on: copies of those in the variables of the frame, and its own."""

    def __init__(self, is_older: Callable[[Any], bool]) -> None:
        self._is_older = is_older
        self._known: set[int] = set()  # (the id of one that is gone can only be a younger one's)
        self._waiting: list[Any] = []  # generators whose code runs when they die, each once,
        self._weakly: list[weakref.ref[Any]] = []  # and their copies
        self._lists: set[int] = set()  # ids of what the frames of generators that are copied hold values in
        self._originals: list[Any] = []
        self._copies: list[Any] = []
        self._held: list[Any] = []  # iterators that copied ones go over,
        self._held_copies: list[Any] = []  # and their copies
        self._moved_within: list[Any] = []
        self.shared: list[Any] = []  # iterators without copies that a loop of the side has moved on

    def copy_all(self, places: Sequence[tuple[list[Any], list[Any]]]) -> None:
        """Put copies of the iterators in `values` into `place`, for each (place, values)."""
        memo: dict[int, Any] = {}
        for place, values in places:
            for index, value in enumerate(values):
                if is_copied(value):
                    place[index] = copied(value, memo)
                    waiting = [*runs_at_its_end(value)]
                    for one in waiting:
                        if not any(one is other for other in self._waiting):
                            self._waiting.append(one)
                            self._weakly.append(weakref.ref(memo[id(one)]))
                    if not waiting:
                        self._originals.append(value)
                        self._copies.append(place[index])
                    self._note_held(value, {} if waiting else memo)
        self._known.update(map(id, memo.values()))

    def _note_held(self, value: Any, memo: dict[int, Any]) -> None:
        frame = frame_of(value)
        if frame is not None:
            self._lists |= {id(frame.locals), id(frame.stack)}
        held = (*frame.locals, *frame.stack) if frame is not None else ()
        for part in _parts(value)[1] if type(value) in _COMPOUND else held:
            if is_copied(part):
                if id(part) in memo:
                    self._held.append(part)
                    self._held_copies.append(memo[id(part)])
                self._note_held(part, memo)

    def waits(self) -> bool:
        """Whether a generator of which the side has a copy runs code when it dies."""
        return bool(self._waiting)

    def is_copied(self, frame: Frame) -> bool:
        """Whether the generator of this frame is one of these."""
        return any(frame_of(one) is frame for one in self._waiting)

    def settle(self) -> tuple[set[int], list[weakref.ref[Any]]]:
        """Return (ids of the frames of iterators whose copies the side has closed, or run on to their end or out of the
        block; the copies at an unchanged position). Nothing of the latter runs any more."""
        over, same = set(), []
        for original, weak in zip(self._waiting, self._weakly):
            copy = weak()
            frame = frame_of(copy)
            if frame is None or not (waits_in_block(frame) or position(copy) == position(original)):
                over.add(id(frame_of(original)))
            elif position(copy) == position(original):
                same.append((frame, weak))
        for frame, _ in same:
            give_up(frame)
        return over, [weak for _, weak in same]

    def on_made(self, value: Any) -> None:
        """A native call of the side has made an iterator, or an object that the collector does not know."""
        self._known.add(id(value))

    def may_use(self, value: Any) -> bool:
        """Whether a value is not an iterator older than the side."""
        return not is_c_iterator(type(value)) or self.may_change(value)

    def moves_again(self, iterator: Any, moved: list[Any]) -> bool:
        """Whether a loop of the side moves on an iterator without a copy that a side, undone since, has moved on.
        One side may, once, where the loop ends on it."""
        if self.may_use(iterator):
            return False
        self.shared.append(iterator)
        return any(iterator is one for one in moved)

    def may_change(self, value: Any) -> bool:
        """Whether the side has made, or copied, a value whose state no snapshot shows."""
        return id(value) in self._known or not self._is_older(value)

    def copies(self) -> list[Any]:
        """The copies of iterators in variables."""
        return self._copies

    def pairs(self) -> Iterator[tuple[Any, Any]]:
        """Each iterator in a variable, and its copy."""
        return zip(self._originals, self._copies)

    def forget(self) -> None:
        """The side is over."""
        for kept in (*self._kept(), self._weakly):
            kept.clear()

    def holders(self) -> set[int]:
        """ids of the objects of ours that hold iterators."""
        return {*map(id, self._kept())} | self._lists

    def _kept(self) -> tuple[list[Any], ...]:
        return self._originals, self._copies, self._held, self._held_copies, self._moved_within, self._waiting

    def originals_moved(self) -> list[Any]:
        """The iterators, in variables or in other iterators, whose copies the side has moved on, itself or by a side
        within."""
        within = set(map(id, self._moved_within))
        waiting = ((one, weak()) for one, weak in zip(self._waiting, self._weakly))
        pairs = [*self.pairs(), *zip(self._held, self._held_copies), *waiting]
        return [one for one, made in pairs if id(made) in within or position(one) != position(made)]

    def note_moved(self, values: Iterable[Any]) -> None:
        """Record that a side within this one has advanced copies of these. It leaves copies in variables, too."""
        self._moved_within += values


def left_waiting(values: Iterable[Any]) -> bool:
    """Whether one of `values` is a generator or coroutine that would run a handler or `finally` when it dies, which
    happens when a side is undone. Such generators are disabled."""
    found = False
    for value in values:
        kind = type(value)
        if kind is types.GeneratorType:
            frame = frame_of(value)
            if frame is not None and waits_in_block(frame):
                give_up(frame)
                found = True
        elif kind is types.CoroutineType and value.cr_suspended:
            found = True
    return found


_OURS = (types.FrameType, Watch, KeptAlive, *_COMPOUND)


def is_held_elsewhere(value: Any, own: Collection[int], owners: Iterable[Any]) -> bool:
    """Whether anybody else than the lists with the ids `own` holds an iterator. owners: objects older than the run that
    the program wrote to, at which the collector does not look."""
    holders = gc.get_referrers(value)
    for holder in holders:
        if id(holder) in own or type(holder) in _OURS:
            continue
        if type(holder) is not tuple:
            return True
        for outer in gc.get_referrers(holder):  # nothing holds the arguments of a running call
            if outer is not holders and type(outer) not in _OURS:
                return True
    for owner in owners:  # no generator expression, which would hold the value
        for held in gc.get_referents(owner):
            if held is value:
                return True
    return False
