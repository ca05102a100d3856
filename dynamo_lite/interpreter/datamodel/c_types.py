"""Python functions that C code may call through its operands: the types that lead to none, those that hold some, and
the callables that only inspect their operands.
"""

from __future__ import annotations

import _abc
import gc
import itertools
import sys
import types
from collections import OrderedDict, deque
from typing import Any

from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.interpreter.code.type_members import namespace_of
from dynamo_lite.value_types import C_FUNCTIONS

_HOLDER_MODULES = frozenset(
    {
        "builtins",
        "itertools",
        "functools",
        "_functools",
        "collections",
        "_collections",
        "operator",
        "_operator",
        "numpy",
    }
)
_HAVE_GC = 1 << 14


def holds_functions(kind: type) -> bool:
    """Whether instances of this standard type may hold functions that C code calls (map, partial, ...)."""
    if not kind.__flags__ & _HAVE_GC or issubclass(kind, type):
        return False
    module = namespace_of(kind).get("__module__") if is_changeable(kind) else kind.__module__
    return module in _HOLDER_MODULES


def is_array_type(kind: type) -> bool:
    """Whether instances are numpy arrays."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and issubclass(kind, getattr(numpy, "ndarray", ()))


def elements_of(value: Any) -> list[Any]:
    """The elements of a container, read by C so that no override of a subclass runs."""
    kind = type(value)
    if issubclass(kind, list):
        return list.__getitem__(value, slice(None))
    if issubclass(kind, tuple):
        return list(tuple.__iter__(value))
    if issubclass(kind, dict):
        return [*dict.keys(value), *dict.values(value)]
    if issubclass(kind, deque):
        return list(deque.__iter__(value))
    if issubclass(kind, (set, frozenset)):
        return list((set if issubclass(kind, set) else frozenset).__iter__(value))
    return [item for held in gc.get_referents(value) if issubclass(type(held), dict) for item in elements_of(held)]


_SAMPLES: tuple[Any, ...] = ([], (), {}, set(), "", b"", range(0), {}.values(), {}.items())
SHALLOW_KINDS: frozenset[type] = frozenset(
    {*map(type, map(iter, _SAMPLES)), type(reversed([])), type(reversed({})), enumerate, zip, itertools.count}
)
"""Iterators that call nothing themselves; `map`, `filter` and the like hold a function and are looked into."""

SHALLOW: frozenset[Any] = frozenset(
    {
        len, id, type, iter, next, getattr, setattr, delattr, hasattr, callable, hash,
        list.append, list.pop, list.insert, list.clear, list.copy, list.reverse, list.extend, list.__len__,
        list.__getitem__, list.__setitem__, list.__delitem__, list.__iter__,
        tuple.__len__, tuple.__getitem__, tuple.__iter__,
        dict.get, dict.pop, dict.setdefault, dict.keys, dict.values, dict.items, dict.copy, dict.clear,
        dict.popitem, dict.update, dict.__getitem__, dict.__setitem__, dict.__delitem__, dict.__contains__,
        deque.append, deque.appendleft, deque.pop, deque.popleft, deque.rotate, deque.clear, deque.__len__,
        deque.__getitem__, deque.__setitem__,
        dict.__len__, set.add, set.discard, set.remove, set.pop, set.clear, set.copy, set.__contains__, set.__len__,
        object.__setattr__, object.__getattribute__, object.__delattr__, object.__init__, object.__new__,
    }
)  # fmt: skip
"""C callables that use the operands and the keys they are given, but do not walk through a container's elements.

(A key of a user type arms that type; keys stored in a dict beside it are then armed as well unless they are of
another user type with the same hash that the program never touched.)"""

_METHODS = C_FUNCTIONS - {types.ClassMethodDescriptorType}  # dict.fromkeys iterates over its argument
_PLAIN_CLASSES: tuple[type, ...] = (
    object, list, tuple, dict, set, frozenset, OrderedDict, deque, str, bytes, bytearray, int, float, complex, bool,
    range, slice, enumerate, zip, reversed, types.MappingProxyType,
    type({}.keys()), type({}.values()), type({}.items()),
)  # fmt: skip
NEW: frozenset[Any] = frozenset(cls.__new__ for cls in _PLAIN_CLASSES)
NARROW: frozenset[Any] = frozenset(
    {
        *SHALLOW,
        *(cls for cls in _PLAIN_CLASSES if cls is not object),
        *(member for cls in _PLAIN_CLASSES for member in vars(cls).values() if type(member) in _METHODS),
        *NEW,
        *(_abc._abc_instancecheck, _abc._abc_subclasscheck),
        *(repr, ascii, format, isinstance, issubclass, any, all, sum, abs, divmod, round, super, type.__repr__),
        *(itertools.chain, itertools.islice, itertools.product, itertools.count, itertools.cycle, itertools.repeat),
    }
)  # fmt: skip
"""C callables that call special methods and methods of protocols alone, where no function is handed over (`key=`)."""
