"""The order of keys of dicts among the arguments, where the program looks at it: `for name, value in kwargs.items()`.

torch matches dicts and keyword arguments by their keys, in any order; a program that goes through one of them has the
example's order. What was looked at is known by content: a dict of the program with keys and values of an argument's, in
the same order, may have its order from there (`dict(kwargs)`, `{**kwargs}`, `def wrapper(**kwargs)`). Keys that are
no atoms are compared by identity, as a copy of a dict has them: their `__hash__` and `__eq__` are not ours to call.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite.tracing.heap.accesses import token

Path = tuple[Any, ...]
"""From (args, kwargs) to a dict: (1,) is the keyword arguments, (0, 2, "masks") a dict in the third argument."""


class KeyOrders:
    """The dicts of one call with more than one key, and those whose order the program has looked at."""

    def __init__(self, call: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        self._dicts: list[_Order] = []
        self._held: set[int] = set()  # the ids of what these dicts hold
        self._walk((), call)

    def __bool__(self) -> bool:
        return bool(self._dicts)

    def _walk(self, path: Path, value: Any) -> None:
        if type(value) is dict:
            if len(value) > 1:
                self._dicts.append(_Order(path, value))
                self._held.update(map(id, value.values()))
            for key, item in value.items():
                self._walk((*path, key), item)
        elif type(value) in (tuple, list):
            for index, item in enumerate(value):
                self._walk((*path, index), item)

    def look(self, owner: dict[Any, Any]) -> None:
        """The program goes through `owner`, or gives it to C code."""
        items = [(token(key), value) for key, value in dict.items(owner) if id(value) in self._held]
        for order in self._dicts:
            own = order.items
            common = [token for token, value in items if token in own and own[token] is value]
            if len(common) > 1 and common == [token for token in own if token in common]:
                order.asked.update(common)

    def asked(self) -> tuple[tuple[Path, tuple[Any, ...]], ...]:
        """(where, keys in the order of the example) for each dict whose order was looked at."""
        return tuple(
            (order.path, tuple(key for key in order.keys if token(key) in order.asked))
            for order in self._dicts
            if order.asked
        )


class _Order:
    """A dict among the arguments as it was: its keys, in order, what each holds, and which of them were asked for."""

    def __init__(self, path: Path, value: dict[Any, Any]) -> None:
        self.path, self.keys = path, [*value]
        self.items = {token(key): item for key, item in value.items()}
        self.asked: set[Any] = set()
