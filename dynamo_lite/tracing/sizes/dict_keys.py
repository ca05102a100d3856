"""Sizes that C code makes keys of a dict or elements of a set: their numbers are stored.

A symbolic size in a dict would be found by code that reads the dict after the trace. Instructions of the program call
`Tracer.on_key`; here are the C functions that store keys.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable
from typing import Any

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC, concrete, holds_size

_HOLD_NUMBERS: frozenset[type] = frozenset(
    {dict, set, frozenset, str, bytes, range, type(None), type({}.keys()), type({}.items())}
)
"""Types whose keys are numbers, if they have sizes at all."""
_ITERATIONS = (list.__iter__, tuple.__iter__)


class _KeysRead(list):
    """Items whose keys have been seen to."""


def key(value: Any) -> Any:
    """Return the stored form of a key: a size, a torch.Size or a named tuple of sizes as numbers."""
    kind = type(value)
    is_tuple = issubclass(kind, tuple) and not kind.__dictoffset__
    return concrete(value) if is_tuple or kind in SYMBOLIC else value


def _pair(item: Any) -> Any:
    return (key(item[0]), item[1]) if isinstance(item, (tuple, list)) and len(item) == 2 else item


def _stores_key(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """set.add(s, n), dict.setdefault(d, n, value)."""
    if len(args) < 2 or not holds_size(args[1]) or key(args[1]) is args[1]:
        return NOT_HANDLED
    return tracer.vm.call(fn, (args[0], key(args[1]), *args[2:]), kwargs)


def _stores_all(position: int, stored: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a rule for a function that stores the items of the iterable at `position`."""

    def rule(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
        env = tracer.recorder.env
        if len(args) <= position or env is None or not env.has_symbols:
            return NOT_HANDLED
        items: Iterable[Any] = args[position]
        kind = type(items)
        if kind is _KeysRead or kind in _HOLD_NUMBERS or isinstance(items, (dict, set, frozenset)):
            return NOT_HANDLED
        if getattr(kind, "__iter__", None) in _ITERATIONS:  # list, tuple, torch.Size, a named tuple
            if not holds_size(items):
                return NOT_HANDLED
        elif hasattr(kind, "__next__"):
            items = tracer.vm.call(list, (items,))
        else:
            return NOT_HANDLED
        done = _KeysRead(map(stored, items))
        return tracer.vm.call(fn, (*args[:position], done, *args[position + 1 :]), kwargs)

    return rule


def table() -> dict[int, Callable[..., Any]]:
    """id(callable) → rule."""
    rows: dict[int, Callable[..., Any]] = {
        id(fn): _stores_key for fn in (set.add, dict.setdefault, dict.__dict__["__setitem__"])
    }
    rows |= {id(fn): _stores_all(0, key) for fn in (set, frozenset)}
    rows |= {id(fn): _stores_all(1, key) for fn in (set.update, set.union, dict.__dict__["fromkeys"])}
    rows |= {id(fn): _stores_all(1, key) for fn in (collections._count_elements,)}  # type: ignore[attr-defined]
    rows |= {id(fn): _stores_all(0, _pair) for fn in (dict, collections.OrderedDict)}
    rows |= {id(fn): _stores_all(1, _pair) for fn in (dict.update, collections.defaultdict)}
    return rows
