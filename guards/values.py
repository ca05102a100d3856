"""Comparing and describing the values that guards hold. Never runs a `__eq__` or a `__repr__` of the user's."""

from __future__ import annotations

import collections
import enum
import math
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from dynamo_lite.value_types import ATOMS

_ATOMS = frozenset(ATOMS)


def is_atom(value: Any) -> bool:
    """Whether `value` is an atom or a tuple, slice or frozenset of atoms, all of the exact types."""
    kind = type(value)
    if kind in _ATOMS:
        return True
    if kind is tuple or kind is frozenset:
        return all(map(is_atom, value))
    return kind is slice and all(is_atom(part) for part in (value.start, value.stop, value.step))


def same_atom(found: Any, expected: Any) -> bool:
    """Equal in type and value: 1 is not True, 0.0 is not -0.0, nan is nan. `expected` satisfies `is_atom`."""
    if found is expected:
        return True
    kind = type(expected)
    if type(found) is not kind:
        return False
    if kind is float:
        return _same_float(found, expected)
    if kind is complex:
        return _same_float(found.real, expected.real) and _same_float(found.imag, expected.imag)
    if kind is tuple:
        return len(found) == len(expected) and all(map(same_atom, found, expected))
    if kind is slice:
        return all(same_atom(getattr(found, end), getattr(expected, end)) for end in ("start", "stop", "step"))
    if kind is frozenset:
        return same_set(found, expected)
    return bool(found == expected)


def _same_float(found: float, expected: float) -> bool:
    if found == expected:
        return found != 0.0 or math.copysign(1.0, found) == math.copysign(1.0, expected)
    return found != found and expected != expected


def same_keys(found: Any, expected: list[Any]) -> bool:
    """Whether a dict has exactly these keys, in this order. Keys that are not atoms are compared by identity."""
    keys = list(dict.keys(found)) if not isinstance(found, collections.OrderedDict) else ordered_keys(found)
    if len(keys) != len(expected):
        return False
    return all(a is b or (is_atom(b) and same_atom(a, b)) for a, b in zip(keys, expected))


def ordered_keys(found: Any) -> list[Any]:
    """The keys of an OrderedDict in its own order, past any override."""
    return list(collections.OrderedDict.__iter__(found))


def same_set(found: Any, expected: Any) -> bool:
    """Whether two sets hold the same atoms (exact types), or the same objects."""
    if set.__len__(found) != len(expected) if isinstance(found, set) else len(found) != len(expected):
        return False
    items = set.__iter__(found) if isinstance(found, set) else frozenset.__iter__(found)
    if all(type(item) in _HASH_BY_VALUE for item in expected):
        kinds = {(type(item), item) for item in expected}
        return all(type(item) in _HASH_BY_VALUE and (type(item), item) in kinds for item in items)
    return {id(item) for item in items} == {id(item) for item in expected}


_HASH_BY_VALUE = frozenset({int, str, bytes, bool, type(None)})


def atoms_of(value: Any) -> Iterator[Any]:
    """The items of a built-in sequence or set, past any override."""
    kinds: tuple[Any, ...] = (list, tuple, collections.deque, set, frozenset)
    kind = next(base for base in kinds if isinstance(value, base))
    return iter(kind.__iter__(value))


def same_items(found: Any, expected: list[Any]) -> bool:
    """Whether a list, tuple or deque holds exactly these atoms."""
    items = list(atoms_of(found))
    return len(items) == len(expected) and all(map(same_atom, items, expected))


def describe(value: Any, limit: int = 80) -> str:
    """`value` in a few words, without calling anything of the user's."""
    if isinstance(value, enum.Enum) and type(value).__repr__ is enum.Enum.__repr__:
        return f"{type(value).__qualname__}.{value._name_}"
    if isinstance(value, type):
        return f"the class {value.__module__}.{value.__qualname__}"
    if is_atom(value):
        return _cut(repr(value), limit)
    kind = type(value)
    if kind is list and all(map(is_atom, value)):
        return _cut(repr(value), limit)
    if kind in (list, tuple, dict, set, frozenset, collections.deque):
        return f"a {kind.__name__} of {len(value)}"
    if kind in (FunctionType, BuiltinFunctionType):
        return f"the function {value.__qualname__}"
    if kind is ModuleType:
        return f"the module {value.__name__}"
    return f"a {kind.__module__}.{kind.__qualname__}" if kind.__module__ != "builtins" else f"a {kind.__qualname__}"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
