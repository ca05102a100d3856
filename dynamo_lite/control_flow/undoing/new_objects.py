"""Finding the objects created after a point in time: the collector lists objects in the order of their creation.

A collection changes that order. Collections are therefore disabled while sides are run, except for those that `Points`
makes itself after it has recorded the objects newer than each of its points. Without any, the garbage of hundreds of
sides would be listed for each further one.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_MOST_NEW = 20_000
"""So many objects more than at the last collection are listed for a side; then there is another."""


class KeptAlive(list[Any]):
    """Objects that are kept alive so that their ids stay theirs."""


class Point:
    """A point in time. (Only its `Points` makes one.)

    Objects that the collector lists after `marker` are newer, and those with an id in `ids`: these were made between
    this point and the next one, and existed at the last collection. (The id of one that has died since can only be that
    of a newer object.)
    """

    def __init__(self, points: Points) -> None:
        self._points = points
        self.marker: list[Any] = []
        self.ids: set[int] = set()

    def younger(self) -> KeptAlive:
        """The objects that were made after this point and are alive."""
        found = self._listed_behind()
        ids = self._points.ids_from(self)
        if ids:
            for generation in (1, 2):
                found += [obj for obj in gc.get_objects(generation) if id(obj) in ids]
        return found

    def is_older(self, obj: Any) -> bool:
        """Whether a container was made before."""
        return id(obj) not in self._points.ids_from(self) and id(obj) not in map(id, self._listed_behind())

    def _listed_behind(self) -> KeptAlive:
        """Return the objects that the collector lists after the marker. (The youngest generation is listed first; the
        marker is in another one if the program has collected.)"""
        found: KeptAlive | None = None
        for generation in range(3):
            objects = gc.get_objects(generation)
            at = len(objects) - 1
            while at >= 0 and objects[at] is not self.marker:  # no closure over the list: it would be in itself
                at -= 1
            found = KeptAlive() if found is None else found  # after the youngest are listed: else it is in itself
            found += objects[at + 1 :]
            if at >= 0:
                return found
        raise AssertionError("the marker is gone")


class Points:
    """The points of the sides at work, oldest first."""

    def __init__(self) -> None:
        self._open: list[Point] = []
        self.collections = 0
        self._survivors = self._at_last_full = 0

    @contextmanager
    def here(self) -> Iterator[Point]:
        """Open a context with a point, which can be queried within."""
        point = Point(self)
        self._open.append(point)
        try:
            yield point
        finally:
            self._open.pop()
            if self._open:
                self._open[-1].ids |= point.ids

    def ids_from(self, point: Point) -> set[int]:
        """Return the ids of the objects that are newer than `point` and existed at the last collection."""
        later = self._open[self._open.index(point) :]
        return later[0].ids if len(later) == 1 else set().union(*(each.ids for each in later))

    def collect_if_due(self) -> None:
        """Let the collector free garbage, if there may be much of it."""
        if gc.get_count()[0] < _MOST_NEW:
            return
        self._note_ids()
        is_full = self._survivors > 2 * self._at_last_full
        gc.collect(2 if is_full else 0)
        self.collections += 1
        for point in self._open:
            point.marker = []
        if is_full:
            self._at_last_full = self._survivors = max(len(gc.get_objects()), _MOST_NEW)

    def _note_ids(self) -> None:
        ids = [*map(id, gc.get_objects(0))]
        self._survivors += len(ids)
        end = len(ids)
        for point in reversed(self._open):
            at = end - 1
            while at >= 0 and ids[at] != id(point.marker):
                at -= 1
            point.ids.update(ids[at + 1 : end])
            end = max(at, 0)
