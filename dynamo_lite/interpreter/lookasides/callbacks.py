"""C callables that call their arguments: `map(list.append, ...)`, `sorted(xs, key=xs.append)`, `reduce(iadd, ...)`.

A Python function among the arguments has its trampoline (trampolines.py). A callable written in C has none, so that a
call of it would be the C code's own and hidden from the observer. While the program is observed it is passed inside a
`Called`, which calls it through the interpreter.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import operator
import sys
from collections.abc import Callable
from typing import Any

from dynamo_lite.value_types import C_CALLABLES

_CALL_NO_FRAME = C_CALLABLES | {
    functools.partial, operator.methodcaller, operator.attrgetter, operator.itemgetter, type(functools.lru_cache(len)),
}  # fmt: skip
_LOOK_AT_THEIR_FRAME = frozenset(
    {eval, exec, compile, globals, locals, vars, dir, sys._getframe, sys.exc_info, sys.exception, builtins.__import__}
)
"""Functions that look up the frame of their caller, which CPython does not have."""

CALLERS: dict[Any, tuple[int, str | None]] = {
    sorted: (-1, "key"),
    min: (-1, "key"),
    max: (-1, "key"),
    list.sort: (-1, "key"),
    functools.reduce: (0, None),
    map: (0, None),
    filter: (0, None),
    iter: (0, None),
    itertools.starmap: (0, None),
    itertools.accumulate: (1, "func"),
    itertools.takewhile: (0, None),
    itertools.dropwhile: (0, None),
    itertools.filterfalse: (0, None),
    itertools.groupby: (1, "key"),
}
"""C callable → the position of the callable that it calls among its arguments (-1: none), and its keyword."""


class Called:
    """Calls `fn` through the interpreter of the run that made it."""

    __slots__ = ("fn", "vm")

    def __init__(self, vm: Any, fn: Any) -> None:
        self.vm = vm
        self.fn = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        trampolines = self.vm.trampolines
        was, trampolines.open = trampolines.open, False
        try:
            return self.vm.call(self.fn, args, kwargs)
        finally:
            trampolines.open = was


def through_interpreter(
    vm: Any, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with the callable among them, if it is written in C, replaced by its `Called`."""
    if fn not in CALLERS:
        return args, kwargs
    position, keyword = CALLERS[fn]
    if 0 <= position < len(args) and _is_to_be_seen(vm, args[position]):
        if fn is iter and len(args) < 2:
            return args, kwargs
        args = (*args[:position], Called(vm, args[position]), *args[position + 1 :])
    if keyword is not None and _is_to_be_seen(vm, kwargs.get(keyword)):
        kwargs = {**kwargs, keyword: Called(vm, kwargs[keyword])}
    return args, kwargs


def _is_to_be_seen(vm: Any, fn: Any) -> bool:
    """Whether a call of `fn` must come through the interpreter: an observer listens, or `fn` looks at its frame."""
    return (type(fn) in _CALL_NO_FRAME or fn is type) and (vm.before_call is not None or fn in _LOOK_AT_THEIR_FRAME)


def _caller(fn: Any) -> Callable[..., Any]:
    def handler(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = through_interpreter(vm, fn, args, kwargs)
        result = vm.trampolines.call(fn, args, kwargs)
        return result if vm.after_native_call is None else vm.after_native_call(fn, args, kwargs, result)

    return handler


TABLE: dict[Any, Any] = {fn: _caller(fn) for fn in CALLERS}
