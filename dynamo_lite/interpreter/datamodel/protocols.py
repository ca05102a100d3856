"""Python's data model as opcodes and lookasides use it; every function takes the interpreter first.

One law holds for all of them: built-in functions run natively at C speed, Python functions are interpreted. See
trampolines.py for how C code's own dispatch enters the interpreter. The parts: attributes, operators and calls in the
files beside this one; containers, iteration and conversions here.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from types import FunctionType, GeneratorType
from typing import Any

from dynamo_lite.interpreter.code.sentinels import MISSING
from dynamo_lite.interpreter.datamodel.attributes import (
    type_lookup,
)
from dynamo_lite.interpreter.datamodel.operators import look_by_identity
from dynamo_lite.interpreter.observer import DELETED
from dynamo_lite.value_types import HOLD_NO_FUNCTIONS

_SEQUENCES = frozenset({list, tuple, str, bytes, range, bytearray})
_SIZED = _SEQUENCES | {dict, set, frozenset, type({}.keys()), type({}.values()), type({}.items())}
_KEYS = frozenset({str, int, bool, float, bytes, type(None), slice})
_SAMPLES: tuple[Any, ...] = ([], (), "", b"", bytearray(), range(0), range(1 << 70), {}, set())
_SIMPLE_ITERATORS = frozenset(
    {
        *map(type, map(iter, _SAMPLES)),
        type(iter({}.values())), type(iter({}.items())), type(reversed([])), type(reversed({})),
    }
)  # fmt: skip


# -- containers ------------------------------------------------------------------------------------------------


def getitem(vm: Any, container: Any, key: Any) -> Any:
    """`container[key]`; a class is subscripted by its metaclass or `__class_getitem__`."""
    kind = type(container)
    try:
        if type(key) in _KEYS and (kind in _SEQUENCES or kind is dict):
            value = container[key]
        else:
            if vm.before_write is not None and issubclass(type(container), defaultdict):
                key = key if vm.on_key is None else vm.on_key(key)
                if type(key) not in _KEYS or not dict.__contains__(container, key):
                    if type(key) in _KEYS and vm.on_look is not None:
                        vm.on_look("item", container, key)
                    vm.before_write("item", container, key, MISSING)  # a read of a key that is not there stores one
            _arm_key(vm, kind, key)
            value = vm.trampolines.apply_shallow(operator.getitem, container, key)
    except LookupError:
        if vm.on_look is not None:
            vm.on_look("key", container, key)
        raise
    return value if vm.on_read is None else vm.on_read("item", container, key, value)


def _arm_key(vm: Any, kind: type, key: Any) -> None:
    """The hash and comparison of a tuple, as a key, are made of those of its elements."""
    if issubclass(type(key), (tuple, frozenset)) and issubclass(kind, dict):
        vm.trampolines.arm(key, vm.trampolines.narrowly)


def setitem(vm: Any, container: Any, key: Any, value: Any) -> None:
    """`container[key] = value`."""
    if vm.on_key is not None and type(key) not in _KEYS and issubclass(type(container), dict):
        key = vm.on_key(key)
    if vm.before_write is not None:
        vm.before_write("item", container, key, value)
    kind = type(container)
    if (kind is dict or kind is list) and type(key) in _KEYS and type(key) is not slice:
        container[key] = value
    else:
        if type(key) is slice and isinstance(value, (set, frozenset)) and vm.on_look is not None:
            vm.on_look("items", value)  # a list takes them in the set's order
        _arm_key(vm, kind, key)
        vm.trampolines.apply_shallow(operator.setitem, container, key, value)


def delitem(vm: Any, container: Any, key: Any) -> None:
    """`del container[key]`."""
    if vm.before_write is not None:
        vm.before_write("item", container, key, DELETED)
    _arm_key(vm, type(container), key)
    vm.trampolines.apply_shallow(operator.delitem, container, key)


def contains(vm: Any, container: Any, item: Any) -> bool:
    """`item in container`: `__contains__`, else iteration, with equality as in containers."""
    kind = type(container)
    if vm.on_look is not None:
        vm.on_look("key", container, item)
    plain = kind is dict or kind is set or kind is str or kind is frozenset or kind is range
    if plain and type(item) in HOLD_NO_FUNCTIONS:
        return item in container
    if kind is list or kind is tuple:
        for part in container if type(item).__dictoffset__ else ():
            look_by_identity(vm, part, item)
    return vm.trampolines.apply(operator.contains, container, item)


def length(vm: Any, x: Any) -> int:
    """`len(x)`."""
    if vm.on_look is not None:
        vm.on_look("length", x)
    return len(x) if type(x) in _SIZED else vm.trampolines.apply_shallow(len, x)


# -- iteration -------------------------------------------------------------------------------------------------


def iter_(vm: Any, x: Any) -> Any:
    """`iter(x)`. Functions that the iterator holds (a `map` made before the run) are armed here, once."""
    if vm.on_look is not None:
        vm.on_look("keys" if issubclass(type(x), dict) else "items", x)
    if type(x) in _SIZED:
        return iter(x)
    iterator = vm.trampolines.apply_shallow(iter, x)
    if type(iterator) not in _SIMPLE_ITERATORS:
        vm.trampolines.arm_shallow(iterator, vm.trampolines.narrowly)
    return iterator


def next_(vm: Any, iterator: Any) -> Any:
    """`next(iterator)`.

    Raises: StopIteration at the end.
    """
    if type(iterator) in _SIMPLE_ITERATORS:
        return next(iterator)
    return opened_next(vm.trampolines, iterator)


def call_length_hint(vm: Any, x: Any) -> None:
    """Calls a `__len__` or `__length_hint__` in Python that C code would call first (PyObject_LengthHint).

    The result is not used, so a symbolic size stays symbolic.
    """
    length = type_lookup(type(x), "__len__")
    if type(length) is FunctionType:
        try:
            found = vm.call(length, (x,))
        except TypeError:
            return
        if isinstance(found, int) and found < 0:
            raise ValueError("__len__() should return >= 0")
    elif type(type_lookup(type(x), "__length_hint__")) is FunctionType:
        vm.trampolines.call(operator.length_hint, (x,), {})


def advance(vm: Any, iterator: Any, end: Any) -> Any:
    """`next(iterator, end)`: the next value, or `end`. Keeps a for loop free of a Python-level exception."""
    if type(iterator) in _SIMPLE_ITERATORS:
        return next(iterator, end)
    return opened_next(vm.trampolines, iterator, end)


def opened_next(trampolines: Any, *iterator_and_end: Any) -> Any:
    kind = type(iterator_and_end[0])
    if kind is not GeneratorType and kind not in trampolines.narrowly.known:
        trampolines.arm_type(kind, trampolines.narrowly)
    was = trampolines.open
    trampolines.open = True
    try:
        return next(*iterator_and_end)
    finally:
        trampolines.open = was


# -- conversions -----------------------------------------------------------------------------------------------


def _parts(vm: Any, x: Any) -> None:
    if vm.on_look is not None and type(x) not in HOLD_NO_FUNCTIONS:
        vm.on_look("parts", x)


def hash_(vm: Any, x: Any) -> int:
    _parts(vm, x)
    return hash(x) if type(x) in HOLD_NO_FUNCTIONS else vm.trampolines.apply(hash, x)


def repr_(vm: Any, x: Any) -> str:
    _parts(vm, x)
    return repr(x) if type(x) in HOLD_NO_FUNCTIONS else vm.trampolines.apply(repr, x)


def str_(vm: Any, x: Any) -> str:
    _parts(vm, x)
    return str(x) if type(x) in HOLD_NO_FUNCTIONS else vm.trampolines.apply(str, x)


def ascii_(vm: Any, x: Any) -> str:
    _parts(vm, x)
    return ascii(x) if type(x) in HOLD_NO_FUNCTIONS else vm.trampolines.apply(ascii, x)


def bytes_(vm: Any, x: Any) -> bytes:
    _parts(vm, x)
    return vm.trampolines.apply(bytes, x)


def format_(vm: Any, x: Any, spec: str = "") -> str:
    _parts(vm, x)
    return format(x, spec) if type(x) in HOLD_NO_FUNCTIONS else vm.trampolines.apply(format, x, spec)


def index_(vm: Any, x: Any) -> int:
    """`operator.index(x)`: `__index__`, an exact int."""
    return x if type(x) is int else vm.trampolines.apply_shallow(operator.index, x)


# -- types -----------------------------------------------------------------------------------------------------


def isinstance_(vm: Any, x: Any, cls: Any) -> bool:
    """`isinstance(x, cls)`, with `__instancecheck__`, `__subclasshook__` and a `__class__` property interpreted."""
    if type(x) in HOLD_NO_FUNCTIONS and type(cls) is type:
        return isinstance(x, cls)
    vm.trampolines.arm(cls, vm.trampolines.narrowly)
    return vm.trampolines.apply_shallow(isinstance, x, cls)


def issubclass_(vm: Any, x: Any, cls: Any) -> bool:
    """`issubclass(x, cls)`, with `__subclasscheck__` and `__subclasshook__` interpreted."""
    vm.trampolines.arm(cls, vm.trampolines.narrowly)
    return vm.trampolines.apply_shallow(issubclass, x, cls)
