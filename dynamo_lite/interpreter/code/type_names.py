"""How CPython's messages name types and callables."""

from __future__ import annotations

from typing import Any

from dynamo_lite.interpreter.code.type_flags import is_changeable


def type_name(cls: type) -> str:
    """tp_name: a heap type's __name__; a static type outside builtins carries its module."""
    name: str = type.__dict__["__name__"].__get__(cls)
    if is_changeable(cls):
        return name
    module = type.__dict__["__module__"].__get__(cls)
    return name if module == "builtins" else f"{module}.{name}"


def qualified_name(cls: type) -> str:
    """The text of %T and %N of PyErr_Format since 3.13: module.qualname; only qualname for builtins and __main__."""
    qualname: str = type.__dict__["__qualname__"].__get__(cls)
    module = type.__dict__["__module__"].__get__(cls)
    return qualname if module in ("builtins", "__main__") or not isinstance(module, str) else f"{module}.{qualname}"


def callee_name(fn: Any) -> str:
    """The callable with parentheses: `module.qualname()` (_PyObject_FunctionStr), or str(fn)."""
    qualname = getattr(fn, "__qualname__", None)
    if qualname is None:
        return str(fn)
    module = getattr(fn, "__module__", None)
    return f"{qualname}()" if module is None or module == "builtins" else f"{module}.{qualname}()"
