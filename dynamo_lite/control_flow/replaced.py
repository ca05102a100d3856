"""Lists, dicts and objects of the program that one side of a branch replaces by new ones: `box = [y]`, `h = State(x)`.

Behind the branch the variable holds the older object or the new one. If nothing else leads to the older one, on the
side that keeps it, no program sees which of them it is, but only the contents. So these are merged into the new object,
and the older one is let go of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamo_lite.control_flow.branches.calls import hold_unseen
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.grown import GrownList
from dynamo_lite.control_flow.lists.parts import Added
from dynamo_lite.control_flow.reachable import Used, frames_of, namespace_of
from dynamo_lite.control_flow.states import Side
from dynamo_lite.features.identity.unique_values import ObjectIds
from dynamo_lite.tracing.heap.snapshots import Snapshot

_LISTS_OF_DATA = (GrownList, Added)


class Replaced:
    """Objects older than two sides of which one has put another into its place. `ids`: those that were merged."""

    def __init__(self, tracer: Forking, sides: Sequence[Side], used: Sequence[Used]) -> None:
        self._tracer, self._sides, self._used = tracer, sides, used
        self.ids: set[int] = set()

    def new_of(self, left: Any, right: Any) -> Any:
        """Return the one of two objects that its side has made, if the other can be let go of; else None."""
        if isinstance(left, _LISTS_OF_DATA) or isinstance(right, _LISTS_OF_DATA):
            return None
        for new, old, which in ((right, left, 0), (left, right, 1)):
            if self._is_new(new, 1 - which) and not self._is_new(old, which) and self._is_sole(old, which):
                self.ids.add(id(old))
                return new
        return None

    def contents(self, which: int, snapshot: Snapshot) -> Any:
        """The contents of an object's part after a side. (A new object still has them; the side of an older one is
        undone.)"""
        row = self._sides[which].heap.get((id(snapshot.owner), snapshot.part))
        return snapshot.contents if row is None else row[1]

    def _is_new(self, value: Any, which: int) -> bool:
        return id(value) in self._sides[which].new

    def _is_sole(self, value: Any, which: int) -> bool:
        """Whether the program has made an object, and has one reference to it after the side."""
        tracer = self._tracer
        if tracer.writes.is_old(value) or tracer.own(ObjectIds).has(value):
            return False
        namespace = namespace_of(value)
        if namespace is not None and any((id(namespace), "items") in side.heap for side in self._sides):
            return False
        if hold_unseen(tracer, frames_of(tracer)):
            return False
        return self._used[which].references(value) == 1
