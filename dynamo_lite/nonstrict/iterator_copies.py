"""Iterators that existed before the run: the run advances copies of them, if each place that holds one can be set.

An iterator cannot be rewound. One held by a tuple, a bound method or another iterator is advanced itself, as is one
that cannot be copied (a generator).
"""

from __future__ import annotations

import collections
import warnings
from collections.abc import Callable, Iterator
from types import CellType, GeneratorType
from typing import Any, NamedTuple

from dynamo_lite.nonstrict.opaque_state import HiddenState, position
from dynamo_lite.nonstrict.reachability import Reachable
from dynamo_lite.tracing.heap.iterator_types import is_c_iterator, reduced
from dynamo_lite.tracing.heap.journal import Journal
from dynamo_lite.tracing.heap.snapshots import Snapshot

_MISSING: Any = object()


class _CopyPlace(NamedTuple):
    """A copy in the place of an iterator: `owner` holds it under `key`."""

    owner: Any
    key: Any
    copy: Any
    original: Any


class _NoCopy(Exception):
    """An iterator that cannot be copied, or whose copy would move on one that stays."""


class IteratorCopies:
    """The copies of one run."""

    def __init__(self, reach: Reachable, journal: Journal) -> None:
        self._reach = reach
        self._journal = journal
        self._looked = 0  # how many of the reach's hidden states have been looked at
        self._places: list[_CopyPlace] = []
        self._copies: dict[int, Any] = {}  # id of an iterator → its copy

    def put(self) -> None:
        """Put copies in the place of the iterators that the reach has come to hold."""
        states = self._reach.hidden[self._looked :]
        self._looked = len(self._reach.hidden)
        iterators = {id(s.owner): s for s in states if is_c_iterator(type(s.owner)) and not _is_generator(s.owner)}
        if not iterators:
            return
        known = {id(state.owner) for state in self._reach.hidden}
        for state in iterators.values():
            try:
                copy = _copied(state.owner, self._copies, known & self._reach.pinned)
            except _NoCopy:
                continue
            if id(state.owner) not in self._reach.pinned and position(copy) == state.before:
                self._copies[id(state.owner)] = copy
        for snapshot in self._journal.snapshots():
            for key, value in _entries(snapshot):
                if id(value) in iterators and id(value) in self._copies and _get(snapshot.owner, key) is value:
                    place = _CopyPlace(snapshot.owner, key, self._copies[id(value)], value)
                    _set(place.owner, key, place.copy)
                    self._places.append(place)

    def put_back(self) -> None:
        """Put the iterators back where the copies still are."""
        for place in self._places:
            if _get(place.owner, place.key) is place.copy:
                _set(place.owner, place.key, place.original)

    def is_moved(self, state: HiddenState) -> bool:
        """Whether the run has moved the copy of an iterator on."""
        copy = self._copies.get(id(state.owner))
        return copy is not None and position(copy) != state.before


def _is_generator(iterator: Any) -> bool:
    return type(iterator) is GeneratorType


def _copied(iterator: Any, copies: dict[int, Any], staying: set[int]) -> Any:
    """A copy at the same position. Iterators within it are copied as well; those in `staying` must not be."""
    if id(iterator) in copies:
        return copies[id(iterator)]
    if id(iterator) in staying:
        raise _NoCopy
    try:
        make, args, *state = reduced(iterator)
        copy = make(*_each(args, copies, staying))
        if type(copy) is not type(iterator):
            raise _NoCopy
        if state and state[0] is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # itertools: deprecated since 3.12, there until 3.14
                copy.__setstate__(_each(state[0], copies, staying))
    except (AttributeError, TypeError, ValueError) as error:
        raise _NoCopy from error
    return copy


def _each(value: Any, copies: dict[int, Any], staying: set[int]) -> Any:
    if type(value) is tuple:
        return tuple(_each(part, copies, staying) for part in value)
    if is_c_iterator(type(value)):
        return copies.setdefault(id(value), _copied(value, copies, staying))
    return value


# -- places ----------------------------------------------------------------------------------------------------------


def _entries(snapshot: Snapshot) -> Iterator[tuple[Any, Any]]:
    contents = snapshot.contents
    if isinstance(contents, dict):
        yield from contents.items()
    elif isinstance(contents, list) and isinstance(snapshot.owner, (list, collections.deque)):
        yield from enumerate(contents)


def _accessors(owner: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """How an entry of an object is read and set, past what its class overrides."""
    for base, get, set in _WAYS:
        if isinstance(owner, base):
            return get, set
    return (lambda o, key: object.__getattribute__(o, key)), object.__setattr__


_WAYS: tuple[tuple[type, Callable[..., Any], Callable[..., Any]], ...] = (
    (dict, dict.__getitem__, dict.__setitem__),
    (list, list.__getitem__, list.__setitem__),
    (collections.deque, collections.deque.__getitem__, collections.deque.__setitem__),
    (CellType, lambda cell, key: cell.cell_contents, lambda cell, key, value: setattr(cell, "cell_contents", value)),
    (type, lambda cls, key: vars(cls)[key], type.__setattr__),
)


def _get(owner: Any, key: Any) -> Any:
    try:
        return _accessors(owner)[0](owner, key)
    except (AttributeError, IndexError, KeyError, ValueError):
        return _MISSING


def _set(owner: Any, key: Any, value: Any) -> None:
    _accessors(owner)[1](owner, key, value)
