"""Calls that a tracer answers where branches on data are captured: bool, any, all, max, min, range."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists import uses
from dynamo_lite.control_flow.loops import heads
from dynamo_lite.control_flow.unlike import answers, layouts
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

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


def _largest(values: Any, key: Any) -> Any:
    result_of_max, *others = values
    most = result_of_max if key is None else key(result_of_max)
    for item in others:
        one = item if key is None else key(item)
        if one > most:
            result_of_max, most = item, one
    return result_of_max


def _smallest(values: Any, key: Any) -> Any:
    result_of_min, *others = values
    least = result_of_min if key is None else key(result_of_min)
    for item in others:
        one = item if key is None else key(item)
        if one < least:
            result_of_min, least = item, one
    return result_of_min


def _extreme(function: Any, otherwise: Rule | None) -> Rule:
    """max or min written in Python, where tensors are compared; of numbers alone it is the other rule's."""

    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        values = args[0] if len(args) == 1 else args
        known = type(values) in (list, tuple) or is_tensor(values)
        if known and kwargs.keys() <= {"key", "default"} and _holds_tensors(values):
            return tracer.vm.interpret_function(function, (values, kwargs.get("key")))
        return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)

    return rule


def _holds_tensors(values: Any) -> bool:
    return values.ndim > 0 and len(values) > 0 if is_tensor(values) else any(map(is_tensor, values))


def attach(rules: dict[int, Rule], makes_lists: bool) -> None:
    """Put the rules into a tracer's table, before those that are there."""
    rules[id(builtins.bool)] = call_bool
    rules[id(builtins.any)], rules[id(builtins.all)] = _in_python(_any), _in_python(_all)
    rules[id(builtins.max)] = _extreme(_largest, rules.get(id(builtins.max)))
    rules[id(builtins.min)] = _extreme(_smallest, rules.get(id(builtins.min)))
    heads.attach(rules, makes_lists)
    layouts.attach(rules)
    answers.attach(rules)
    uses.attach(rules, makes_lists)
