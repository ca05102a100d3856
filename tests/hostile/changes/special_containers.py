"""Containers whose methods read more than they are asked for: a limit that drives items out, a key that is made."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from copy import deepcopy
from heapq import heappushpop, heapreplace
from typing import Any

from . import Changes, Module, row


def _rows(name: str, made: Any, use: Any, told: tuple[Any, ...], held: tuple[Any, ...] = ()) -> None:
    """A module whose attribute `d` is `made()`, used by `use`, and what it may be instead."""

    def build() -> Changes:
        module = Module(lambda self, x: x + use(self.d), d=made())

        def becomes(other: Any) -> Any:
            return lambda: setattr(module.held, "d", deepcopy(other))

        return Changes(
            module,
            {f"told_{i}": becomes(other) for i, other in enumerate(told)},
            {f"held_{i}": becomes(other) for i, other in enumerate(held)},
        )

    build.__name__ = name
    row(build)


def _appended_and_first(value: Any) -> Any:
    def use(d: deque[int]) -> int:
        d.append(d[0] if value is None else value)
        return d[0]

    return use


def _filled(d: deque[int]) -> int:
    d.append(1)
    d.append(2)
    d.append(3)
    return sum(d)


def _filled_at_once(d: deque[int]) -> int:
    d.extend([1, 2, 3])
    return sum(d)


def _filled_from_the_left(d: deque[int]) -> int:
    d.extendleft([1, 2, 3])
    return sum(d)


def _from_the_left(d: deque[int]) -> int:
    d.appendleft(d[-1])
    return d[-1]


def _copied(d: deque[int]) -> int:
    copy = d.copy()
    copy.extend([7, 7, 7])
    return sum(copy)


def _limited(*items: int, n: int = 3) -> deque[int]:
    return deque(items, maxlen=n)


_rows("rotated", lambda: _limited(1, 1, 1), _appended_and_first(None), (_limited(1, 2, 1),))
_rows("same_item", lambda: _limited(0, 0, 0), _appended_and_first(0), (_limited(0, 1, 0),))
_rows("filled", lambda: _limited(1, 2, 3), _filled, (_limited(1, 2, 3, n=4), deque([1, 2, 3])))
_rows("filled_at_once", lambda: _limited(1, 2, 3), _filled_at_once, (_limited(1, 2, 3, n=4), deque([1, 2, 3])))
_rows("filled_from_left", lambda: _limited(3, 2, 1), _filled_from_the_left, (_limited(3, 2, 1, n=5), deque([3, 2, 1])))
_rows("from_the_left", lambda: _limited(1, 1, 1), _from_the_left, (_limited(1, 2, 1),))
_rows("copied", lambda: _limited(1, 2, 3), _copied, (_limited(1, 2, 3, n=4), deque([1, 2, 3])))


def _added(d: set[int]) -> int:
    d.add(1)
    return len(d)


def _discarded(d: set[int]) -> int:
    d.discard(1)
    return len(d)


_rows("added", lambda: {1}, _added, ({2}, {1, 2}))
_rows("discarded", lambda: {2}, _discarded, ({1}, {2, 3}))


def _made_and_deleted(d: Any) -> Any:
    made = d["q"]
    del d["q"]
    return made


def _read(d: Any) -> Any:
    return d["a"]


def _changed_and_put_back(d: Any) -> int:
    d["a"].append(1)
    d["a"].pop()
    return len(d["a"])


def _five() -> int:
    return 5


_rows("key_made", lambda: defaultdict(int), _made_and_deleted, (defaultdict(_five),))
_rows("key_there", lambda: defaultdict(int, a=1), _read, (defaultdict(int, a=2),), (defaultdict(int, a=1),))
_rows("key_of_tuple", lambda: defaultdict(int, {("a",): 1}), lambda d: d[("a",)], (defaultdict(int, {("a",): 2}),))
_rows("list_there", lambda: defaultdict(list, a=[1]), _changed_and_put_back, (defaultdict(list, a=[1, 2]),))
_rows("got", lambda: defaultdict(int), lambda d: d.get("a", 3), (defaultdict(int, a=1),))


def _replaced(d: list[int]) -> int:
    return heapreplace(d, 1) + d[0]


_rows("heap", lambda: [1, 1, 1], _replaced, ([0, 2, 3], [1, 2, 3, 4, 0]))
_rows("pushed", lambda: [1, 1, 1], lambda d: heappushpop(d, 0) + d[0], ([-1, 2, 3], [2, 2, 3]))
_rows("ordered", lambda: OrderedDict(a=1), lambda d: d.move_to_end("a") or next(iter(d.values())), (
    OrderedDict(b=2, a=1), OrderedDict(a=2)))  # fmt: skip
