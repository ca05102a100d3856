"""Where `x.name` comes from, found without running any code of the program."""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Container
from functools import partial
from typing import Any, NamedTuple

from dynamo_lite.guards.source import local_dict
from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.interpreter.code.type_members import mro_of, namespace_of


class ClassEntry(NamedTuple):
    """The entry of the namespace of `cls` under a name."""

    cls: type
    value: Any


_new_entry: Callable[[Any], ClassEntry] = partial(
    tuple.__new__, ClassEntry
)  # a NamedTuple's constructor is a Python function


def mro(cls: type) -> tuple[type, ...]:
    """The method resolution order, past a metaclass's override."""
    found: tuple[type, ...] = mro_of(cls)
    return found


def namespace(cls: type) -> Any:
    """The class's own namespace, past a metaclass's `__dict__`."""
    return namespace_of(cls)


def entry(cls: type, name: str) -> ClassEntry | None:
    """Return the entry that lookup on the type finds: that of the first class of the MRO that has `name`."""
    for base in mro_of(cls):
        space = namespace_of(base)
        if name in space:
            return _new_entry((base, space[name]))
    return None


def instance_dict(value: Any) -> dict[str, Any] | None:
    """The instance's own `__dict__`, None if it has none."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return local_dict(value) if issubclass(type(value), threading.local) else None
    return found if isinstance(found, dict) else None


def comes_first(value: Any) -> bool:
    """Whether a class attribute is read before the instance's own: it defines __get__, and __set__ or __delete__."""
    kind = type(value)
    if entry(kind, "__set__") is None and entry(kind, "__delete__") is None:
        return False
    return entry(kind, "__get__") is not None


def is_c_member(value: Any) -> bool:
    """A slot, or an attribute that C code computes: reading it runs no Python."""
    return type(value) in (types.MemberDescriptorType, types.GetSetDescriptorType)


def runs_python(descriptor: Any) -> bool:
    """Whether reading the attribute runs Python functions (a property, a descriptor class of the program)."""
    getter = entry(type(descriptor), "__get__")
    return type(descriptor) is property or (getter is not None and type(getter.value) is types.FunctionType)


def functions_in(value: Any) -> tuple[types.FunctionType, ...]:
    """Return the Python functions of a class attribute: itself, or those that a descriptor wraps."""
    kind = type(value)
    if kind is types.FunctionType:
        return (value,)
    if kind in (staticmethod, classmethod):
        return functions_in(value.__func__)
    if kind is property:
        return tuple(f for part in (value.fget, value.fset, value.fdel) for f in functions_in(part))
    held = instance_dict(value) if is_changeable(kind) else None  # cached_property, partialmethod, ...
    return tuple(f for f in (held or {}).values() if type(f) is types.FunctionType)


def functions_among(cls: type, ids: Container[int]) -> list[tuple[str, Any, types.FunctionType]]:
    """Return (name, attribute, function) for the attributes of the class itself whose function has such an id."""
    found = []
    for name, value in namespace_of(cls).items():
        if type(value) is types.FunctionType:
            if id(value) in ids:
                found.append((name, value, value))
        elif type(value) not in _PLAIN and (type(value) in _WRAPPERS or is_changeable(type(value))):
            function = next((f for f in functions_in(value) if id(f) in ids), None)
            if function is not None:
                found.append((name, value, function))
    return found


_WRAPPERS = frozenset({staticmethod, classmethod, property})
_PLAIN = frozenset({str, int, bool, float, tuple, dict, list, type(None), types.GetSetDescriptorType})
"""Types of class attributes that hold no function."""


def binds(value: Any) -> bool:
    """Whether reading the attribute from the class gives something else than `value`."""
    return type(value) is not types.FunctionType and entry(type(value), "__get__") is not None
