"""Calls of C callables that copy a dict or write into one, in a program whose arguments have dicts with an order.

The order of a dict's keys shows in the copy, to code that iterates over it, and not in the call (key_orders.py
recognises a copy by its contents). A write under an existing key keeps the key's position.
"""

from __future__ import annotations

import collections
import copy
import functools
from collections.abc import Iterable
from typing import Any

from dynamo_lite.interpreter.lookasides.iterables import are_unordered
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import Step, TracerView

_UNORDERED = frozenset(map(id, (set, frozenset, sorted)))
_COPIES = frozenset(
    map(id, (dict, dict.copy, dict.update, dict.keys, dict.values, dict.items, copy.copy, collections.OrderedDict))
)


def watched(fn: Any, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The first steps of the plan of `fn`, whose own look at its arguments is `steps`."""
    if fn is dict.__setitem__:
        return (_set, *steps)
    if fn is functools.partial or type(fn) is functools.partial:
        return (_partial, *steps)
    if id(fn) in _COPIES or id(fn) in _UNORDERED:
        return tuple(map(_without_order, steps))
    return steps


def _merged(tracer: TracerView, target: Any, items: Iterable[tuple[Any, Any]]) -> None:
    orders = tracer.reads.key_orders
    if orders is not None:
        orders.merged(target, items)


def _set(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) == 3:
        _merged(tracer, args[0], ((args[1], args[2]),))
    return NOT_HANDLED


def _partial(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`partial(f, **named)(a=1)`, and a partial of a partial: the new keyword arguments go over the old ones."""
    known = fn if type(fn) is functools.partial else next(iter(args), None)
    if type(known) is functools.partial:
        _merged(tracer, known.keywords, kwargs.items())
    return NOT_HANDLED


def _without_order(step: Step) -> Step:
    def look(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        others = args[1:]
        if id(fn) in _UNORDERED:
            shows = len(args) != 1 or "key" in kwargs or not are_unordered(fn, args)
        else:
            shows = not args or not all(issubclass(type(other), dict) for other in others)
        if shows:
            return step(tracer, fn, args, kwargs)
        for other in (*others, kwargs):
            _merged(tracer, args[0], dict.items(other))
        with tracer.reads.without_order():
            return step(tracer, fn, args, kwargs)

    return look
