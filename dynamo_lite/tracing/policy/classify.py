"""classify(callable): the verdict of the tables on a C callable."""

from __future__ import annotations

from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.tracing.policy import callable_table, container_methods
from dynamo_lite.tracing.policy.verdicts import PURE, PYTHON, UNKNOWN, CallVerdict

_DESCRIPTORS = (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType)

_verdicts: dict[int, tuple[Any, CallVerdict]] = {}
"""id of a callable → (the callable, so that the id stays its own, its verdict)."""


def verdict_of(fn: Any) -> CallVerdict:
    """`classify`, remembered for callables that live as long as the process."""
    known = _verdicts.get(id(fn))
    if known is not None:
        return known[1]
    verdict = classify(fn)
    if is_immortal(fn):
        _verdicts[id(fn)] = fn, verdict
    return verdict


def is_immortal(fn: Any) -> bool:
    """Whether a callable is written in C and presumably lives as long as the process."""
    kind = type(fn)
    if kind is BuiltinFunctionType or kind in _DESCRIPTORS:
        return True
    return issubclass(kind, type) and not is_changeable(fn)


def classify(fn: Any) -> CallVerdict:
    """Return the effect of calling `fn`, by the tables.

    A Python function, or a class made by a class statement, is PYTHON: its effects are those of its own code, which is
    interpreted.
    """
    name = name_of(fn)
    return PYTHON if name is None else look_up(name)


def look_up(name: str) -> CallVerdict:
    """The verdict on "module:qualified.name"; the longest entry of the tables decides."""
    found = container_methods.NAMES.get(name) or callable_table.NAMES.get(name)
    if found is None and name.endswith((".__new__", ".__init__")):
        found = callable_table.NAMES.get(name.rpartition(".")[0])
        name = name.rpartition(".")[0] if name.rpartition(".")[0] in callable_table.TYPES else name
    if found is not None:
        return found
    if name in callable_table.TYPES:
        return PURE  # making an object: its state is the program's own
    module, _, path = name.partition(":")
    owner = path.rpartition(".")[0]
    if owner and (found := callable_table.TYPES.get(f"{module}:{owner}")) is not None:
        return found
    while module:
        if (found := callable_table.MODULES.get(module)) is not None:
            return found
        module = module.rpartition(".")[0]
    return UNKNOWN


def name_of(fn: Any) -> str | None:
    """Return "module:Type.method" or "module:function" for a C callable; None for a Python one."""
    kind = type(fn)
    if kind in (FunctionType, MethodType):
        return None
    if issubclass(kind, type):
        return None if _is_python_class(fn) else _type_name(fn)
    if issubclass(kind, BuiltinFunctionType):
        return _builtin_name(fn)
    if kind in _DESCRIPTORS:
        return f"{_type_name(fn.__objclass__)}.{fn.__name__}"
    if kind is MethodWrapperType:
        return f"{_type_name(fn.__objclass__)}.{fn.__name__}"
    owner = next((base for base in kind.__mro__ if "__call__" in base.__dict__), kind)
    if type(owner.__dict__.get("__call__")) is FunctionType or _is_python_class(owner):
        return None
    return _instance_name(fn, owner)


def _builtin_name(fn: Any) -> str:
    owner = fn.__self__
    if owner is None or isinstance(owner, ModuleType):
        module = fn.__module__ or getattr(owner, "__name__", "builtins")
        return f"{module}:{fn.__name__}"
    cls = owner if isinstance(owner, type) else type(owner)
    owners = [base for base in cls.__mro__ if fn.__name__ in base.__dict__]
    for base in owners:
        if not _is_python_class(base):  # whose method of that name may be another one, which calls this one
            return f"{_type_name(base)}.{fn.__name__}"
    for base in owners:
        return f"{_type_name(base)}.{fn.__name__}"
    return f"{_type_name(cls)}.{fn.__name__}"


def _instance_name(fn: Any, kind: type) -> str:
    """A callable object of a C type: a cython function or numpy's own wrapper by its name, others by their type."""
    if not (kind.__module__ == "numpy" or kind.__name__ == "cython_function_or_method"):
        return f"{_type_name(kind)}.__call__"
    try:
        module, path = fn.__module__, getattr(fn, "__qualname__", None) or fn.__name__
    except Exception:  # an extension's attributes may raise anything; its type is named then
        module = path = None
    if type(module) is str and type(path) is str:
        return f"{_public(module)}:{path}"
    return f"{_type_name(kind)}.__call__"


def _type_name(cls: type) -> str:
    return f"{_public(str(cls.__module__))}:{cls.__qualname__}"


def _public(module: str) -> str:
    """A private module of a package under the package's name: numpy.random._generator → numpy.random."""
    if not module.startswith("numpy."):
        return module
    parts = module.split(".")
    if parts[1] == "random":
        return "numpy.random"
    return "numpy" if parts[1].startswith("_") else ".".join(parts[:2])


def _is_python_class(cls: type) -> bool:
    """Made by a class statement (or `type()`): its `__new__` and `__init__` are called one by one, and judged there."""
    return is_changeable(cls) and "__module__" in cls.__dict__
