"""Jumps that lead to nothing but `raise`: `if not ok.all(): raise ValueError(...)` is equivalent to an `assert`.

The rest of the program is right wherever it does not raise, so the condition becomes an assertion of the program. Not
so if the program itself may catch the exception (vocabulary/exception_handlers.py): then there are two paths, and the
jump is a branch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamo_lite.interpreter.code.handler_table import HANDLERS

PROTOCOL = (StopIteration, StopAsyncIteration, AttributeError, LookupError, ImportError)
"""Exceptions that C code may treat as a result: an attribute that is not there, the end of an iteration."""

_LOADS_CLASS = (HANDLERS["LOAD_GLOBAL"], HANDLERS["LOAD_GLOBAL_CALLEE"])
_STACK: dict[Any, Callable[[Any], tuple[int, int]]] = {
    HANDLERS[name]: effect
    for names, effect in (
        ("LOAD_CONST LOAD_FAST LOAD_DEREF LOAD_GLOBAL PUSH_NULL", lambda _: (0, 1)),
        ("LOAD_GLOBAL_CALLEE", lambda _: (0, 2)),
        ("LOAD_ATTR CONVERT_VALUE UNARY_NOT UNARY_NEGATIVE TO_BOOL", lambda _: (1, 1)),
        ("LOAD_METHOD", lambda _: (1, 2)),
        ("BINARY_OP BINARY_SUBSCR COMPARE_OP IS_OP CONTAINS_OP", lambda _: (2, 1)),
        ("BUILD_STRING BUILD_TUPLE BUILD_LIST", lambda count: (count, 1)),
        ("FORMAT_VALUE", lambda arg: (1 + arg[1], 1)),
        ("COPY", lambda depth: (depth, depth + 1)),
        ("SWAP", lambda depth: (depth, depth)),
        ("CALL", lambda count: (count + 2, 1)),
        ("CALL_KW", lambda count: (count + 3, 1)),
    )
    for name in names.split()
}
"""Instructions that make a message: how many values they pop from the stack, and how many they push."""
_JUMP = HANDLERS["JUMP"]
_CHOICES = frozenset(HANDLERS[f"POP_JUMP_IF_{when}"] for when in ("TRUE", "FALSE", "NONE", "NOT_NONE"))
"""Of a conditional expression in the message."""
_RAISES, _CONSTANT, _JOINS = HANDLERS["RAISE_VARARGS"], HANDLERS["LOAD_CONST"], HANDLERS["BUILD_STRING"]
_FORMATS = (HANDLERS["FORMAT_VALUE"], HANDLERS["CONVERT_VALUE"])
_VALUE = "..."

Texts = tuple[str | None, ...]
"""The values on the stack: the text where one is known."""


def raised_at(frame: Any, at: int) -> tuple[type[Exception], str] | None:
    """Return (the class, a message) of the exception that the instructions from `at` on raise, if they do nothing else,
    and C code does not treat it as a result."""
    found = only_raises(frame, at)
    return None if found is None or issubclass(found[0], PROTOCOL) else found


def only_raises(frame: Any, at: int) -> tuple[type[Exception], str] | None:
    """Return (the class, a message) of the exception that the instructions from `at` on raise, if nothing else."""
    ops = frame.info.ops
    found = named(frame, ops[at][1]) if at < len(ops) and ops[at][0] in _LOADS_CLASS else None
    if not isinstance(found, type) or not issubclass(found, Exception):
        return None
    text, seen = "", set()
    todo: list[tuple[int, Texts, int]] = [(at, (), 0)]  # where, the stack, the height below the class (0: used)
    while todo:
        index, stack, own = todo.pop()
        height = len(stack)
        if (index, height, own) in seen:
            continue
        seen.add((index, height, own))
        handler, arg = ops[index]
        if handler is _RAISES:
            text = text or next((text for text in stack if text is not None), "")
            continue
        if handler is _JUMP or handler in _CHOICES:
            stack = stack[: height - (handler in _CHOICES)]
            if arg <= index or len(stack) < own or not own:  # a loop, or a question about the class or what it has made
                return None
            todo.append((arg, stack, own))
        elif handler not in _STACK:
            return None
        else:
            takes, leaves = _STACK[handler](arg)
            if height < takes:
                return None
            own = own if height - takes >= own else 0
            taken, stack = stack[height - takes :], stack[: height - takes]
            stack += (None,) * (leaves - 1) + (_text_made(handler, arg, taken),)
        if handler is not _JUMP:
            todo.append((index + 1, stack, len(stack) if index == at else own))
    return found, f"{found.__name__}: {text.strip() if text.strip(' .') else f'raised in {frame.code.co_name}'}"


def _text_made(handler: Any, arg: Any, taken: Texts) -> str | None:
    """The text that an instruction makes, as far as it is known: values in it are dots."""
    if handler is _CONSTANT:
        return arg if isinstance(arg, str) else None
    if handler in _FORMATS:
        return _VALUE
    if handler is _JOINS:
        return "".join(_VALUE if part is None else part for part in taken)
    return next((part for part in taken if part is not None), None)


def named(frame: Any, name: str) -> Any:
    """Return the value of a global or a builtin in the frame's function."""
    builtins = frame.builtins if isinstance(frame.builtins, dict) else vars(frame.builtins)
    return frame.globals.get(name, builtins.get(name))
