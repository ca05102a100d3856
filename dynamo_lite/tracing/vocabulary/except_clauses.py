"""The classes that an `except` clause names, read off the instructions that load them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import CellType, ModuleType
from typing import Any

from dynamo_lite.interpreter.code.handler_table import HANDLERS

GLOBALS = frozenset({HANDLERS["LOAD_GLOBAL"], HANDLERS["LOAD_GLOBAL_CALLEE"], HANDLERS["LOAD_NAME"]})
FAST, _DEREF, _ATTRIBUTE = HANDLERS["LOAD_FAST"], HANDLERS["LOAD_DEREF"], HANDLERS["LOAD_ATTR"]
_TUPLE = HANDLERS["BUILD_TUPLE"]
LOADS = GLOBALS | {FAST, _DEREF, _ATTRIBUTE, _TUPLE}


class _Unclear(Exception):
    """The classes of an `except` are not determined by names and attributes of modules alone."""


def classes_of(frame: Any, loads: Sequence[tuple[Any, Any]]) -> tuple[type, ...] | None:
    """Return the classes that these instructions load for `CHECK_EXC_MATCH`; None if they cannot be determined."""
    stack: list[Any] = []
    try:
        for handler, arg in loads:
            if handler is _TUPLE:
                stack[len(stack) - arg :] = [tuple(stack[len(stack) - arg :])]
            elif handler is _ATTRIBUTE:
                stack.append(_attribute(stack.pop(), arg))
            elif handler in GLOBALS:
                stack.append(_global(frame, arg))
            else:
                value = frame.locals[arg]
                stack.append(value.cell_contents if type(value) is CellType else value)
    except (_Unclear, IndexError, ValueError):
        return None
    return flat(stack[0]) if len(stack) == 1 else None


def flat(kind: Any) -> tuple[type, ...] | None:
    if type(kind) is not tuple:
        return (kind,) if isinstance(kind, type) and type(kind) is type else None
    parts = [flat(part) for part in kind]
    return None if None in parts else tuple(cls for part in parts for cls in part or ())


def _global(frame: Any, name: str) -> Any:
    builtins = frame.builtins if isinstance(frame.builtins, dict) else vars(frame.builtins)
    for names in (frame.namespace, frame.globals, builtins):
        if type(names) is dict and name in names:
            return names[name]
    raise _Unclear


def _attribute(owner: Any, name: str) -> Any:
    found = inspect.getattr_static(owner, name, None) if isinstance(owner, type | ModuleType) else None
    if not isinstance(found, type | ModuleType):
        raise _Unclear
    return found
