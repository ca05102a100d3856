"""`iter()` of a list whose length varies, and `next()` of such an iterator, or of a generator over a varying number of
items: the first item is computed at once, and the iterator goes on with the others.

    pieces = iter(x.split(4))
    total = next(pieces).sum(0)
    for piece in pieces: ...

A generator that has given its first item is left as one that begins with the second, which its code cannot see.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import GeneratorType
from typing import Any

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.items import consumed
from dynamo_lite.control_flow.items.computed import iterations_of_expression
from dynamo_lite.control_flow.lists.grown import GrownList
from dynamo_lite.control_flow.lists.slices import Span, sliced
from dynamo_lite.control_flow.loops.counted import Counter, Iterations
from dynamo_lite.interpreter.observer import NOT_HANDLED

Rule = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]


def _iter(tracer: Forking, value: Any) -> Any:
    iterations = value.iterations() if isinstance(value, GrownList) else None
    return NOT_HANDLED if iterations is None else consumed.as_generator(tracer, iterations)


def _next(tracer: Forking, value: Any) -> Any:
    if type(value) is not GeneratorType or tracer.depth or tracer.loops:
        return NOT_HANDLED  # a side or an iteration that is undone would not put the generator back
    frame = consumed.unstarted(value)
    if frame is None:
        return NOT_HANDLED
    held = frame.locals[0]
    iterations = held if consumed.is_of_iterations(frame) else iterations_of_expression(tracer, value)
    of = held.of if isinstance(held, Counter) else held
    if iterations is None or not isinstance(of, Iterations) or of.computes:
        return NOT_HANDLED
    if not of.count >= 1:  # a guard, if it is not a fact
        return NOT_HANDLED
    tracer.made_list = True
    item = iterations.item(0)
    later = sliced(tracer, of, Span(1, of.count, 1, of.count - 1))
    frame.locals[0] = Counter(later) if isinstance(held, Counter) else later
    return item


def _rule(make: Callable[..., Any], otherwise: Rule | None) -> Rule:
    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        made = make(tracer, *args) if len(args) == 1 and not kwargs else NOT_HANDLED
        if made is not NOT_HANDLED:
            return made
        return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)

    return rule


def attach(rules: dict[int, Rule]) -> None:
    """Put the rules into a tracer's table, before those that are there."""
    for fn, make in ((builtins.iter, _iter), (builtins.next, _next)):
        rules[id(fn)] = _rule(make, rules.get(id(fn)))
