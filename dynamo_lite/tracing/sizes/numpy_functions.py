"""numpy's functions of sizes: `int(np.ceil(n / 128))`, `x.view(-1, np.prod(x.shape[1:]))` stay symbolic.

numpy returns scalars of its own classes, which have no symbolic form: they have methods that numbers lack, and the
program may query their type. So a result is symbolic only if the instruction after the call passes it to a function
that uses it as a number: int, float, math, another one of this table, `view` and its like. Anywhere else numpy gets the
numbers. (A product of sizes is numpy's as long as it is below 2**63, which no memory holds.)
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any

import torch

from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.code.sentinels import NULL
from dynamo_lite.interpreter.datamodel.callees import callee_key
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_tensors import TensorBase
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC, holds_size, real_type

_NUMBERS = frozenset({int, float})
_LISTS = (list, tuple, torch.Size)
_C_FUNCTIONS = frozenset({BuiltinFunctionType, MethodDescriptorType})
_CALLS = HANDLERS["CALL"]
_LOADS = frozenset(HANDLERS[name] for name in ("LOAD_CONST", "LOAD_FAST"))
_MATH = frozenset(id(member) for member in vars(math).values() if type(member) is BuiltinFunctionType)


_TAKE_SIZES = frozenset(
    id(getattr(TensorBase, name)) for name in ("view", "reshape", "expand", "repeat", "chunk", "narrow", "new_zeros")
)
"""Methods of tensors that take a size. (torch.tensor, for one, makes another dtype of a scalar of numpy's.)"""


def _of_one(compute: Callable[[Any], Any]) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        return compute(args[0]) if len(args) == 1 and type(args[0]) in SYMBOLIC else NOT_HANDLED

    return function


def _of_two(fold: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        return fold(*args) if len(args) == 2 and _is_one_type(args) else NOT_HANDLED

    return function


def _of_list(compute: Callable[[Any], Any], types: frozenset[type]) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        if len(args) != 1 or type(args[0]) not in _LISTS or not _is_one_type(args[0], types):
            return NOT_HANDLED
        return compute(args[0])

    return function


def _is_one_type(values: Any, types: frozenset[type] = _NUMBERS) -> bool:
    kinds = set(map(real_type, values))
    return len(kinds) == 1 and kinds <= types


def _rounding(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of floats that gives a float without a fraction; an int stays as it is (numpy 2.1)."""
    return lambda value: value if real_type(value) is int else torch.sym_float(function(value))


def _root(value: Any) -> Any:
    return NOT_HANDLED if value < 0 else torch.sym_sqrt(value)


_INTS = frozenset({int})
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _of_one(_rounding(getattr(math, name))) for name in ("ceil", "floor", "trunc")},
    **{name: _of_one(_rounding(round)) for name in ("rint", "round", "around")},
    **dict.fromkeys(("abs", "absolute"), _of_one(abs)),
    "sqrt": _of_one(_root),
    "prod": _of_list(math.prod, _INTS),  # of floats the order matters, and is numpy's own
    "sum": _of_list(sum, _INTS),
    "maximum": _of_two(torch.sym_max),
    "minimum": _of_two(torch.sym_min),
    **dict.fromkeys(("max", "amax"), _of_list(lambda values: functools.reduce(torch.sym_max, values), _NUMBERS)),
    **dict.fromkeys(("min", "amin"), _of_list(lambda values: functools.reduce(torch.sym_min, values), _NUMBERS)),
}
"""Name of a function of numpy → its implementation on sizes; NOT_HANDLED for other arguments."""


def _rule(functions: dict[int, Callable[..., Any]]) -> Step:
    def rule(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        env = tracer.recorder.env
        if kwargs or env is None or not env.has_symbols or not any(map(holds_size, args)):
            return NOT_HANDLED
        taker = _taker(tracer, functions)
        if taker is None:
            return NOT_HANDLED
        result = functions[id(fn)](*args)
        if result is NOT_HANDLED or real_type(_in_example(result)) is not _kind(fn, args):
            return NOT_HANDLED
        return result

    return rule


def _kind(fn: Any, args: tuple[Any, ...]) -> type | None:
    """int or float, of which numpy gives its own kind here (ceil of an int was a float before numpy 2.1)."""
    import numpy

    found = fn(*map(_in_example, args))
    return int if isinstance(found, numpy.integer) else float if isinstance(found, numpy.floating) else None


def _in_example(value: Any) -> Any:
    """Return a number for each size, of the same type: only the result's type is used."""
    if type(value) in _LISTS:
        return [_in_example(item) for item in value]
    return real_type(value)(2) if type(value) in SYMBOLIC else value


def _taker(tracer: TracerView, functions: dict[int, Callable[..., Any]]) -> Any:
    """The callable to which the instructions after the call hand its result and nothing made of it; None if another
    thing happens to the result, or is not known to happen."""
    frame = tracer.vm.frame if tracer.sees_python else None
    if frame is None or frame.info.ops[frame.pc - 1][0] is not _CALLS:
        return None
    if type(tracer.native_call.function) in _C_FUNCTIONS:  # C code calls, and gets the result
        return None
    ops, at, above = frame.info.ops, frame.pc, 1
    while ops[at][0] in _LOADS:
        at, above = at + 1, above + 1
    handler, count = ops[at]
    if handler is not _CALLS or count < above:
        return None
    first = len(frame.stack) - (count - above)
    second, callee = frame.stack[first - 1], frame.stack[first - 2]
    taker, _ = callee_key(second if callee is NULL else callee, ())
    takes_number = taker is int or taker is float or id(taker) in functions or id(taker) in _MATH
    return taker if (count == 1 and takes_number) or id(taker) in _TAKE_SIZES else None


def table() -> dict[int, Step]:
    """id(callable) → rule, if the program can have numpy."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return {}
    functions = {id(getattr(numpy, name)): function for name, function in _FUNCTIONS.items()}
    return dict.fromkeys(functions, _rule(functions))
