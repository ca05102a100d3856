"""A stamp: the words that answer for most guards of a set, for one callable."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

from dynamo_lite.guards.guard import Guard
from dynamo_lite.guards.stamps.coverage import covers
from dynamo_lite.guards.stamps.layout import Layout, layout
from dynamo_lite.guards.stamps.places import Places

FEWEST = 40
"""Guards: for fewer the compiled function is as fast."""


class Stamp:
    """`covered` are the guards, by index, that hold while `holds()` and the callable is the one that `fits`.

    The callable is not kept alive, and when it dies, so may everything that the stamp keeps alive for its words.
    """

    __slots__ = ("_function", "_owner", "covered", "holds")

    def __init__(self, mod: Any, places: Places, covered: frozenset[int]) -> None:
        held = places.held
        self.covered = covered
        self.holds: Callable[[], bool] = places.words.reader()
        self._function = mod.__func__ if type(mod) is MethodType else None
        owner = mod.__self__ if type(mod) is MethodType else mod
        self._owner = weakref.ref(owner, lambda _: held.clear())

    def fits(self, mod: Any) -> bool:
        if self._function is None:
            return self._owner() is mod
        return type(mod) is MethodType and mod.__func__ is self._function and mod.__self__ is self._owner()


@functools.cache
def _usable() -> Layout | None:
    """The layout, if torch (where it is in the process) reads version tags as we do."""
    found = layout()
    if found is not None and "torch" in sys.modules:
        from dynamo_lite.guards.stamps._torch_tags import agree

        return found if agree(found) else None
    return found


def stamped(mod: Any, guards: Sequence[Guard], indices: Sequence[int]) -> Stamp | None:
    """A stamp for guards that hold now. None if there can be none, or it would not pay.

    It may be used once the guards have been checked again and `holds()` is true after that: what was written while the
    stamp was made is told by the one or the other.
    """
    found = _usable()
    if found is None:
        return None
    places = Places(found, mod)
    covered = frozenset(index for index in indices if covers(places, guards[index]))
    if len(covered) < FEWEST:
        return None
    try:
        return Stamp(mod, places, covered)
    except (ImportError, TypeError):  # no numpy; a callable without weak references
        return None
