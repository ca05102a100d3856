"""The order of keys of dicts among the arguments, where the program looks at it: `for name, value in kwargs.items()`.

torch matches dicts and keyword arguments by their keys, in any order; a program that goes through one of them has the
example's order. What was looked at is known by content: a dict of the program with keys and values of an argument's, in
the same order, may have its order from there (`dict(kwargs)`, `{**kwargs}`, `def wrapper(**kwargs)`).
"""

from __future__ import annotations

from typing import Any

Path = tuple[Any, ...]
"""From (args, kwargs) to a dict: (1,) is the keyword arguments, (0, 2, "masks") a dict in the third argument."""


class KeyOrders:
    """The dicts of one call with more than one key, and those whose order the program has looked at."""

    def __init__(self, call: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        self._dicts: list[tuple[Path, dict[Any, Any]]] = []
        self._asked: dict[Path, dict[Any, None]] = {}
        self._walk((), call)

    def __bool__(self) -> bool:
        return bool(self._dicts)

    def _walk(self, path: Path, value: Any) -> None:
        if type(value) is dict:
            if len(value) > 1:
                self._dicts.append((path, dict(value)))
            for key, item in value.items():
                self._walk((*path, key), item)
        elif type(value) in (tuple, list):
            for index, item in enumerate(value):
                self._walk((*path, index), item)

    def look(self, owner: dict[Any, Any]) -> None:
        """The program goes through `owner`, or gives it to C code."""
        for path, own in self._dicts:
            common = [key for key, value in dict.items(owner) if key in own and own[key] is value]
            if len(common) > 1 and common == [key for key in own if key in common]:
                asked = self._asked.setdefault(path, {})
                asked.update(dict.fromkeys(common))

    def asked(self) -> tuple[tuple[Path, tuple[Any, ...]], ...]:
        """(where, keys in the order of the example) for each dict whose order was looked at."""
        return tuple((path, tuple(k for k in own if k in self._asked[path])) for path, own in self._dicts
                     if path in self._asked)  # fmt: skip
