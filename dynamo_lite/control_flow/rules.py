"""Calls that a tracer answers where branches on data are captured: bool, any, all, max, min, range."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from dynamo_lite.control_flow.branches import extremes, sorting
from dynamo_lite.control_flow.differences import answers, layouts
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.items import advanced, consumed
from dynamo_lite.control_flow.lists import uses
from dynamo_lite.control_flow.loops import heads
from dynamo_lite.interpreter.observer import NOT_HANDLED

Rule = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]


def call_bool(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """bool(x) of what depends on data: symbolic."""
    if len(args) == 1 and not kwargs and tracer.predicates.depends_on_data(args[0]):
        known = tracer.known_truth(args[0])
        return tracer.predicates.truth(args[0]) if known is None else known
    return NOT_HANDLED


def _any(iterable: Any) -> bool:
    for item in iterable:  # noqa: SIM110
        if item:
            return True
    return False


def _all(iterable: Any) -> bool:
    for item in iterable:  # noqa: SIM110
        if not item:
            return False
    return True


def _in_python(function: Any) -> Rule:
    """The builtin written in Python, whose branches are the program's."""

    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) != 1 or kwargs:
            return NOT_HANDLED
        return tracer.vm.interpret_function(function, args, kwargs)

    return rule


def attach(rules: dict[int, Rule], makes_lists: bool) -> None:
    """Put the rules into a tracer's table, before those that are there."""
    rules[id(builtins.bool)] = call_bool
    rules[id(builtins.any)], rules[id(builtins.all)] = _in_python(_any), _in_python(_all)
    if makes_lists:
        consumed.attach(rules)
        advanced.attach(rules)
    extremes.attach(rules)
    sorting.attach(rules)
    heads.attach(rules, makes_lists)
    layouts.attach(rules)
    answers.attach(rules)
    uses.attach(rules, makes_lists)
