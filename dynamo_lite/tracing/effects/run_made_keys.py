"""Entries of an older dict under an object that the run itself made.

No later call has that key: it creates an object of its own, so it cannot look the entry up, and only code that reads
the dict as a whole (its length, its keys) could see the entry. functools.singledispatchmethod keeps its bound methods
so, under the instance, and since the method holds the instance the entry outlives it.
"""

from __future__ import annotations

import weakref

from dynamo_lite.tracing.heap.accesses import is_known_by_identity
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_AS_A_WHOLE = frozenset({"items", "keys", "length", "truth", "parts"})


def is_under_an_own_key(tracer: TracerView, change: Change) -> bool:
    """Whether the change is a new entry that no later call can find, in a dict that the program reads by key only."""
    if change.part != "items" or change.old is not MISSING or type(change.owner) is not dict:
        return False
    key = change.key() if type(change.key) is weakref.ref else change.key
    if is_tensor(key) or not is_known_by_identity(key) or not tracer.heap.is_young(key):
        return False
    owner = id(change.owner)
    return not any(how == "state" or (at == owner and how in _AS_A_WHOLE) for how, at, _ in tracer.reads.places)
