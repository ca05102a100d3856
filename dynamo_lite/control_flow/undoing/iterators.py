"""Iterators in the variables of a frame that forks: each side moves a copy on, and an unmoved one stays itself.

No snapshot shows the position of an iterator, so one that is older than a side must not be moved on by it: `Watch`
finds the iterators that a side is about to use.
"""

from __future__ import annotations

import copy
import gc
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from dynamo_lite.control_flow.loops.counted import Counter
from dynamo_lite.control_flow.undoing.young_objects import Kept
from dynamo_lite.interpreter.frames.frame import Frame
from dynamo_lite.interpreter.frames.generators import give_up, make_waiting, suspended_frame, waits_in_block
from dynamo_lite.tracing.heap.iterator_types import ITERATORS, is_c_iterator

_SIMPLE = (*map(type, map(iter, ([], (), "", b"", range(0), range(1 << 70)))), type(reversed([])), reversed)
_COMPOUND = (enumerate, zip)
_DICTS = tuple(map(type, (iter({}), iter({}.values()), iter({}.items()), iter(set()))))
_COPIED = frozenset({*_SIMPLE, *_COMPOUND, *_DICTS})


def is_copied(value: Any) -> bool:
    """Whether a side gets a copy of this iterator, or of this generator of the program's."""
    if type(value) is types.GeneratorType:
        frame = suspended_frame(value)
        is_handling = frame is not None and frame.handled is not None and frame.handled.value is not None
        return frame is not None and not is_handling and not waits_in_block(frame)
    if type(value) in _COMPOUND:
        return all(type(part) is int or is_copied(part) for part in value.__reduce__()[1])
    return type(value) in _COPIED


def is_iterator(value: Any) -> bool:
    """Whether this is an iterator of Python's, or of a loop that is captured."""
    return type(value) in ITERATORS or isinstance(value, Counter)


def copied(value: Any, memo: dict[int, Any]) -> Any:
    """A copy that moves on by itself. memo: id → copy, so that what is shared stays shared."""
    made = memo.get(id(value))
    if made is None:
        made = memo[id(value)] = _copied(value, memo)
    return made


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    if type(value) is types.GeneratorType:
        return _copied_generator(value, memo)
    if type(value) in _COMPOUND:
        make, parts = value.__reduce__()[:2]
        return make(*[part if type(part) is int else copied(part, memo) for part in parts])
    if type(value) in _DICTS:
        return iter(_Rest(value))
    return copy.copy(value)


class _Rest(list[Any]):
    """What an iterator of a dict or set has left, for a copy. `of`: the iterator's type, and what it goes over."""

    def __init__(self, iterator: Any) -> None:
        super().__init__(iterator.__reduce__()[1][0])
        self.of = type(iterator), _goes_over(iterator)


def _goes_over(iterator: Any) -> tuple[int, ...]:
    return tuple(id(of) for of in gc.get_referents(iterator) if type(of) is not tuple)


def _copied_generator(value: Any, memo: dict[int, Any]) -> Any:
    """A generator of the program's: its frame is ours, and a new driver goes on where the old one waits."""
    old = suspended_frame(value)
    assert old is not None
    variables, stack = (
        [copied(item, memo) if is_copied(item) else item for item in part] for part in (old.locals, old.stack)
    )
    new = Frame(old.vm, old.code, old.info, old.globals, old.builtins, variables)
    new.stack[:] = stack
    new.pc, new.state, new.namespace = old.pc, old.state, old.namespace
    return make_waiting(new, value.__name__, value.__qualname__)


def position(value: Any) -> Any:
    """Another key after the iterator has been moved on; None for what is no iterator that a side copies."""
    if type(value) is types.GeneratorType:
        frame = suspended_frame(value)
        if frame is None:
            return None
        held = (*frame.locals, *frame.stack)
        return frame.pc, len(frame.stack), tuple(position(item) if is_copied(item) else id(item) for item in held)
    if type(value) in _COMPOUND:
        make, parts = value.__reduce__()[:2]
        return make, tuple(part if type(part) is int else position(part) for part in parts)
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
        self._known: dict[int, Any] = {}
        self._originals: list[Any] = []
        self._copies: list[Any] = []
        self._moved_within: list[Any] = []

    def copy_all(self, places: Sequence[tuple[list[Any], list[Any]]]) -> None:
        """Put copies of the iterators in `values` into `place`, for each (place, values)."""
        memo: dict[int, Any] = {}
        for place, values in places:
            for index, value in enumerate(values):
                if is_copied(value):
                    place[index] = copied(value, memo)
                    self._originals.append(value)
                    self._copies.append(place[index])
        self._known.update((id(made), made) for made in memo.values())

    def made(self, value: Any) -> None:
        """A native call of the side has made an iterator, or an object that the collector does not know."""
        self._known[id(value)] = value

    def may_use(self, value: Any) -> bool:
        """Whether a value is no iterator that is older than the side."""
        return not is_c_iterator(type(value)) or self.may_change(value)

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
        for kept in (self._known, self._originals, self._copies, self._moved_within):
            kept.clear()

    def holders(self) -> set[int]:
        """ids of the objects of ours that hold iterators."""
        return {id(kept) for kept in (self._known, self._originals, self._copies, self._moved_within)}

    def originals_moved(self) -> list[Any]:
        """The iterators in variables whose copies the side has moved on, itself or by a side within."""
        within = set(map(id, self._moved_within))
        return [one for one, made in self.pairs() if id(made) in within or position(one) != position(made)]

    def note_moved(self, values: Iterable[Any]) -> None:
        """A side within this one has moved on copies of these. What it leaves in variables are copies, too."""
        self._moved_within += values


def left_waiting(values: Iterable[Any]) -> bool:
    """Whether one of `values` is a generator or coroutine that would run a handler or `finally` when it dies, which is
    what it does when a side is undone. Such generators are given up."""
    found = False
    for value in values:
        kind = type(value)
        if kind is types.GeneratorType:
            frame = suspended_frame(value)
            if frame is not None and waits_in_block(frame):
                give_up(frame)
                found = True
        elif kind is types.CoroutineType and value.cr_suspended:
            found = True
    return found


_OURS = (types.FrameType, Watch, Kept, *_COMPOUND)


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
