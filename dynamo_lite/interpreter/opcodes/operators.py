"""Operators, subscripts, attributes: the data model behind the stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_lite.interpreter.code.handler_table import handler
from dynamo_lite.interpreter.code.sentinels import NULL
from dynamo_lite.interpreter.datamodel.operators import PLAIN_BINARY, PLAIN_COMPARE, PLAIN_INPLACE
from dynamo_lite.value_types import NUMBERS_AND_TEXT

from .. import datamodel
from ..observer import NOT_HANDLED
from .control import POP_JUMP_IF_FALSE, POP_JUMP_IF_TRUE

if TYPE_CHECKING:
    from dynamo_lite.interpreter.frames.frame import Frame

Stack = list[Any]

_PLAIN: Final = frozenset(NUMBERS_AND_TEXT)
_KNOWN_KEYS: Final = frozenset({*_PLAIN, slice, type(None), type(...)})


@handler
def BINARY_OP(frame: Frame, stack: Stack, symbol: str) -> None:
    right = stack.pop()
    left = stack[-1]
    if type(left) in _PLAIN and type(right) in _PLAIN:
        # str % x formats any x, but an atom has no Python-level __str__ or __format__
        stack[-1] = PLAIN_BINARY[symbol](left, right)
    else:
        stack[-1] = datamodel.binary(frame.vm, symbol, left, right)


@handler
def INPLACE_OP(frame: Frame, stack: Stack, symbol: str) -> None:
    right = stack.pop()
    left = stack[-1]
    if type(left) in _PLAIN and type(right) in _PLAIN:
        stack[-1] = PLAIN_INPLACE[symbol](left, right)
    else:
        stack[-1] = datamodel.inplace(frame.vm, symbol, left, right)


@handler
def COMPARE_OP(frame: Frame, stack: Stack, symbol: str) -> None:
    right = stack.pop()
    left = stack[-1]
    if type(left) in _PLAIN and type(right) in _PLAIN:
        stack[-1] = PLAIN_COMPARE[symbol](left, right)
    else:
        stack[-1] = datamodel.compare(frame.vm, symbol, left, right)


@handler
def IS_OP(frame: Frame, stack: Stack, invert: bool) -> None:
    right = stack.pop()
    same = stack[-1] is right
    if right is not None and frame.vm.on_look is not None:
        frame.vm.on_look("is", stack[-1], right)
    if not same and frame.vm.on_identity is not None and right is not None:
        same = frame.vm.on_identity(stack[-1], right)
        if type(same) is not bool:  # data decide it (Observer.on_identity)
            stack[-1] = frame.vm.on_not(same) if invert else same
            return
    stack[-1] = same is not invert


@handler
def CONTAINS_OP(frame: Frame, stack: Stack, invert: bool) -> None:
    container = stack.pop()
    stack[-1] = datamodel.contains(frame.vm, container, stack[-1]) is not invert


@handler
def UNARY_NEGATIVE(frame: Frame, stack: Stack, _: int) -> None:
    stack[-1] = datamodel.unary(frame.vm, "-", stack[-1])


@handler
def UNARY_POSITIVE(frame: Frame, stack: Stack, _: int) -> None:
    stack[-1] = datamodel.unary(frame.vm, "+", stack[-1])


@handler
def UNARY_INVERT(frame: Frame, stack: Stack, _: int) -> None:
    stack[-1] = datamodel.unary(frame.vm, "~", stack[-1])


@handler
def UNARY_NOT(frame: Frame, stack: Stack, _: int) -> None:
    value = stack[-1]
    if type(value) is not bool and frame.vm.on_not is not None:
        answer = frame.vm.on_not(value)
        if answer is not NOT_HANDLED:
            stack[-1] = answer
            return
    stack[-1] = value is False or (value is not True and not datamodel.truth(frame.vm, value))


_ASKS: Final = frozenset({UNARY_NOT, POP_JUMP_IF_TRUE, POP_JUMP_IF_FALSE})
"""The instructions after a TO_BOOL that evaluate the truth value as well."""


@handler
def TO_BOOL(frame: Frame, stack: Stack, _: int) -> None:
    if type(stack[-1]) is not bool:
        if frame.vm.on_branch is not None and frame.info.ops[frame.pc][0] in _ASKS:
            return  # the next instruction evaluates the truth itself
        stack[-1] = datamodel.truth(frame.vm, stack[-1])


@handler
def BINARY_SUBSCR(frame: Frame, stack: Stack, _: int) -> Any:
    fork = frame.vm.on_subscript
    if fork is not None and type(stack[-1]) not in _KNOWN_KEYS:
        done = fork(frame, stack[-2], stack[-1])
        if done is not NOT_HANDLED:
            return done
    key = stack.pop()
    stack[-1] = datamodel.getitem(frame.vm, stack[-1], key)
    return None


@handler
def STORE_SUBSCR(frame: Frame, stack: Stack, _: int) -> None:
    """value, container, key -> ; container[key] = value"""
    key, container, value = stack.pop(), stack.pop(), stack.pop()
    if frame.vm.on_store_key is not None and type(key) not in _KNOWN_KEYS:
        key = frame.vm.on_store_key(container, key)
    datamodel.setitem(frame.vm, container, key, value)


@handler
def DELETE_SUBSCR(frame: Frame, stack: Stack, _: int) -> None:
    key, container = stack.pop(), stack.pop()
    datamodel.delitem(frame.vm, container, key)


@handler
def BINARY_SLICE(frame: Frame, stack: Stack, _: int) -> None:
    stop, start = stack.pop(), stack.pop()
    stack[-1] = datamodel.getitem(frame.vm, stack[-1], slice(start, stop))


@handler
def STORE_SLICE(frame: Frame, stack: Stack, _: int) -> None:
    """value, container, start, stop -> ; container[start:stop] = value"""
    stop, start, container, value = stack.pop(), stack.pop(), stack.pop(), stack.pop()
    datamodel.setitem(frame.vm, container, slice(start, stop), value)


@handler
def LOAD_ATTR(frame: Frame, stack: Stack, name: str) -> None:
    stack[-1] = datamodel.getattr_(frame.vm, stack[-1], name)


@handler
def LOAD_METHOD(frame: Frame, stack: Stack, name: str) -> None:
    """The attribute, which a CALL will take, with NULL for the place of `self` (a bound method carries its own)."""
    stack[-1] = datamodel.getattr_(frame.vm, stack[-1], name)
    stack.append(NULL)


@handler
def STORE_ATTR(frame: Frame, stack: Stack, name: str) -> None:
    owner = stack.pop()
    datamodel.setattr_(frame.vm, owner, name, stack.pop())


@handler
def DELETE_ATTR(frame: Frame, stack: Stack, name: str) -> None:
    datamodel.delattr_(frame.vm, stack.pop(), name)


@handler
def GET_LEN(frame: Frame, stack: Stack, _: int) -> None:
    stack.append(datamodel.length(frame.vm, stack[-1]))
