"""type(x) and isinstance(x, C) in the program's functions: for a fake tensor or symbolic size, the result is eager's.

A function looks these names up in the globals of its module before the builtins. During the run the replacements are in
the globals of the modules whose functions use them. hash(x) is replaced too, to see its argument, and min() and max(),
which stay symbolic.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FrameType
from typing import Any

from dynamo_lite.features.identity.hashing import is_address
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.nonstrict.interfaces import NativeTrace
from dynamo_lite.tracing.calls.registry import call_type
from dynamo_lite.tracing.vocabulary.symbolic_numbers import PYTHON_TYPE, SYMBOLIC


class AskedTypes:
    """The replacements, in the globals of the modules that use them."""

    def __init__(self, tracer: NativeTrace) -> None:
        self._names: dict[str, Any] = {"type": _type_for(tracer), "isinstance": _isinstance, "hash": _hash_for(tracer)}
        self._names |= {fn.__name__: _extreme_for(tracer, fn) for fn in (min, max)}
        self._put: list[tuple[dict[str, Any], str]] = []

    def ran(self, frame: FrameType) -> None:
        """A function is about to run for the first time."""
        namespace = frame.f_globals
        for name, value in self._names.items():
            if name in frame.f_code.co_names and name not in namespace:
                namespace[name] = value
                self._put.append((namespace, name))

    def put_back(self) -> None:
        """Take the names away, unless the program has set them."""
        for namespace, name in self._put:
            if namespace.get(name) is self._names[name]:
                del namespace[name]


def _type_for(tracer: NativeTrace) -> type:
    """A class that replaces `type`: called with one argument, it returns the same as strict mode.

    It serves as a base of the program's metaclasses; their own methods are not replaced.
    """

    class Metaclass(type):
        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if cls is not stand_in:
                return super().__call__(*args, **kwargs)
            answer = call_type(tracer, type, args, kwargs)
            return type(*args, **kwargs) if answer is NOT_HANDLED else answer

        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, type) if cls is stand_in else super().__instancecheck__(instance)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, type) if cls is stand_in else super().__subclasscheck__(subclass)

        def __eq__(cls, other: object) -> bool:
            return other is cls or (cls is stand_in and other is type)

        __hash__ = type.__hash__

    stand_in = Metaclass("type", (type,), {"__new__": type.__new__})
    return stand_in


def _hash_for(tracer: NativeTrace) -> Callable[[Any], int]:
    def function(value: Any, /) -> int:
        if is_address(value):
            tracer.unsound("hash() gives another answer for another object; that of the export is a constant")
        return hash(value)

    return function


def _extreme_for(tracer: NativeTrace, fn: Callable[..., Any]) -> Callable[..., Any]:
    """min() or max(): for sizes the result is symbolic, where CPython would compare them and branch."""

    @functools.wraps(fn)
    def function(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and hasattr(type(args[0]), "__next__"):
            args = (list(args[0]),)
        answer = tracer.rules[id(fn)](tracer, fn, args, kwargs)
        return fn(*args, **kwargs) if answer is NOT_HANDLED else answer

    return function


def _isinstance(instance: Any, classes: Any, /) -> bool:
    if isinstance(instance, classes):
        return True
    return type(instance) in SYMBOLIC and issubclass(PYTHON_TYPE[type(instance)], classes)
