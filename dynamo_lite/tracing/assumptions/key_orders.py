"""The order of keys of dicts among the arguments, where the program looks at it: `for name, value in kwargs.items()`.

torch matches dicts and keyword arguments by their keys, in any order; a program that iterates over one of them has the
example's order. Dicts are recognised by content: a dict of the program with keys and values of an argument's, in the
same order, may have its order from there (`dict(kwargs)`, `{**kwargs}`, `def wrapper(**kwargs)`). Keys other than atoms
are compared by identity, as a copy of a dict has them: their `__hash__` and `__eq__` must not be called.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import Any

from torch import nn

from dynamo_lite.tracing.heap.accesses import token
from dynamo_lite.tracing.vocabulary.module_stack import has_hooks

Path = tuple[Any, ...]
"""From (args, kwargs) to a dict: (1,) is the keyword arguments, (0, 2, "masks") a dict in the third argument."""


class KeyOrders:
    """The dicts of one call with more than one key, and those whose order the program has looked at.

    named: keyword arguments that the program gets as parameters, so that nothing shows their order.
    """

    def __init__(self, call: tuple[tuple[Any, ...], dict[str, Any]], named: frozenset[str] = frozenset()) -> None:
        self._dicts: list[_Order] = []
        self._held: set[int] = set()  # the ids of what these dicts hold
        args, kwargs = call
        self._walk((0,), args)
        self._add((1,), {name: value for name, value in kwargs.items() if name not in named})
        for name, value in kwargs.items():
            self._walk((1, name), value)

    def __bool__(self) -> bool:
        return bool(self._dicts)

    def _walk(self, path: Path, value: Any) -> None:
        if type(value) is dict:
            self._add(path, value)
            for key, item in value.items():
                self._walk((*path, key), item)
        elif type(value) in (tuple, list):
            for index, item in enumerate(value):
                self._walk((*path, index), item)

    def _add(self, path: Path, value: dict[Any, Any]) -> None:
        if len(value) > 1:
            self._dicts.append(_Order(path, value))
            self._held.update(map(id, value.values()))

    def look(self, owner: dict[Any, Any]) -> None:
        """The program goes through `owner`, or gives it to C code."""
        items = [(token(key), id(value)) for key, value in dict.items(owner) if id(value) in self._held]
        for order in self._dicts:
            order.look([token for token, value in items if value in order.held.get(token, ())])

    def merged(self, target: Any, items: Iterable[tuple[Any, Any]]) -> None:
        """The program is about to write `items` (keys and values) into `target`, where a key that is there stays in its
        place: the order is still the argument's, whatever the values are."""
        if not issubclass(type(target), dict):
            return
        there = {token(key): id(value) for key, value in dict.items(target) if id(value) in self._held}
        for key, value in items if there else ():
            place = token(key)
            for order in self._dicts:
                held = order.held.get(place, set())
                if there.get(place) in held:
                    held.add(id(value))
                    self._held.add(id(value))

    def asked_keys(self) -> tuple[tuple[Path, tuple[Any, ...]], ...]:
        """(where, keys in the order of the example) for each dict whose order was looked at."""
        return tuple(
            (order.path, tuple(key for key in order.keys if token(key) in order.asked_keys))
            for order in self._dicts
            if order.asked_keys
        )


class _Order:
    """A dict among the arguments as it was: its keys, in order, their values, and the keys that were read.

    held: token of a key → the ids of values that a dict with this dict's order may have under it. (The objects may die:
    a dict with another object at the same address is one order too many that is guarded.)
    """

    def __init__(self, path: Path, value: dict[Any, Any]) -> None:
        self.path, self.keys = path, [*value]
        self.held = {token(key): {id(item)} for key, item in value.items()}
        self.asked_keys: set[Any] = set()
        self._rank = {place: index for index, place in enumerate(self.held)}

    def look(self, found: list[Any]) -> None:
        """Keys of this dict, in the order in which another dict has them: those that stand to one of the others as they
        do here may have their place from here. (`kw["a"] = kw.pop("a")` leaves the order of the others.)"""
        ranks = [self._rank[place] for place in found]
        for index, place in enumerate(found):
            if min(ranks[: index + 1]) < ranks[index] or ranks[index] < max(ranks[index:]):
                self.asked_keys.add(place)


def bound_by_name(mod: Any) -> frozenset[str]:
    """The names of the parameters of a module's `forward`, or of a function, where a call's keyword arguments come to
    it as they are given: no hook and no wrapper with `**kwargs` sees them first."""
    fn = mod
    if isinstance(mod, nn.Module):
        if type(mod).__call__ is not nn.Module.__call__ or has_hooks(mod):
            return frozenset()
        fn = mod.forward
    fn = getattr(fn, "__func__", fn)
    if type(fn) is not FunctionType:
        return frozenset()
    code = fn.__code__
    return frozenset(code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount])
