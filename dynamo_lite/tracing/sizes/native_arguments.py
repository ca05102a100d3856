"""Sizes in C code: in its callbacks, its arguments, and the results of the program's methods.

The rules of builtin_calls.py see the calls of the program. Handled here is C code that makes such a call itself
(`map(int, shape)`), that does not support symbolic sizes (numpy, json), or that requires a number (`__index__`).
"""

from __future__ import annotations

import collections
import itertools
import math
import operator
from collections.abc import Callable
from types import (
    FunctionType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import torch

from dynamo_lite.interpreter import datamodel
from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.calls.run_native import run_native
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.policy.native_modules import is_trusted
from dynamo_lite.tracing.sizes.builtin_calls import needs_number
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC, concrete, holds_size, number
from dynamo_lite.value_types import C_CALLABLES


def converted(tracer: TracerView, name: str, size: Any) -> Any:
    """The number that C code gets from a method that returned a size."""
    with needs_number(tracer, name):
        return number(size)


# -- C code that calls one of these itself --------------------------------------------------------------------------


def _mapped(position: int, keyword: str) -> Step:
    """map(int, shape), sorted(xs, key=len), groupby(xs, type): C calls the function, and no rule would see it."""

    def rule(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
        given = args[position] if 0 <= position < len(args) else kwargs.get(keyword)
        env = tracer.recorder.env
        if id(given) not in _CALLED_BY_C or env is None or not env.has_symbols:
            return NOT_HANDLED
        observed = _observed(tracer, given)
        if keyword in kwargs:
            return tracer.vm.call(fn, args, {**kwargs, keyword: observed})
        return tracer.vm.call(fn, (*args[:position], observed, *args[position + 1 :]), kwargs)

    return rule


_CALLED_BY_C = frozenset(id(fn) for fn in (type, int, float, len, min, max, operator.index))
"""Ids of the callables whose rules matter where C calls them."""


def _observed(tracer: TracerView, fn: Any) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        return tracer.vm.trampolines.enter(fn, args, None)

    return call


# -- C code that is given sizes --------------------------------------------------------------------------------------

_CARRIES = frozenset(
    {
        *("builtins", "math", "operator", "_operator", "itertools", "functools", "_functools", "collections"),
        *("_collections", "_collections_abc", "_heapq", "_bisect", "_abc", "types", "weakref", "_weakref"),
        *("_contextvars", "copyreg", "copy", "typing", "_typing", "contextlib", "dataclasses", "enum", "inspect"),
        *("torch", "abc", "_thread", "threading", "warnings", "_warnings", "_py_warnings", "logging", "gc", "sys"),
    }
)
"""Modules whose C functions use a number by its type's methods only, or pass it on. Others are given numbers."""

_NUMBER_TYPES = frozenset({int, float, bool, complex})


_INSISTS = frozenset({id(math.ldexp)})
"""Functions of these modules that take an int itself only, and nothing with `__index__`."""


def takes_numbers_only(fn: Any) -> bool:
    """Whether `fn` is native code that knows nothing of sizes: numpy, json, decimal, methods of int, ..."""
    kind = type(fn)
    if id(fn) in _INSISTS:
        return True
    if kind is FunctionType:
        wraps = "__wrapped__" in fn.__dict__  # a decorator passes its arguments on
        module = fn.__globals__.get("__name__") if is_trusted(fn) and not wraps else None
    elif kind in C_CALLABLES:
        owner = getattr(fn, "__objclass__", None)
        if owner in _NUMBER_TYPES:
            return True
        module = getattr(fn, "__module__", None) if owner is None else owner.__module__
    elif issubclass(kind, type):
        is_native = not is_changeable(fn)
        module = fn.__module__ if is_native else None
    else:
        is_native = type(datamodel.type_lookup(kind, "__call__")) is WrapperDescriptorType
        module = kind.__module__ if is_native else None
    return isinstance(module, str) and _takes_no_sizes(module)


def plan(tracer: TracerView, fn: Any) -> Step | None:
    """Return the step of a call plan for a callable that may need numbers. (Trust is checked in each call.)"""
    if type(fn) is FunctionType:
        module = fn.__globals__.get("__name__")
        return call_with_numbers if isinstance(module, str) and _takes_no_sizes(module) else None
    if type(fn) in C_CALLABLES and _is_torchs(fn):
        return call_with_bools
    return call_with_numbers if takes_numbers_only(fn) else None


def _is_torchs(fn: Any) -> bool:
    """Whether a C callable is a method of tensors, or a function of torch."""
    owner = getattr(fn, "__objclass__", None) or fn.__self__
    if owner is None:  # as of torch.sum, a static method of a type that it does not name
        return getattr(torch, fn.__name__, None) is fn
    module = owner.__name__ if isinstance(owner, ModuleType) else getattr(owner, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] == "torch"


def _takes_no_sizes(module: str) -> bool:
    package = module.partition(".")[0]
    return package not in _CARRIES and package != "dynamo_lite"


def _may_hold(value: Any) -> bool:
    kind = type(value)
    return kind in SYMBOLIC or issubclass(kind, (list, tuple, dict))


def call_with_numbers(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Calls native code that knows nothing of sizes with numbers; NOT_HANDLED if no size is in the arguments."""
    env = tracer.recorder.env
    if env is None or not env.has_symbols or not (any(map(_may_hold, args)) or kwargs) or not takes_numbers_only(fn):
        return NOT_HANDLED
    if not any(map(holds_size, args)) and not any(map(holds_size, kwargs.values())):
        return NOT_HANDLED
    with needs_number(tracer, getattr(fn, "__name__", type(fn).__name__)):
        args = tuple(map(concrete, args))
        kwargs = {name: concrete(value) for name, value in kwargs.items()}
    return tracer.vm.call(fn, args, kwargs)


def call_with_bools(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """Call torch's C code with a condition on sizes (`x.sum(0, keepdim=n > 2)`).

    It takes one as a number (torch.full), but not for a bool parameter: its parser raises before anything is done, and
    the condition is decided. NOT_HANDLED if there is none in the arguments.
    """
    if torch.SymBool not in map(type, (*args, *kwargs.values())):
        return NOT_HANDLED
    tracer.native_call.function = fn
    tracer.native_call.serial += 1
    try:
        return run_native(fn, args, kwargs)
    except TypeError as error:
        answer = with_bools_decided(tracer, fn, args, kwargs, error)
        if answer is NOT_HANDLED:
            raise
        return answer
    finally:
        tracer.native_call.function = None


def with_bools_decided(tracer: TracerView, fn: Any, args: tuple, kwargs: dict, error: Exception) -> Any:
    """Call again, with the conditions on sizes decided, if `error` states that the function takes bools only."""
    if type(error) is not TypeError or "SymBool" not in str(error) or type(fn) not in C_CALLABLES:
        return NOT_HANDLED
    if not _is_torchs(fn) or torch.SymBool not in map(type, (*args, *kwargs.values())):
        return NOT_HANDLED
    with needs_number(tracer, getattr(fn, "__name__", "")):
        args = tuple([bool(a) if type(a) is torch.SymBool else a for a in args])
        kwargs = {name: bool(a) if type(a) is torch.SymBool else a for name, a in kwargs.items()}
    return tracer.vm.call(fn, args, kwargs)


def make_deque(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """collections.deque(items, maxlen): of all C code that passes sizes on, it alone insists on an int here."""
    maxlen = args[1] if len(args) == 2 else kwargs.get("maxlen")
    if type(maxlen) is not torch.SymInt:
        return NOT_HANDLED
    with needs_number(tracer, "deque"):
        maxlen = int(maxlen)
    return tracer.vm.call(fn, args[:1], {**kwargs, "maxlen": maxlen})


def table() -> dict[int, Step]:
    """id(callable) → rule."""
    rows = {id(fn): _mapped(0, "") for fn in (map, filter, itertools.starmap)}
    rows[id(itertools.groupby)] = _mapped(1, "key")
    rows[id(sorted)] = _mapped(-1, "key")
    rows[id(collections.deque)] = make_deque
    return rows
