"""Calls that a tracer answers where branches on data are captured: bool, any, all, range."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import torch

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.loops.counted import CountedRange
from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

Rule = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]


def call_bool(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """bool(x) of what depends on data: symbolic."""
    if len(args) == 1 and not kwargs and tracer.predicates.depends_on_data(args[0]):
        return tracer.predicates.truth(args[0])
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


def _range(otherwise: Rule) -> Rule:
    """range(n) of a number that only run time knows, at the head of a `for` statement."""

    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        frame = tracer.vm.frame
        assert frame is not None
        if kwargs or not 1 <= len(args) <= 3 or frame.info.ops[frame.pc][0] is not HANDLERS["GET_ITER"]:
            return otherwise(tracer, fn, args, kwargs)
        args = tuple(_number(tracer, a) if is_tensor(a) and a.numel() == 1 else a for a in args)
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1) if len(args) == 2 else args
        if not any(map(_is_unknown, args)) or type(step) is not int or step <= 0:
            return otherwise(tracer, fn, args, kwargs)
        return CountedRange(tracer, start, stop, step)

    return rule


def _number(tracer: Forking, value: Any) -> Any:
    return value if value.is_floating_point() else tracer.vm.call(torch.Tensor.item, (value,))


def _is_unknown(value: Any) -> bool:
    return type(value) is torch.SymInt and not value.node.has_hint()


def attach(rules: dict[int, Rule]) -> None:
    """Put the rules into a tracer's table, before those that are there."""
    rules[id(builtins.bool)] = call_bool
    rules[id(builtins.any)], rules[id(builtins.all)] = _in_python(_any), _in_python(_all)
    rules[id(builtins.range)] = _range(rules[id(builtins.range)])
