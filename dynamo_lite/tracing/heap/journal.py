"""The journal: the contents of each object before the program first changed it.

Writes happen for real, so that opaque code sees them. Before the first change of an object the journal takes a shallow
snapshot of it; afterwards the snapshots give the net effects (old against new) and restore the heap.
"""

from __future__ import annotations

import gc
import operator
from collections.abc import Callable, Container, Iterator
from types import CellType
from typing import Any, NamedTuple

from dynamo_lite.tracing.heap import snapshots
from dynamo_lite.tracing.heap.accesses import KEYS, token
from dynamo_lite.tracing.heap.snapshots import MISSING, Snapshot


class Change(NamedTuple):
    """One net effect: `owner` held `old` under `key` and now holds `new` (MISSING where there is nothing).

    `mark` is the location that was passed with the first write.
    """

    owner: Any
    part: str
    key: Any
    old: Any
    new: Any
    mark: Any


class Order(tuple[Any, ...]):
    """The keys of a dict, in order: the old and the new value of a change that only their order shows."""

    def __str__(self) -> str:
        names = (repr(key) if isinstance(key, (str, int)) else type(key).__name__ for key in self)
        return f"the order {', '.join(names)}"


class Journal:
    """Snapshots by object, in the order of first change."""

    def __init__(self, where: Callable[[], Any]) -> None:
        self._where = where
        self._snapshots: dict[tuple[int, str], tuple[Snapshot, Any]] = {}
        self.untracked: set[int] = set()  # ids of owners that the garbage collector did not track when first touched
        self._sites: dict[tuple[int, str, Any], Any] = {}
        self.touched: set[int] = set()  # ids of all owners, kept when the journal is rolled back
        self._undo: list[Callable[[], None]] = []
        self._is_new: Callable[[Any], bool] | None = None

    def let_go_of_new(self, is_new: Callable[[Any], bool]) -> None:
        """Keep no snapshot of a new object from now on: the program sees when objects die.

        A snapshot keeps its owner alive, and its old contents. (Otherwise it is taken of every object, since it is
        costly to determine at each write which objects the run has made.)
        """
        self._is_new = is_new
        for key, (snapshot, _) in [*self._snapshots.items()]:
            if is_new(snapshot.owner):
                del self._snapshots[key]

    def __bool__(self) -> bool:
        return bool(self._snapshots)

    def touch(self, owner: Any, part: str) -> bool:
        """`part` ("items", "attributes" or "cell") of `owner` is about to change. False: no snapshot can be taken."""
        key = (id(owner), part)
        if key in self._snapshots:
            return True
        if part == "cell" and type(owner) is CellType:
            snapshot: Snapshot | None = snapshots.cell(owner)
        elif part == "items":
            snapshot = snapshots.container(owner)
        else:
            snapshot = snapshots.attributes(owner)
        if snapshot is None:
            return False
        self._keep(snapshot)
        return True

    def touch_member(self, owner: Any, name: str, descriptor: Any) -> None:
        """Save the value of the C data descriptor `descriptor` of `owner` under `name`, which is about to change."""
        if (id(owner), f"member {name}") not in self._snapshots:
            self._keep(snapshots.member(owner, name, descriptor))

    def _keep(self, snapshot: Snapshot) -> None:
        owner = snapshot.owner
        if self._is_new is not None and self._is_new(owner):
            return
        self.touched.add(id(owner))
        if not gc.is_tracked(owner):
            self.untracked.add(id(owner))
        self._snapshots[id(owner), snapshot.part] = (snapshot, self._where())

    def site(self, owner: Any, part: str, key: Any) -> None:
        """Remember the line that first writes `key`, where the key is a name or an index."""
        if type(key) is str or type(key) is int:
            row = (id(owner), part, key)
            if row not in self._sites and (id(owner), part) in self._snapshots:
                self._sites[row] = self._where()

    def on_rollback(self, undo: Callable[[], None]) -> None:
        """A change that no snapshot shows (a context variable, a file-wide switch) and how to undo it."""
        self._undo.append(undo)

    def absorb(self, inner: Journal) -> None:
        """Take over the snapshots of a journal of a part of the run, so that a rollback undoes that part as well."""
        for key, entry in inner._snapshots.items():
            self._snapshots.setdefault(key, entry)
        for row, mark in inner._sites.items():
            self._sites.setdefault(row, mark)
        self.untracked |= inner.untracked
        self.touched |= inner.touched
        self._undo += inner._undo

    def owners(self) -> list[Any]:
        """The objects that were touched, in order."""
        return [snapshot.owner for snapshot, _ in self._snapshots.values()]

    def snapshots(self) -> list[Snapshot]:
        """The snapshots, in order."""
        return [snapshot for snapshot, _ in self._snapshots.values()]

    def held_before(self, owners: set[int], ids: set[int]) -> set[int]:
        """Which of the objects with these ids some touched object, of those with the ids `owners`, held at first."""
        found: set[int] = set()
        for snapshot, _ in self._snapshots.values():
            if id(snapshot.owner) not in owners:
                continue
            contents = snapshot.contents
            values = contents.values() if isinstance(contents, dict) else contents
            if not isinstance(values, bytes):
                found.update(id(v) for v in values if id(v) in ids)
        return found

    def changes(self) -> Iterator[Change]:
        """Yield the net effects, by identity: an entry whose value is the same object as before is left out."""
        for snapshot, mark in self._snapshots.values():
            old, new = snapshot.contents, snapshot.current()
            if isinstance(old, dict):
                keys, old, new = _by_token(old, new)
                for key, before, after in _entry_changes(keys, old, new):
                    at = self._sites.get((id(snapshot.owner), snapshot.part, key)) if type(key) in (str, int) else None
                    yield Change(snapshot.owner, snapshot.part, key, before, after, at or mark)
                if snapshot.part == "items" and (orders := _orders(keys, old, new)) is not None:
                    yield Change(snapshot.owner, snapshot.part, None, *orders, mark)
            elif not _same_items(old, new):
                yield Change(snapshot.owner, snapshot.part, None, old, new, mark)

    def is_written(self, owner: Any, key: Any) -> bool:
        """Whether the program has written there, the same value that it found perhaps."""
        return any((id(owner), part, key) in self._sites for part in ("attributes", "items"))

    def rollback(self, keep: Container[int] = ()) -> None:
        """Restore everything, last touched first, except for the objects whose ids are in `keep`."""
        while self._undo:  # an interrupted one is made again
            self._undo[-1]()
            self._undo.pop()
        for snapshot, _ in reversed(self._snapshots.values()):
            if id(snapshot.owner) not in keep and not is_as_before(snapshot.contents, snapshot.current()):
                snapshot.restore(snapshot.contents)
        self._snapshots.clear()
        self._sites.clear()


def _by_token(old: dict[Any, Any], new: dict[Any, Any]) -> tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]]:
    """Return both with tokens for keys, and the keys by token; both unchanged if each key is its own token."""
    if KEYS.issuperset(map(type, old)) and KEYS.issuperset(map(type, new)):
        return {}, old, new
    if is_as_before(old, new):
        return {}, {}, {}  # no entry differs
    before, after = ({token(key): value for key, value in contents.items()} for contents in (old, new))
    return {token(key): key for key in (*old, *new)}, before, after


def _entry_changes(keys: dict[Any, Any], old: dict[Any, Any], new: dict[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
    for key in [*old, *(k for k in new if k not in old)]:
        before, after = old.get(key, MISSING), new.get(key, MISSING)
        if before is not after:
            yield keys.get(key, key), before, after


def _orders(keys: dict[Any, Any], old: dict[Any, Any], new: dict[Any, Any]) -> tuple[Order, Order] | None:
    """The order of the keys that a dict had and has, if it is another one (`move_to_end`, `pop` and set again)."""
    before, after = ([keys.get(k, k) for k in one if k in two] for one, two in ((old, new), (new, old)))
    return None if all(map(operator.is_, before, after)) else (Order(before), Order(after))


def _same_items(old: Any, new: Any) -> bool:
    if isinstance(old, list):
        return len(old) == len(new) and all(a is b for a, b in zip(old, new))
    if isinstance(old, set):
        return {id(x) for x in old} == {id(x) for x in new}
    return bool(old == new)


def is_as_before(old: Any, new: Any) -> bool:
    """Whether two states of one object are the same, by identity."""
    if isinstance(old, dict):
        return len(old) == len(new) and all(map(operator.is_, (*old, *old.values()), (*new, *new.values())))
    return _same_items(old, new)
