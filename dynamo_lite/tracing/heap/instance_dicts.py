"""Dicts that belong to an object: its `__dict__`, its `__annotations__`.

CPython makes them on first access, so that the collector lists them as new though their object is old; and since 3.13
an object with inline attribute values does not show its `__dict__` to the collector at all. A change of such a dict is
a change of its object, and the dict is as old as that.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from dynamo_lite.tracing.interfaces import FeatureState, TracerView

NAMES = frozenset({"__dict__", "__annotations__"})


class OwnedDicts(FeatureState):
    """The dicts of objects that the program accessed."""

    stays = "a dict that a side gives to an object is its dict after the join; other writes to it are merged or refused"

    def __init__(self, tracer: TracerView) -> None:
        self._rows: dict[int, tuple[Callable[[], Any], str]] = {}  # id of the dict → (its owner, the name)
        self._given: dict[int, Any] = {}  # the dicts of `given`, by id

    def note(self, owner: Any, name: str, found: Any) -> None:
        """`owner.name` gave `found`. The owner is not kept alive where a weak reference will do."""
        if type(found) is not dict or id(found) in self._given:
            return
        known = self._rows.get(id(found))
        if known is None or known[0]() is not owner:
            try:
                self._rows[id(found)] = weakref.ref(owner), name
            except TypeError:
                self._rows[id(found)] = partial(_itself, owner), name

    def given(self, owner: Any, value: Any) -> None:
        """The program makes `value` the dict of `owner`: it may be older than that (the Borg pattern), or younger."""
        if self.owner_of(value) is owner:
            return  # `owner.__dict__ |= ...` gives it its own
        self._given[id(value)] = value
        self._rows.pop(id(value), None)

    def owner_of(self, found: Any) -> Any:
        """The object whose dict this is (still); None if there is none."""
        row = self._rows.get(id(found))
        return None if row is None else _if_held(id(found), *row)

    def rows(self) -> Iterator[tuple[int, Any]]:
        """(id of a dict, its owner), for the owners that are alive and still have it."""
        for key, row in self._rows.items():
            owner = _if_held(key, *row)
            if owner is not None:
                yield key, owner


def _itself(owner: Any) -> Any:
    return owner


def _if_held(key: int, reference: Callable[[], Any], name: str) -> Any:
    """The owner, if it is alive and has the dict with this id under `name`."""
    owner = reference()
    look_up: Any = type.__getattribute__ if isinstance(owner, type) else object.__getattribute__
    try:
        return owner if id(look_up(owner, name)) == key else None
    except AttributeError:
        return None
