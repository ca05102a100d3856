"""max and min of tensors, as the branches that they are: the result is one of the values, each of its own kind."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.loops.counted import is_open_size
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

Rule = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]


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


def rule_for(function: Any, otherwise: Rule | None) -> Rule:
    """Return a rule that runs max or min in Python on tensors; for numbers alone it is the other rule.

    Its result is passed on unchanged (branches/calls.py): if one side has a tensor and the other a number, the sides
    run on in the caller.
    """

    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        values = args[0] if len(args) == 1 else args
        known = type(values) in (list, tuple) or (is_tensor(values) and not any(map(is_open_size, values.shape[:1])))
        if known and kwargs.keys() <= {"key", "default"} and _holds_tensors(values):
            return tracer.vm.interpret_function(function, (values, kwargs.get("key")))
        return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)

    return rule


def _holds_tensors(values: Any) -> bool:
    return values.ndim > 0 and len(values) > 0 if is_tensor(values) else any(map(is_tensor, values))


def attach(rules: dict[int, Rule]) -> None:
    """Put the rules into a tracer's table, before those that are there."""
    rules[id(builtins.max)] = rule_for(_largest, rules.get(id(builtins.max)))
    rules[id(builtins.min)] = rule_for(_smallest, rules.get(id(builtins.min)))
