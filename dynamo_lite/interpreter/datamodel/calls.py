"""Calling a class: metaclass `__call__`, then `__new__` and `__init__` (type.__call__)."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from dynamo_lite.interpreter.code.sentinels import MISSING
from dynamo_lite.interpreter.code.type_flags import HEAP_OR_IMMUTABLE, HEAP_TYPE
from dynamo_lite.interpreter.datamodel.attributes import getattr_, lookup_special, type_lookup

_NOT_INSTANTIABLE = 1 << 7
_is_subtype = type.__subclasscheck__


def call_class(vm: Any, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`cls(*args, **kwargs)`. Python-level parts are interpreted, built-in ones run natively.

    Raises: TypeError with CPython's messages, and whatever the class's own code raises.
    """
    metaclass = type(cls)
    if metaclass is not type:
        call = type_lookup(metaclass, "__call__")
        if type(call) is FunctionType:
            return vm.call(call, (cls, *args), kwargs)
        if call is not _type_call:
            return vm.call(lookup_special(vm, cls, "__call__"), args, kwargs)
    return construct(vm, cls, args, kwargs)


def construct(vm: Any, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Implements `type.__call__`: `__new__`, then `__init__` if the result is an instance of `cls`."""
    flags = cls.__flags__
    if flags & _NOT_INSTANTIABLE or (len(args) != 3 if cls is type else flags & HEAP_OR_IMMUTABLE != HEAP_TYPE):
        return native(vm, cls, args, kwargs)
    finalizer = type_lookup(cls, "__del__")
    if type(finalizer) is FunctionType:
        vm.trampolines.arm_function(finalizer)  # the object may die while the program runs
    new = type_lookup(cls, "__new__")
    function = new.__func__ if type(new) is staticmethod else new
    if type(function) is FunctionType:
        made = vm.call(function, (cls, *args), kwargs)
    elif new is _object_new and not args and not kwargs:
        made = new(cls)
    elif type(function) is _BUILTIN:
        made = vm.call(function, (cls, *args), kwargs)
    else:
        made = vm.call(getattr_(vm, cls, "__new__"), (cls, *args), kwargs)
    if type(made) is cls or _is_subtype(cls, type(made)):
        initialise(vm, made, args, kwargs)
    return made


def initialise(vm: Any, made: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Runs the `__init__` of `made`'s type."""
    init = type_lookup(type(made), "__init__")
    if type(init) is FunctionType:
        returned = vm.call(init, (made, *args), kwargs)
    elif init is _object_init and not args and not kwargs:
        return
    elif type(init) is _SLOT_WRAPPER:
        returned = native(vm, init, (made, *args), kwargs)
    elif init is MISSING:
        return
    else:
        returned = vm.call(lookup_special(vm, made, "__init__"), args, kwargs)
    if returned is not None:
        raise TypeError(f"__init__() should return None, not '{type(returned).__name__}'")


def native(vm: Any, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A native call with trampolines open, reported to the observer."""
    result = vm.trampolines.call(fn, args, kwargs)
    return result if vm.after_native_call is None else vm.after_native_call(fn, args, kwargs, result)


_type_call = type.__dict__["__call__"]
_object_new = object.__dict__["__new__"]
_object_init = object.__dict__["__init__"]
_BUILTIN = type(len)
_SLOT_WRAPPER = type(object.__init__)
