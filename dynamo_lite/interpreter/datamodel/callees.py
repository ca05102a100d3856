"""The target of a call: the callable that tables are keyed by. A bound C method is its type's descriptor."""

from __future__ import annotations

from types import (
    ClassMethodDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final

from dynamo_lite.interpreter.code.sentinels import MISSING
from dynamo_lite.interpreter.code.type_flags import HEAP_OR_IMMUTABLE, HEAP_TYPE
from dynamo_lite.interpreter.code.type_members import mro_of, namespace_of
from dynamo_lite.interpreter.datamodel.attributes import type_lookup
from dynamo_lite.value_types import BOUND_METHODS_OF_C

C_SLOTS: Final = frozenset({WrapperDescriptorType, MethodDescriptorType})
_static_methods: dict[tuple[type, str], Any] = {}
"""type_lookup for types that cannot change."""


def _overridden(cls: type, name: str, kind: type, otherwise: Any) -> Any:
    """The method bound by super() where a class written in Python overrides it: the first one in C that follows."""
    for base in mro_of(cls) or ():
        found = namespace_of(base).get(name)
        if type(found) is kind:
            return found
    return otherwise


def _find_method(cls: type, name: str) -> Any:
    if cls.__flags__ & HEAP_OR_IMMUTABLE == HEAP_TYPE:
        return type_lookup(cls, name)
    found = _static_methods.get((cls, name))
    if found is None:
        found = _static_methods[cls, name] = type_lookup(cls, name)
    return found


def callee_key(fn: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """(the callable that tables are keyed by, its arguments): a bound C method becomes its type's descriptor."""
    if type(fn) in BOUND_METHODS_OF_C:
        self = fn.__self__
        if self is None or type(self) is ModuleType or fn.__name__ == "__new__":
            # (__new__ takes its class as an argument)
            return fn, args
        kind = type(self)
        if issubclass(kind, type):
            found = type_lookup(self, fn.__name__)
            if found is not MISSING and type(found) is not ClassMethodDescriptorType:
                found = _overridden(self, fn.__name__, ClassMethodDescriptorType, found)
            if type(found) is ClassMethodDescriptorType:
                return found, (self, *args)
        found = _find_method(kind, fn.__name__)
        if found is not MISSING and type(found) is not MethodDescriptorType:
            found = _overridden(kind, fn.__name__, MethodDescriptorType, found)
        return (fn, args) if found is MISSING else (found, (self, *args))
    if type(fn) is MethodWrapperType:
        return fn.__objclass__.__dict__[fn.__name__], (fn.__self__, *args)
    return fn, args
