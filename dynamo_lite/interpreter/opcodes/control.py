"""Jumps, loops, returning."""

from __future__ import annotations

from types import GeneratorType
from typing import TYPE_CHECKING, Any, Final

from dynamo_lite.interpreter.code.handler_table import handler
from dynamo_lite.interpreter.code.sentinels import MISSING
from dynamo_lite.interpreter.frames.frame import RETURNED
from dynamo_lite.undoing import WAITING

from .. import datamodel
from ..observer import NOT_HANDLED

if TYPE_CHECKING:
    from dynamo_lite.interpreter.frames.frame import Frame

Stack = list[Any]


@handler
def JUMP(frame: Frame, stack: Stack, target: int) -> None:
    if WAITING.is_due:
        WAITING.raise_it()
    frame.pc = target


def _condition(frame: Frame, value: Any, jumps_if: bool, target: int, keeps: bool = False) -> Any:
    """The truth that a jump depends on; a `_Done` if the observer has run both sides."""
    if value is True or value is False:
        return value
    if value is None:
        return False
    fork = frame.vm.on_branch
    if fork is not None:
        done = fork(frame, value, jumps_if, target, keeps)
        if done is not NOT_HANDLED:
            return _Done(done)
    return datamodel.truth(frame.vm, value)


class _Done:
    """Both sides of a branch have been run; `result` is the result of the jump's handler."""

    __slots__ = ("result",)

    def __init__(self, result: Any) -> None:
        self.result = result


@handler
def POP_JUMP_IF_TRUE(frame: Frame, stack: Stack, target: int) -> Any:
    value = stack.pop()
    truth = value if value is True or value is False else _condition(frame, value, True, target)
    if truth is True:
        frame.pc = target
    elif truth is not False:
        return truth.result
    return None


@handler
def POP_JUMP_IF_FALSE(frame: Frame, stack: Stack, target: int) -> Any:
    value = stack.pop()
    truth = value if value is True or value is False else _condition(frame, value, False, target)
    if truth is False:
        frame.pc = target
    elif truth is not True:
        return truth.result
    return None


@handler
def POP_JUMP_IF_NONE(frame: Frame, stack: Stack, target: int) -> None:
    if stack.pop() is None:
        frame.pc = target


@handler
def POP_JUMP_IF_NOT_NONE(frame: Frame, stack: Stack, target: int) -> None:
    if stack.pop() is not None:
        frame.pc = target


def _jump_or_pop(frame: Frame, stack: Stack, target: int, jumps_if: bool) -> Any:
    truth = _condition(frame, stack[-1], jumps_if, target, keeps=True)
    if truth is jumps_if:
        frame.pc = target
    elif isinstance(truth, _Done):
        return truth.result
    else:
        stack.pop()
    return None


@handler
def JUMP_IF_TRUE_OR_POP(frame: Frame, stack: Stack, target: int) -> Any:
    return _jump_or_pop(frame, stack, target, True)


@handler
def JUMP_IF_FALSE_OR_POP(frame: Frame, stack: Stack, target: int) -> Any:
    return _jump_or_pop(frame, stack, target, False)


# ---------------------------------------------------------------------- loops

_ITERABLES: Final[tuple[Any, ...]] = (
    [], (), "", "é", b"", bytearray(), range(0), range(1 << 80), {}, {}.values(), {}.items(), set()
)  # fmt: skip
_NATIVE_ITERATORS: Final = frozenset({GeneratorType, *(type(iter(iterable)) for iterable in _ITERABLES)})
"""Iterators whose __next__ is C. (A generator's body is interpreted by its driver.)"""


@handler
def GET_ITER(frame: Frame, stack: Stack, _: int) -> None:
    if frame.vm.on_iter is not None:
        made = frame.vm.on_iter(stack[-1])
        if made is not NOT_HANDLED:
            stack[-1] = made
            return
    stack[-1] = datamodel.iter_(frame.vm, stack[-1])


@handler
def FOR_ITER(frame: Frame, stack: Stack, target: int) -> Any:
    """iterator -> iterator, item; an exhausted iterator is popped and the loop left."""
    iterator = stack[-1]
    kind = type(iterator)
    if frame.vm.on_for is not None and (kind is GeneratorType or kind not in _NATIVE_ITERATORS):
        done = frame.vm.on_for(frame, iterator, target)
        if done is not NOT_HANDLED:
            return done
    if kind in _NATIVE_ITERATORS:
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
    return None


@handler
def RETURN_VALUE(frame: Frame, stack: Stack, _: int) -> bool:
    frame.result = stack.pop()
    frame.state = RETURNED
    return True
