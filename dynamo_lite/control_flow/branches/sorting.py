"""`sorted(rows, key=lambda row: row.sum())`, `scored.sort(reverse=True)`: sorts whose order data decide.

C code compares the keys, which ends the run. The next one sorts in Python at that call: neighbours change places, each
by a branch on data, whose sides leave two items of a list different. The order is that of a stable sort, as CPython's
is; with keys that are nan it is not, so the program asserts that none is.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import replace
from types import CodeType
from typing import Any

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.diagnostics import RunAgain
from dynamo_lite.tracing.sizes import decisions_in_c

Place = tuple[CodeType, int]
Rule = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]
_MOST = 12
"""Items of a list that are sorted: n (n - 1) / 2 branches."""
_OPTIONS = frozenset({"key", "reverse"})


class SortsData(RunAgain):
    """A sort compares what data decide: the run is made again, and sorts in Python."""

    def __init__(self, place: Place) -> None:
        super().__init__("a sort compares numbers that data decide")
        self.place = place

    def changed(self, request: Any) -> Any:
        return replace(request, sorts=request.sorts | {self.place})


def sorts_data(tracer: Forking) -> SortsData | None:
    """The reason to run again, if C code is comparing for a sort that was not made in Python before."""
    at_work = decisions_in_c.at_work_in_c()
    if at_work is None or not any(at_work[0] is sort for sort in (builtins.sorted, list.sort)):
        return None
    place = _place(tracer)
    return None if place is None or place in tracer.sorts else SortsData(place)


def _place(tracer: Forking) -> Place | None:
    frame = tracer.vm.frame
    return None if frame is None else (frame.code, frame.pc - 1)


# -- in Python, interpreted --------------------------------------------------------------------------------------------


def _less(one: Any, other: Any) -> Any:
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        for a, b in zip(one, other):
            if a != b:
                return bool(_less(a, b))
        return len(one) < len(other)
    return bool(one < other)


def _assert_ordered(key: Any) -> Any:
    if isinstance(key, (tuple, list)):
        for part in key:
            _assert_ordered(part)
    elif key != key:
        raise ValueError("a sort by a key that is nan has no order")


def _items(values: Any) -> Any:
    return [*values]


def _sorted(values: Any, key: Any, reverse: Any) -> Any:
    items = [*values]
    keys = [*items] if key is None else [key(item) for item in items]
    if len(keys) > 1:
        for one in keys:
            _assert_ordered(one)
    for end in range(1, len(items)):
        for at in range(end, 0, -1):
            if _less(keys[at - 1], keys[at]) if reverse else _less(keys[at], keys[at - 1]):
                items[at - 1], items[at] = items[at], items[at - 1]
                keys[at - 1], keys[at] = keys[at], keys[at - 1]
    return items


def _sort(values: Any, key: Any, reverse: Any) -> Any:
    values[:] = _sorted(values, key, reverse)


_ITEMS: Any = _items


# -- the rules ---------------------------------------------------------------------------------------------------------


def rule_for(function: Any, otherwise: Rule | None) -> Rule:
    """Return a rule that sorts in Python at the calls that were shown to compare data; others are the other rule's."""

    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if tracer.sorts and _place(tracer) in tracer.sorts and len(args) == 1 and kwargs.keys() <= _OPTIONS:
            values = args[0]
            if type(values) not in (list, tuple):
                values = tracer.vm.interpret_function(_ITEMS, args)
            if type(values) in (list, tuple) and len(values) <= _MOST:
                return tracer.vm.interpret_function(function, (values, kwargs.get("key"), kwargs.get("reverse", False)))
            args = (values,)
        return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)

    return rule


def attach(rules: dict[int, Rule]) -> None:
    """Put the rules into a tracer's table, before those that are there."""
    rules[id(builtins.sorted)] = rule_for(_sorted, rules.get(id(builtins.sorted)))
    rules[id(list.sort)] = rule_for(_sort, rules.get(id(list.sort)))
