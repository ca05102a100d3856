"""Which of Python's operators the current instruction is: the source_fn_stack of `x + y`, as TorchDynamo has it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.datamodel.operators import PLAIN_BINARY, PLAIN_COMPARE, PLAIN_INPLACE

if TYPE_CHECKING:
    from dynamo_lite.interpreter.frames.frame import Frame

Function = Callable[..., Any]

_BY_SYMBOL: dict[str, dict[str, Function]] = {
    "BINARY_OP": PLAIN_BINARY, "INPLACE_OP": PLAIN_INPLACE, "COMPARE_OP": PLAIN_COMPARE,
}  # fmt: skip
_ALONE: dict[str, Function] = {
    "UNARY_NEGATIVE": operator.neg,
    "UNARY_POSITIVE": operator.pos,
    "UNARY_INVERT": operator.invert,
    "BINARY_SUBSCR": operator.getitem,
    "BINARY_SLICE": operator.getitem,
    "STORE_SUBSCR": operator.setitem,
    "STORE_SLICE": operator.setitem,
    "LOAD_ATTR": getattr,
}
_NAMES: dict[Any, str] = {HANDLERS[name]: name for name in (*_BY_SYMBOL, *_ALONE)}


def at_work(frame: Frame | None) -> Function | None:
    """Return `operator.add` while `frame` runs `x + y`, `getattr` for `x.T`; None for other instructions."""
    if frame is None or frame.pc == 0:
        return None
    handler, argument = frame.info.ops[frame.pc - 1][:2]
    name = _NAMES.get(handler)
    if name is None:
        return None
    return _BY_SYMBOL[name].get(argument) if name in _BY_SYMBOL else _ALONE[name]
