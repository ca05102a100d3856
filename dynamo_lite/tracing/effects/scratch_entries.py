"""What each call writes in an older container before it reads it: `self.features["layer1"] = output` in a hook, and
all that a list, a dict or a set holds that each call empties first (`self.records.clear()`).

As with an attribute that is written first, what the entry held cannot matter, nor what is left in it. The first call,
which finds no such key, is judged by the second trace.
"""

from __future__ import annotations

import gc
from collections import OrderedDict
from types import CellType, FrameType

from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.tracing.effects.read_before_write import was_looked_at
from dynamo_lite.tracing.heap.instance_dicts import OwnedDicts
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.interfaces import Trace
from dynamo_lite.tracing.vocabulary.mro import instance_dict


def is_scratch_entry(tracer: Trace, change: Change) -> bool:
    """Whether an instruction of the program wrote the entry, which was there, before anything could tell its value.

    The run is over: the boundary between old and young objects ends here (the heap is asked who holds the dict).
    """
    owner, key, reads = change.owner, change.key, tracer.reads
    if type(owner) not in (dict, OrderedDict) or ("item", id(owner), key) not in reads.written:
        return False
    if any(how == "attr" and at == id(owner) for how, at, _ in reads.places):
        return False  # one of its methods: C code may have called it with whatever key
    return not was_looked_at(tracer, owner, None, key) and _is_read_by_name(tracer, owner)


def was_emptied(tracer: Trace, change: Change) -> bool:
    """Whether the program emptied the container before anything could tell what it held. The run is over, as above."""
    owner = change.owner
    if not tracer.reads.emptied.get(id(owner)):
        return False
    return type(owner) not in (dict, OrderedDict) or _is_read_by_name(tracer, owner)


def _is_read_by_name(tracer: Trace, found: dict[object, object]) -> bool:
    """Whether who reads the dict must name it: it is no namespace of an object, and nothing else reads it for the
    program (a function its keyword defaults, a partial its arguments, a view or a mapping proxy what is below it)."""
    if tracer.own(OwnedDicts).owner_of(found) is not None:
        return False
    tracer.heap.end()  # get_referrers does not look at frozen objects
    holders = (holder for holder in gc.get_referrers(found) if tracer.heap.is_young(holder) is not True)
    return all(instance_dict(holder) is not found and _is_plain(type(holder)) for holder in holders)


def _is_plain(kind: type) -> bool:
    """Whether a holder of this type only holds: a container, a variable, an object of a Python class."""
    return all(base in _HOLDERS or is_changeable(base) for base in kind.__mro__)


_HOLDERS = frozenset([dict, OrderedDict, list, tuple, CellType, FrameType, object])
