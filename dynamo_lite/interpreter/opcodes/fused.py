"""Runs of instructions that only move values, fused: the interpreter makes one call for several.

A fused operation is at the index of its first instruction; the others stay where they are, so that a jump into the run
finds them. `frame.pc` advances instruction by instruction: an error, or a query of the position, has the same index as
without fusion. An observer of instructions gets the plain ones (`CodeInfo.ops`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_lite.interpreter.code.handler_table import HANDLERS, Operation
from dynamo_lite.interpreter.code.sentinels import NULL, UNBOUND

from .. import datamodel
from .variables import LOAD_CONST, LOAD_FAST, POP_TOP, PUSH_NULL, STORE_FAST, unbound_local

if TYPE_CHECKING:
    from dynamo_lite.interpreter.frames.frame import Frame

Stack = list[Any]

_FAST, _CONST, _STORE, _POP = range(4)
_MOVES: Final[dict[Any, int]] = {
    LOAD_FAST: _FAST, LOAD_CONST: _CONST, PUSH_NULL: _CONST, STORE_FAST: _STORE, POP_TOP: _POP,
}  # fmt: skip
_LONGEST: Final = 8
"""So many moves at most are one operation."""
_ATTRIBUTES: Final = frozenset({HANDLERS["LOAD_ATTR"], HANDLERS["LOAD_METHOD"]})


def moves(frame: Frame, stack: Stack, arg: tuple[tuple[tuple[int, Any], ...], Any, Any]) -> Any:
    """Moves of values, then any other instruction."""
    steps, handler, last = arg
    variables = frame.locals
    for what, operand in steps:
        if what == _FAST:
            value = variables[operand]
            if value is UNBOUND:
                unbound_local(frame, operand)
            stack.append(value)
        elif what == _CONST:
            stack.append(operand)
        elif what == _STORE:
            variables[operand] = stack.pop()
        else:
            stack.pop()
        frame.pc += 1
    return handler(frame, stack, last)


def load_fast_attribute(frame: Frame, stack: Stack, arg: tuple[int, str, bool]) -> None:
    """LOAD_FAST, then LOAD_ATTR or LOAD_METHOD."""
    index, name, is_method = arg
    value = frame.locals[index]
    if value is UNBOUND:
        unbound_local(frame, index)
    stack.append(value)
    frame.pc += 1
    stack[-1] = datamodel.getattr_(frame.vm, value, name)
    if is_method:
        stack.append(NULL)


def fuse(ops: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """The operations with each run of moves fused with what follows it."""
    fused, first, count = list(ops), 0, len(ops)
    while first < count:
        handler, arg = ops[first]
        if handler not in _MOVES:
            first += 1
            continue
        end = first + 1
        while end < min(count - 1, first + _LONGEST) and ops[end][0] in _MOVES:
            end += 1
        last, operand = ops[end] if end < count else (None, None)
        if last is not None and end - first > 1:
            steps = tuple([(_MOVES[move], NULL if move is PUSH_NULL else value) for move, value in ops[first:end]])
            fused[first] = (moves, (steps, last, operand))
        elif handler is LOAD_FAST and last in _ATTRIBUTES:
            fused[first] = (load_fast_attribute, (arg, operand, last is HANDLERS["LOAD_METHOD"]))
        first = end + (last in _MOVES)
    return tuple(fused)
