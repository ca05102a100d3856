"""Type parameters and type aliases (PEP 695, PEP 696): CPython's own intrinsics, run on our operands."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from dynamo_lite.interpreter.code.handler_table import handler
from dynamo_lite.interpreter.code.normal_form import INTRINSICS_1, INTRINSICS_2, VERSION
from dynamo_lite.interpreter.frames.tracebacks import assemble, no_lines

if TYPE_CHECKING:
    from dynamo_lite.interpreter.frames.frame import Frame

Stack = list[Any]


@functools.cache
def _intrinsic(name: str) -> Callable[..., Any]:
    """A native function that applies the intrinsic `name` to its one or two arguments."""
    two = name in INTRINSICS_2
    count, opcode, number = (2, "CALL_INTRINSIC_2", INTRINSICS_2.index(name)) if two else (
        1, "CALL_INTRINSIC_1", INTRINSICS_1.index(name))  # fmt: skip
    template = (lambda a, b: None) if two else (lambda a: None)
    loads = tuple(("LOAD_FAST", index) for index in range(count))
    content = assemble(("RESUME", 0), *loads, (opcode, number), ("RETURN_VALUE", 0))
    lines = no_lines(len(content) // 2)
    code = template.__code__.replace(co_code=content, co_linetable=lines, co_stacksize=3, co_exceptiontable=b"")
    return FunctionType(code, globals())  # (some import typing, which takes __builtins__)


def _unary(name: str) -> None:
    def apply(frame: Frame, stack: Stack, _: int) -> None:
        stack[-1] = _intrinsic(name)(stack[-1])

    apply.__name__ = name
    handler(apply)


def _binary(name: str) -> None:
    def apply(frame: Frame, stack: Stack, _: int) -> None:
        second = stack.pop()
        stack[-1] = _intrinsic(name)(stack[-1], second)

    apply.__name__ = name
    handler(apply)


for _name in ("TYPEVAR", "PARAMSPEC", "TYPEVARTUPLE", "SUBSCRIPT_GENERIC", "TYPEALIAS"):
    _unary(_name)
for _name in ("TYPEVAR_WITH_BOUND", "TYPEVAR_WITH_CONSTRAINTS", "SET_FUNCTION_TYPE_PARAMS", "SET_TYPEPARAM_DEFAULT"):
    _binary(_name)


@handler
def PRINT_EXPR(frame: Frame, stack: Stack, _: int) -> None:
    """The value of an expression statement typed at a prompt: sys.displayhook"""
    value = stack.pop()
    if not hasattr(sys, "displayhook"):
        raise RuntimeError("lost sys.displayhook")
    frame.vm.call(sys.displayhook, (value,))
    if VERSION >= (3, 12):
        stack.append(None)
