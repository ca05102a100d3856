"""Jumps, loops, returning."""

from __future__ import annotations

from types import GeneratorType
from typing import TYPE_CHECKING, Any, Final

from dynamo_lite.interpreter.code.handler_table import handler
from dynamo_lite.interpreter.code.sentinels import MISSING
from dynamo_lite.interpreter.frames.frame import RETURNED

from .. import datamodel

if TYPE_CHECKING:
    from dynamo_lite.interpreter.frames.frame import Frame

Stack = list[Any]


@handler
def JUMP(frame: Frame, stack: Stack, target: int) -> None:
    frame.pc = target


def _true(frame: Frame, value: Any) -> bool:
    if value is True:
        return True
    if value is False or value is None:
        return False
    return datamodel.truth(frame.vm, value)


@handler
def POP_JUMP_IF_TRUE(frame: Frame, stack: Stack, target: int) -> None:
    value = stack.pop()
    if value is True or (value is not False and value is not None and datamodel.truth(frame.vm, value)):
        frame.pc = target


@handler
def POP_JUMP_IF_FALSE(frame: Frame, stack: Stack, target: int) -> None:
    value = stack.pop()
    if value is not True and (value is False or value is None or not datamodel.truth(frame.vm, value)):
        frame.pc = target


@handler
def POP_JUMP_IF_NONE(frame: Frame, stack: Stack, target: int) -> None:
    if stack.pop() is None:
        frame.pc = target


@handler
def POP_JUMP_IF_NOT_NONE(frame: Frame, stack: Stack, target: int) -> None:
    if stack.pop() is not None:
        frame.pc = target


@handler
def JUMP_IF_TRUE_OR_POP(frame: Frame, stack: Stack, target: int) -> None:
    if _true(frame, stack[-1]):
        frame.pc = target
    else:
        stack.pop()


@handler
def JUMP_IF_FALSE_OR_POP(frame: Frame, stack: Stack, target: int) -> None:
    if _true(frame, stack[-1]):
        stack.pop()
    else:
        frame.pc = target


# ---------------------------------------------------------------------- loops

_ITERABLES: Final[tuple[Any, ...]] = (
    [], (), "", "é", b"", bytearray(), range(0), range(1 << 80), {}, {}.values(), {}.items(), set()
)  # fmt: skip
_NATIVE_ITERATORS: Final = frozenset({GeneratorType, *(type(iter(iterable)) for iterable in _ITERABLES)})
"""Iterators whose __next__ is C. (A generator's body is interpreted by its driver.)"""


@handler
def GET_ITER(frame: Frame, stack: Stack, _: int) -> None:
    stack[-1] = datamodel.iter_(frame.vm, stack[-1])


@handler
def FOR_ITER(frame: Frame, stack: Stack, target: int) -> None:
    """iterator -> iterator, item; an exhausted iterator is popped and the loop left."""
    iterator = stack[-1]
    if type(iterator) in _NATIVE_ITERATORS:
        item = next(iterator, MISSING)
    else:
        try:
            item = datamodel.next_(frame.vm, iterator)
        except StopIteration:
            item = MISSING
    if item is MISSING:
        stack.pop()
        frame.pc = target
    else:
        stack.append(item)


@handler
def RETURN_VALUE(frame: Frame, stack: Stack, _: int) -> bool:
    frame.result = stack.pop()
    frame.state = RETURNED
    return True
