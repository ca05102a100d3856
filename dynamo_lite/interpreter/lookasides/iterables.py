"""C callables that use the elements of an iterable: the elements are armed one by one.

Trampolines.call arms the elements of a list, tuple, dict or set. If the iterable is lazy (a generator, `map`, a dict
view's iterator), its elements appear only while the C code runs: a `map` over it arms each one on its way, and laziness
and order stay CPython's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dynamo_lite.interpreter import datamodel
from dynamo_lite.interpreter.lookasides.callbacks import through_interpreter
from dynamo_lite.value_types import HOLD_NO_FUNCTIONS, ITERATED_IN_C

_KEYS: Any = type({}.keys())
_ITEMS: Any = type({}.items())


def _over(fn: Callable[..., Any], at: int) -> Any:
    """A handler for `fn` whose argument number `at` is an iterable of operands."""

    def handler(vm: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        is_lazy = len(args) > at and type(args[at]) not in ITERATED_IN_C and _iterates(fn, args)
        if is_lazy and not are_unordered(fn, args):
            iterator = datamodel.iter_(vm, args[at])
            if fn is sorted:
                datamodel.call_length_hint(vm, args[at])
            args = (*args[:at], _Arming(vm, iterator), *args[at + 1 :])
        args, kwargs = through_interpreter(vm, fn, args, kwargs)
        return vm.trampolines.call(fn, args, kwargs)

    return handler


def _iterates(fn: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """min and max of several arguments do not iterate; an argument that cannot iterate is left to C's TypeError."""
    if (fn is min or fn is max) and len(args) > 1:
        return False
    return datamodel.type_lookup(type(args[1 if fn is functools.reduce else 0]), "__iter__") is not datamodel.MISSING


def are_unordered(fn: Any, args: tuple[Any, ...]) -> bool:
    """Whether `fn` makes the same of a dict's keys or items in any order, and calls nothing of the program's."""
    given: Any = args[0]
    if type(given) is _ITEMS:
        return fn is sorted and set(map(type, given.mapping)) <= {str}  # no two are equal: no value is compared
    if type(given) in (dict, _KEYS):
        kinds = set(map(type, given))
        if fn is sorted:
            return len(kinds) < 2 and kinds <= {str, int}
        return fn in (set, frozenset) and kinds <= HOLD_NO_FUNCTIONS
    return False


class _Arming:
    """Passes on the items of an iterator, armed. (A `map` would call the iterator's `__iter__` once more.)"""

    __slots__ = ("_arm", "_iterator")

    def __init__(self, vm: Any, iterator: Any) -> None:
        self._arm, self._iterator = vm.trampolines.arm, iterator

    def __iter__(self) -> _Arming:
        return self

    def __next__(self) -> Any:
        value = next(self._iterator)
        self._arm(value)
        return value


TABLE: dict[Any, Any] = {
    sorted: _over(sorted, 0),
    min: _over(min, 0),
    max: _over(max, 0),
    sum: _over(sum, 0),
    any: _over(any, 0),
    all: _over(all, 0),
    set: _over(set, 0),
    frozenset: _over(frozenset, 0),
    functools.reduce: _over(functools.reduce, 1),
}
