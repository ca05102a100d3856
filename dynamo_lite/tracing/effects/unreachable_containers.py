"""Drops writes to containers that are unreachable after the run.

torch.nn.utils.parametrize.cached() fills its dict and then puts an empty one in its place.

The collector does not show all who hold an object: not an array of numpy, for one. So a container only counts as
unreachable where the run has taken it from a place that the journal knows.
"""

from __future__ import annotations

import gc
import weakref
from collections import OrderedDict, defaultdict, deque
from typing import Any

from dynamo_lite.tracing.heap import shared_buffers
from dynamo_lite.tracing.heap.instance_dicts import OwnedDicts
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.heap.object_paths import path_of
from dynamo_lite.tracing.interfaces import TracerView

_KINDS = (dict, list, set, OrderedDict, defaultdict, deque)


def unreachable(tracer: TracerView, changes: list[Change]) -> set[int]:
    """ids of the changed containers that only objects of the run itself hold. The run is over, its boundary ends."""
    owners = {id(c.owner): c.owner for c in changes if c.part == "items" and type(c.owner) in _KINDS}
    # Most are held by the program itself, which is seen without a walk over the whole heap.
    owners = {key: owner for key, owner in owners.items() if path_of(owner, tracer.root) is None}
    if not owners:
        return set()
    tracer.heap.end()  # get_referrers does not look at frozen objects
    asked = tuple(owners.values())
    referrers = gc.get_referrers(*asked)
    held: set[int] = set()
    for holder in referrers:
        if holder is not asked and holder is not owners and not _is_of_the_run(tracer, holder):
            held.update(id(value) for value in gc.get_referents(holder))
    for array in filter(tracer.writes.is_from_outside, tracer.reads.arrays_of_objects.values()):
        held |= shared_buffers.held_by(array)
    held |= {key for key, owner in owners.items() if weakref.getweakrefcount(owner)}  # the program may see it die
    owned = {key for key, owner in owners.items() if tracer.own(OwnedDicts).owner_of(owner) is not None}
    return (set(owners) - held - owned) & _taken_away(tracer)


def _taken_away(tracer: TracerView) -> set[int]:
    """Return the ids of the former contents of the objects that the run has written to."""
    found: set[int] = set()
    for snapshot in tracer.journal.snapshots():
        contents = snapshot.contents
        if isinstance(contents, dict):
            found.update(map(id, contents.values()))
        elif isinstance(contents, (list, tuple)):
            found.update(map(id, contents))
    return found


def _is_of_the_run(tracer: TracerView, holder: Any) -> bool:
    if type(holder) is Change:
        return True
    return tracer.heap.is_new(holder) is True and not (type(holder) is dict and _is_dict_of_old(tracer, holder))


def _is_dict_of_old(tracer: TracerView, namespace: dict[str, Any]) -> bool:
    """Whether this is the `__dict__` of an object from before the run, which CPython makes at the first access."""
    found = (owner for owner in gc.get_referrers(namespace) if _dict_of(owner) is namespace)
    return any(tracer.heap.is_new(owner) is not True for owner in found)


def _dict_of(owner: Any) -> Any:
    try:
        return object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return None
