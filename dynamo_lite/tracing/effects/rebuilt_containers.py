"""Containers and objects that each call replaces by an equal one: `self.tables = [*self.tables]`, a module without
tensors of its own (`self.add_module("act", nn.ReLU())`), or a registry that is copied before it is changed, and of
which nothing changes any more."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from typing import Any

from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.value_types import ATOMS

_SEQUENCES = (list, tuple, deque)
_MAPPINGS = (dict, OrderedDict, defaultdict)
_SETS = (set, frozenset)


def is_made_alike(change: Change, tracer: TracerView) -> bool:
    """Whether a change replaces a container by another of the same type that holds the same objects.

    Such a change has no effect only from the second call on: before, others may hold the first container too. The
    program may not have checked the container's identity.
    """
    compared = (ids for how, *ids in tracer.reads.places if how == "is")
    if any(id(container) in ids for ids in compared for container in (change.old, change.new)):
        return False
    if change.old is MISSING or change.new is MISSING:
        return False
    before = {id(each.owner): each.contents for each in tracer.journal.snapshots() if each.part == "items"}
    return _alike(change.old, change.new, before)


def _alike(old: Any, new: Any, before: dict[int, Any], depth: int = 8) -> bool:
    """before: id of a container → its contents before the run. (One that the run has filled and then replaced; if the
    program still holds it, that is a change of its own.)"""
    kind = type(old)
    if kind is not type(new) or not depth:
        return False
    if kind is deque and old.maxlen != new.maxlen:
        return False
    if kind is defaultdict and old.default_factory is not new.default_factory:
        return False
    if kind in (*_SEQUENCES, *_MAPPINGS, *_SETS):
        old = before.get(id(old), old)
        if len(old) != len(new):
            return False
    if kind in _SEQUENCES:
        return all(_same(a, b, before, depth) for a, b in zip(old, new))
    if kind in _MAPPINGS:
        keys = all(_same(a, b, before, depth) for a, b in zip(old, new))  # in the same order
        return keys and all(_same(a, b, before, depth) for a, b in zip(old.values(), new.values()))
    if kind in _SETS:
        return all(_same(a, b, before, 1) for a, b in zip(old, new))  # in the same order, too
    return _is_plain(kind) and _alike(_attributes(old), _attributes(new), before, depth)


def _is_plain(kind: type) -> bool:
    """Whether objects of a class are their `__dict__` and nothing else, and nothing happens when one dies."""
    if kind.__new__ is not object.__new__ or kind.__getattribute__ is not object.__getattribute__:
        return False
    bases = [base for base in kind.__mro__ if base is not object]
    has_dict = any("__dict__" in base.__dict__ for base in bases)
    return has_dict and not any(name in base.__dict__ for base in bases for name in ("__slots__", "__del__"))


def _same(old: Any, new: Any, before: dict[int, Any], depth: int) -> bool:
    if old is new:
        return True
    if type(old) in ATOMS:
        return type(old) is type(new) and repr(old) == repr(new)
    return _alike(old, new, before, depth - 1)


def _attributes(value: Any) -> Any:
    return object.__getattribute__(value, "__dict__")
