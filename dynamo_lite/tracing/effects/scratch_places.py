"""Entries of an older container that each call writes before it reads them: `self.features["layer1"] = output` in a
hook, and all contents of a list, a dict or a set that each call empties first (`self.records.clear()`).

The entry is overwritten before it is read, so neither its old nor its final value affects the program. The first call,
which finds no such key, is judged by the second trace.
"""

from __future__ import annotations

import gc
import sys
from collections import OrderedDict, defaultdict
from types import CellType, FrameType
from typing import Any

from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.tracing.effects.descriptions import is_globals
from dynamo_lite.tracing.heap.instance_dicts import OwnedDicts
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.mro import instance_dict


def is_scratch_entry(tracer: TracerView, change: Change) -> bool:
    """Whether an instruction of the program wrote the existing entry before anything could depend on its value.

    The run is over: the boundary between old and new objects ends here (the heap is searched for holders of the dict).
    """
    owner, key, reads = change.owner, change.key, tracer.reads
    if type(owner) not in (dict, OrderedDict) or ("item", id(owner), key) not in reads.written:
        return False
    if any(how == "attr" and at == id(owner) for how, at, _ in reads.places):
        return False  # one of its methods: C code may have called it with whatever key
    return not was_looked_at(tracer, owner, None, key) and _is_read_by_name(tracer, owner)


def was_emptied(tracer: TracerView, change: Change) -> bool:
    """Whether the program emptied the container before its contents could matter. The run is over, as above."""
    owner = change.owner
    if not tracer.reads.emptied.get(id(owner)):
        return False
    return type(owner) not in (dict, OrderedDict) or _is_read_by_name(tracer, owner)


def _is_read_by_name(tracer: TracerView, found: dict[object, object]) -> bool:
    """Whether all readers of the dict must name it: it is not a namespace of an object, and nothing reads it for the
    program (as a function its keyword defaults, a partial its arguments, a view or a mapping proxy its dict)."""
    if tracer.own(OwnedDicts).owner_of(found) is not None:
        return False
    tracer.heap.end()  # get_referrers does not look at frozen objects
    holders = (holder for holder in gc.get_referrers(found) if tracer.heap.is_new(holder) is not True)
    return all(instance_dict(holder) is not found and _is_plain(type(holder)) for holder in holders)


def _is_plain(kind: type) -> bool:
    """Whether a holder of this type only holds: a container, a variable, an object of a Python class."""
    return all(base in _HOLDERS or is_changeable(base) for base in kind.__mro__)


_HOLDERS = frozenset([dict, OrderedDict, defaultdict, list, tuple, CellType, FrameType, object])


def was_looked_at(tracer: TracerView, owner: Any, namespace: Any, key: Any) -> bool:
    """Whether what `key` names was read, or shown as a whole, before the program first wrote it.

    owner: the object, or a module's globals; namespace: the dict with its attributes (the globals themselves), if any.
    """
    reads = tracer.reads
    holders = [owner] if namespace is None or namespace is owner else [owner, namespace]
    if owner is namespace:
        holders += [module for module in (sys.modules.get(str(owner.get("__name__"))),) if module is not None]
    places = [(how, id(holder), key) for holder in holders for how in ("attr", "item", "key")]
    if any(place in reads.places and place not in reads.deleted for place in places):
        return True
    first = min((reads.written[place] for place in places if place in reads.written), default=sys.maxsize)
    return any(reads.observed_at.get(id(holder), sys.maxsize + 1) <= first for holder in holders)


def is_scratch(tracer: TracerView, change: Change) -> bool:
    """Whether an existing place was written before it was read, so that its old value cannot matter.

    A name that did not exist is not scratch yet: the program may have checked whether it exists. The second trace, in
    which it does, decides.
    """
    read = tracer.reads.read_first
    owner = change.owner
    if change.part == "items" and tracer.sees_python and was_emptied(tracer, change):
        return True
    if change.old is MISSING or change.new is MISSING or change.key == "__class__" or isinstance(owner, type):
        return False
    if not tracer.sees_python:
        return False
    if change.part.startswith("member"):
        return False  # a class is read through its instances, which `read_first` does not relate to it
    if change.part == "items":
        if change.key is None or read.get((id(owner), change.key)):
            return False  # None: the order of a dict, or all of a list
        if not is_globals(owner):
            return is_scratch_entry(tracer, change)
        return not was_looked_at(tracer, owner, owner, change.key)
    if change.part == "cell":
        return not any(holder == id(owner) for (holder, _), is_read in read.items() if is_read)
    namespace = getattr(owner, "__dict__", None)
    keys = {(id(owner), change.key), (id(owner), "__dict__"), (id(namespace), change.key)}
    return not any(map(read.get, keys)) and not was_looked_at(tracer, owner, namespace, change.key)
