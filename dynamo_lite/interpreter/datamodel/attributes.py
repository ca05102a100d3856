"""Attributes: `x.a`, `x.a = v`, `del x.a`, and special methods looked up on the type.

CPython's own getattr decides (data descriptor, instance dict, other class attribute, `__getattr__`; module
`__getattr__`; metaclass attributes; super()); the Python functions it meets on the way are entered by trampolines.
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType, ModuleType, WrapperDescriptorType
from typing import Any, Final

from dynamo_lite.interpreter.code.sentinels import MISSING
from dynamo_lite.interpreter.code.type_members import mro_of, namespace_of
from dynamo_lite.interpreter.datamodel.trampoline_code import original_code
from dynamo_lite.interpreter.observer import DELETED
from dynamo_lite.value_types import HOLD_NO_FUNCTIONS

_C_METHODS = (MethodDescriptorType, WrapperDescriptorType)

QUIET: Final = (HOLD_NO_FUNCTIONS - {object}) | {list, dict, tuple, set, frozenset}
"""Types whose operations by themselves run no Python code."""
_QUIET_ATTRIBUTES = QUIET - {ModuleType}  # a module may have a `__getattr__`
_module_dict: Any = vars(ModuleType)["__dict__"].__get__


def type_lookup(cls: type, name: str) -> Any:
    """The attribute `name` of `cls` or its bases, unbound, or MISSING (CPython's _PyType_Lookup)."""
    for base in mro_of(cls) or ():
        namespace = namespace_of(base)
        if name in namespace:
            return namespace[name]
    return MISSING


def lookup_special(vm: Any, obj: Any, name: str) -> Any:
    """The special method `name` of `obj`, looked up on its type and bound; MISSING if the type has none."""
    cls = type(obj)
    found = type_lookup(cls, name)
    if found is MISSING:
        return MISSING
    kind = type(found)
    if kind is FunctionType:
        return MethodType(found, obj)
    if kind in _C_METHODS:
        return found.__get__(obj, cls)
    if kind is BuiltinFunctionType:  # it does not bind: `__call__ = abs`
        return found
    getter = type_lookup(kind, "__get__")
    if getter is MISSING:
        return found
    if type(getter) is FunctionType:
        return vm.call(getter, (found, obj, cls))
    return vm.trampolines.apply_shallow(getter, found, obj, cls)


def _arm_annotate(vm: Any, obj: Any) -> None:
    """Arms what reading `obj.__annotations__` calls since 3.14 (PEP 649). (A class' own is in its namespace.)"""
    kind = type(obj)
    if kind is MethodType:
        obj, kind = obj.__func__, type(obj.__func__)
    if kind is FunctionType:
        vm.trampolines.arm(getattr(obj, "__annotate__", None))
    elif kind is ModuleType:
        vm.trampolines.arm((_module_dict(obj) or {}).get("__annotate__"))


def getattr_(vm: Any, obj: Any, name: str) -> Any:
    """`obj.name`.

    Raises: AttributeError as CPython does (with `name` and `obj` set); whatever a getter raises.
    """
    kind = type(obj)
    if name == "__annotations__":
        _arm_annotate(vm, obj)
    try:
        if kind in _QUIET_ATTRIBUTES:
            value = getattr(obj, name)
        elif name == "__code__" and (kind is FunctionType or kind is MethodType):
            value = original_code(obj.__code__)
        else:
            trampolines = vm.trampolines  # apply_shallow, unrolled: this is the interpreter's most frequent operation
            armed = trampolines.narrowly
            is_class = armed.known.get(kind)
            if is_class is None:
                is_class = trampolines.arm_type(kind, armed)
            if is_class and not (issubclass(kind, type) and obj in armed.known):  # a class that is armed
                trampolines.arm_operand(obj, armed)
            elif kind is ModuleType and name not in (namespace := _module_dict(obj) or {}):
                trampolines.arm(namespace.get("__getattr__"))
            was = trampolines.open
            trampolines.open = True
            try:
                value = getattr(obj, name)
            finally:
                trampolines.open = was
    except AttributeError:
        if vm.on_look is not None:
            vm.on_look("attr", obj, name)
        raise
    return value if vm.on_read is None else vm.on_read("attr", obj, name, value)


def setattr_(vm: Any, obj: Any, name: str, value: Any) -> None:
    """`obj.name = value`. A function stored on a class gets its trampoline: the class may be in use by C already."""
    if vm.before_write is not None and vm.before_write("attr", obj, name, value):
        return
    if name == "__code__" and type(obj) is FunctionType:
        vm.trampolines.disarm(obj)  # CPython compares the new code with the old, which must be the program's
    vm.trampolines.apply_shallow(setattr, obj, name, value)
    if issubclass(type(obj), type):
        class_changed(vm, obj, name, value)


def delattr_(vm: Any, obj: Any, name: str) -> None:
    """`del obj.name`."""
    if vm.before_write is not None and vm.before_write("attr", obj, name, DELETED):
        return
    vm.trampolines.apply_shallow(delattr, obj, name)


def class_changed(vm: Any, cls: type, name: str, value: Any) -> None:
    """An attribute of a class was set: what C may now reach through it is armed."""
    if name == "__bases__":
        vm.trampolines.forget(cls)
    else:
        vm.trampolines.arm_attribute(value)
