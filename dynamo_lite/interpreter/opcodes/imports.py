"""import, from ... import, from ... import *."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from dynamo_lite.interpreter.code.handler_table import handler
from dynamo_lite.interpreter.code.normal_form import VERSION
from dynamo_lite.interpreter.code.sentinels import MISSING
from dynamo_lite.interpreter.frames.exceptions import throw
from dynamo_lite.interpreter.frames.tracebacks import set_traceback

from .. import datamodel
from .building import collect
from .variables import assign_name

if TYPE_CHECKING:
    from dynamo_lite.interpreter.frames.frame import Frame

Stack = list[Any]


@handler
def IMPORT_NAME(frame: Frame, stack: Stack, name: str) -> None:
    """level, fromlist -> module; by way of builtins.__import__, whatever that is now"""
    fromlist, level = stack.pop(), stack.pop()
    import_ = frame.builtins.get("__import__", MISSING)
    if import_ is MISSING:
        raise ImportError("__import__ not found")
    stack.append(frame.vm.call(import_, (name, frame.globals, frame.namespace, fromlist, level)))


@handler
def IMPORT_FROM(frame: Frame, stack: Stack, name: str) -> None:
    """module -> module, module.name; a submodule that is still being imported is found in sys.modules"""
    module = stack[-1]
    vm = frame.vm
    found = vm.getattr(module, name, MISSING)
    if found is MISSING:
        package = vm.getattr(module, "__name__", None)
        if isinstance(package, str):
            found = sys.modules.get(f"{package}.{name}", MISSING)
        if found is MISSING:
            _cannot_import(module, name)
    stack.append(found)


_READ_BY_MESSAGE = ("__name__", "__spec__", "__file__")


def _cannot_import(module: Any, name: str) -> NoReturn:
    """CPython's ImportError, from CPython: the same statement run natively on a module that looks like this one.

    What differs between its versions (circular imports, shadowed standard modules) is in the message only.
    """
    stand_in = ModuleType("")
    del stand_in.__name__
    for attribute in _READ_BY_MESSAGE:
        if attribute in getattr(module, "__dict__", ()):
            setattr(stand_in, attribute, module.__dict__[attribute])
    code = compile(f"from m import {name}", "<import>", "exec")
    try:
        exec(code, {"__builtins__": {"__import__": lambda *args: stand_in}})
    except ImportError as exc:
        error = exc
    set_traceback(error, None)
    throw(error)


@handler
def IMPORT_STAR(frame: Frame, stack: Stack, _: int) -> None:
    """module -> ; (the intrinsic of 3.12 leaves None)"""
    module = stack.pop()
    vm = frame.vm
    names = vm.getattr(module, "__all__", MISSING)
    has_all = names is not MISSING
    if not has_all:
        namespace = vm.getattr(module, "__dict__", MISSING)
        if namespace is MISSING:
            raise ImportError("from-import-* object has no __dict__ and no __all__")
        names = vm.call(vm.getattr(namespace, "keys"))
    for name in collect(vm, names):
        if not isinstance(name, str):
            where = "__all__" if has_all else "__dict__"
            what = "Item in" if has_all else "Key in"
            owner = vm.getattr(module, "__name__")
            raise TypeError(f"{what} {owner}.{where} must be str, not {type(name).__name__}")
        if has_all or not name.startswith("_"):
            assign_name(frame, name, datamodel.getattr_(vm, module, name))
    if VERSION >= (3, 12):
        stack.append(None)
