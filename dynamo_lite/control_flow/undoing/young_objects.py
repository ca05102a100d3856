"""Which objects were made after another one: the collector lists them in the order in which they were made."""

from __future__ import annotations

import gc
from typing import Any

from dynamo_lite.control_flow.undoing.iterators import Kept


def younger_than(marker: list[Any]) -> Kept:
    """The objects that were made after `marker`. (The youngest generation is listed first.)"""
    found: Kept | None = None
    for generation in range(3):
        objects = gc.get_objects(generation)
        at = len(objects) - 1
        while at >= 0 and objects[at] is not marker:  # no closure over the list: it would be in itself, and stay
            at -= 1
        found = Kept() if found is None else found  # made after the youngest are listed: else it would be in itself
        found += objects[at + 1 :]
        if at >= 0:
            return found
    raise AssertionError("the marker is gone")


def is_older(value: Any, marker: list[Any]) -> bool:
    """Whether a container was made before `marker`."""
    return not any(value is other for other in younger_than(marker))
