"""Template strings (PEP 750, Python 3.14)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from dynamo_lite.interpreter.code.handler_table import handler

if TYPE_CHECKING:
    from dynamo_lite.interpreter.frames.frame import Frame

Stack = list[Any]

_CONVERSIONS: Final = (None, "s", "r", "a")


def _library() -> Any:
    return importlib.import_module("string.templatelib")  # since 3.14


@handler
def BUILD_INTERPOLATION(frame: Frame, stack: Stack, arg: tuple[int, bool]) -> None:
    """value, expression, [spec] -> the Interpolation; arg is (conversion, whether there is a spec)"""
    conversion, has_spec = arg
    spec = stack.pop() if has_spec else ""
    expression = stack.pop()
    stack[-1] = _library().Interpolation(stack[-1], expression, _CONVERSIONS[conversion], spec)


@handler
def BUILD_TEMPLATE(frame: Frame, stack: Stack, _: int) -> None:
    """strings, interpolations -> the Template that has them by turns"""
    interpolations = stack.pop()
    strings = stack[-1]
    parts = [part for pair in zip(strings, interpolations) for part in pair]
    stack[-1] = _library().Template(*parts, strings[-1])
