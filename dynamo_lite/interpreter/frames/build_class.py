"""Class statements and super(): what CPython does in builtin___build_class__ and super_init."""

from __future__ import annotations

from types import CellType, FunctionType
from typing import Any

from dynamo_lite.interpreter import datamodel
from dynamo_lite.interpreter.code.decode import info_of
from dynamo_lite.interpreter.code.sentinels import MISSING, UNBOUND, cell_value
from dynamo_lite.interpreter.code.type_names import type_name
from dynamo_lite.interpreter.frames.frame import Frame
from dynamo_lite.interpreter.interfaces import VM


def build_class(vm: VM, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`__build_class__(func, name, /, *bases, [metaclass], **kwds)`. Raises CPython's TypeErrors."""
    if len(args) < 2:
        raise TypeError("__build_class__: not enough arguments")
    function, name, *rest = args
    if not isinstance(function, FunctionType):
        raise TypeError("__build_class__: func must be a function")
    if not isinstance(name, str):
        raise TypeError("__build_class__: name is not a string")
    given = tuple(rest)
    bases = resolve_bases(vm, given)
    keywords = dict(kwargs)
    metaclass = keywords.pop("metaclass", MISSING)
    if metaclass is MISSING:
        metaclass = type(bases[0]) if bases else type
    if isinstance(metaclass, type):
        metaclass = most_derived(metaclass, bases)
    namespace = _prepare(vm, metaclass, name, bases, keywords)
    cell = _run_body(vm, function, namespace)
    if bases is not given:
        datamodel.setitem(vm, namespace, "__orig_bases__", given)
    made = vm.call(metaclass, (name, bases, namespace), keywords)
    if isinstance(cell, CellType) and isinstance(made, type):
        _check_class_cell(cell, made, name)
    return made


def resolve_bases(vm: VM, bases: tuple[Any, ...]) -> tuple[Any, ...]:
    """The bases after `__mro_entries__` (PEP 560); the same tuple when none has it."""
    resolved: list[Any] = []
    changed = False
    for base in bases:
        entries = MISSING if isinstance(base, type) else vm.getattr(base, "__mro_entries__", MISSING)
        if entries is MISSING:
            resolved.append(base)
            continue
        found = vm.call(entries, (bases,))
        if not isinstance(found, tuple):
            raise TypeError("__mro_entries__ must return a tuple")
        resolved.extend(found)
        changed = True
    return tuple(resolved) if changed else bases


def most_derived(metaclass: type, bases: tuple[Any, ...]) -> type:
    """The metaclass that is a subclass of all others (_PyType_CalculateMetaclass)."""
    winner = metaclass
    for base in bases:
        candidate = type(base)
        if candidate in winner.__mro__:
            continue
        if winner not in candidate.__mro__:
            raise TypeError(
                "metaclass conflict: the metaclass of a derived class must be a (non-strict) subclass of the "
                "metaclasses of all its bases"
            )
        winner = candidate
    return winner


def _prepare(vm: VM, metaclass: Any, name: str, bases: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    prepare = vm.getattr(metaclass, "__prepare__", MISSING)
    if prepare is MISSING:
        return {}
    namespace = vm.call(prepare, (name, bases), keywords)
    if datamodel.type_lookup(type(namespace), "__getitem__") is datamodel.MISSING:
        owner = type_name(metaclass) if isinstance(metaclass, type) else "<metaclass>"
        raise TypeError(f"{owner}.__prepare__() must return a mapping, not {type_name(type(namespace))}")
    return namespace


def _run_body(vm: VM, function: FunctionType, namespace: Any) -> Any:
    info = info_of(function.__code__)
    slots = [*info.padding, *(function.__closure__ or ())]
    builtins = function.__builtins__
    frame = Frame(vm, info.code, info, function.__globals__, builtins, slots)
    frame.namespace = namespace
    return vm.run(frame)


def _check_class_cell(cell: CellType, made: type, name: str) -> None:
    try:
        held = cell.cell_contents
    except ValueError:
        held = MISSING
    if held is MISSING:
        raise RuntimeError(
            f"__class__ not set defining {name!r} as {made!r}. Was __classcell__ propagated to type.__new__?"
        )
    if held is not made:
        raise TypeError(f"__class__ set to {held!r} defining {name!r} as {made!r}")


# ---------------------------------------------------------------------- super


def make_super(cls: Any, self: Any) -> Any:
    """`super(cls, self)`"""
    return super(cls, self)


def _implicit_arguments(vm: VM) -> tuple[Any, Any]:
    """The implicit arguments of `super()`: the __class__ cell and the first argument. Raises RuntimeError."""
    frame = vm.frame
    if frame is None:
        raise RuntimeError("super(): no current frame")
    code = frame.code
    if code.co_argcount == 0:
        raise RuntimeError("super(): no arguments")
    first = frame.locals[0]
    if type(first) is CellType and code.co_varnames[0] in code.co_cellvars:
        first = cell_value(first)
    if first is UNBOUND:
        raise RuntimeError("super(): arg[0] deleted")
    if "__class__" not in code.co_freevars:
        raise RuntimeError("super(): __class__ cell not found")
    cls = cell_value(frame.locals[frame.info.names.index("__class__")])
    if cls is UNBOUND:
        raise RuntimeError("super(): empty __class__ cell")
    if not isinstance(cls, type):
        raise RuntimeError(f"super(): __class__ is not a type ({type_name(type(cls))})")
    return cls, first


def call_super(vm: VM, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`super(...)`: CPython's own finds no interpreted frame, so the implicit arguments are given to it."""
    if not args and not kwargs:
        args = _implicit_arguments(vm)
    return vm.trampolines.call(super, args, kwargs)


def init_super(vm: VM, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`super.__init__(made, ...)`, as a subclass of super calls it."""
    if len(args) == 1 and not kwargs:
        args = (*args, *_implicit_arguments(vm))
    return vm.trampolines.call(super.__init__, args, kwargs)
