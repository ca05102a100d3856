"""The values that the program read before it wrote them, when two sides run one after the other.

A write on one side does not affect a read on the other: each side starts with the accesses known at the fork. After the
join a place counts as written first if both sides wrote it first, and as read if one of them read it; a container as
emptied if both emptied it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dynamo_lite.tracing.heap.access_log import Reads


class FirstReads(NamedTuple):
    """A copy of that part of the access log."""

    read_first: dict[Any, bool]
    written: dict[Any, int]
    observed_at: dict[int, int]
    emptied: dict[int, bool]

    @staticmethod
    def of(reads: Reads) -> FirstReads:
        return FirstReads(dict(reads.read_first), dict(reads.written), dict(reads.observed_at), dict(reads.emptied))

    def put(self, reads: Reads) -> None:
        """Make this the state of the log. Which rows need not be looked at again is forgotten."""
        logs: tuple[Any, ...] = (reads.read_first, reads.written, reads.observed_at, reads.emptied)
        for log, then in zip(logs, self):
            log.clear()
            log.update(then)
        reads.seen.clear()
        reads.seen_names.clear()

    def joined(self, left: FirstReads, right: FirstReads) -> FirstReads:
        """Return the state after the join; this is that of the fork."""
        read_first, written = dict(self.read_first), dict(self.written)
        for place in dict.fromkeys([*left.read_first, *right.read_first]):
            answers = left.read_first.get(place), right.read_first.get(place)
            if True in answers:
                read_first[place] = True
            elif None not in answers:
                read_first[place] = False
        for place in left.written:
            if place in right.written and place not in written:
                written[place] = len(written)
        looks = dict.fromkeys([*left.observed_at, *right.observed_at], len(self.written))  # before the sides' writes
        sides = left.emptied, right.emptied
        emptied = {at: all(side.get(at, True) for side in sides) for side in sides for at in side}
        emptied = {at: first for at, first in emptied.items() if not first or all(at in side for side in sides)}
        return FirstReads(read_first, written, {**looks, **self.observed_at}, emptied)
