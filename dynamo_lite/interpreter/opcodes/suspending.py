"""yield, yield from, await, async with, async for."""

from __future__ import annotations

import inspect
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TYPE_CHECKING, Any

from dynamo_lite.interpreter.code.decode import COROUTINE, ITERABLE_COROUTINE
from dynamo_lite.interpreter.code.handler_table import handler
from dynamo_lite.interpreter.code.normal_form import VERSION
from dynamo_lite.interpreter.code.type_names import type_name
from dynamo_lite.interpreter.frames.exceptions import issubclass_of, reraise, set_cause, set_context
from dynamo_lite.interpreter.frames.frame import SUSPENDED
from dynamo_lite.interpreter.frames.generators import AsyncYield, finish_send
from dynamo_lite.interpreter.interfaces import VM

from .. import datamodel
from .raising import enter_and_exit

if TYPE_CHECKING:
    from dynamo_lite.interpreter.frames.frame import Frame


Stack = list[Any]


@handler
def YIELD_VALUE(frame: Frame, stack: Stack, _: int) -> bool:
    frame.result = stack.pop()
    frame.state = SUSPENDED
    return True


@handler
def ASYNC_GEN_WRAP(frame: Frame, stack: Stack, _: int) -> None:
    stack[-1] = AsyncYield(stack[-1])


@handler
def GET_YIELD_FROM_ITER(frame: Frame, stack: Stack, _: int) -> None:
    iterable = stack[-1]
    if isinstance(iterable, CoroutineType):
        if frame.info.kind not in (COROUTINE, ITERABLE_COROUTINE):
            raise TypeError("cannot 'yield from' a coroutine object in a non-coroutine generator")
    elif type(iterable) is not GeneratorType:
        stack[-1] = datamodel.iter_(frame.vm, iterable)


@handler
def SEND(frame: Frame, stack: Stack, arg: tuple[int, bool]) -> None:
    """receiver, value -> receiver, the yielded value; when it returns: jump to the target with the returned value"""
    vm = frame.vm
    value = stack.pop()
    receiver = stack[-1]
    try:
        if type(receiver) is GeneratorType or type(receiver) is CoroutineType:
            stack.append(receiver.send(value))
            return
        if value is None:
            stack.append(datamodel.next_(vm, receiver))
            return
        stack.append(vm.call(vm.getattr(receiver, "send"), (value,)))
        return
    except StopIteration as stop:
        returned = stop.value
    finish_send(frame, stack, arg, returned)


@handler
def END_SEND(frame: Frame, stack: Stack, _: int) -> None:
    """receiver, value -> value"""
    del stack[-2]


@handler
def CLEANUP_THROW(frame: Frame, stack: Stack, _: int) -> None:
    """receiver, last value sent, exception -> None, value if the exception is a StopIteration"""
    exc = stack[-1]
    if not isinstance(exc, StopIteration):
        reraise(frame, stack.pop())
    stack[-3:] = [None, exc.value]


# ---------------------------------------------------------------------- await


def awaitable_iterator(vm: VM, x: Any) -> Any:
    """The iterator that `await x` sends to (_PyCoro_GetAwaitableIter). Raises TypeError."""
    if isinstance(x, CoroutineType):
        return x
    if isinstance(x, GeneratorType) and x.gi_code.co_flags & inspect.CO_ITERABLE_COROUTINE:
        return x
    method = datamodel.lookup_special(vm, x, "__await__")
    if method is datamodel.MISSING:
        name = type_name(type(x))
        old, new = f"object {name} can't be used in 'await' expression", f"'{name}' object can't be awaited"
        raise TypeError(old if VERSION < (3, 14) else new)
    iterator = vm.call(method)
    if isinstance(iterator, CoroutineType):
        raise TypeError("__await__() returned a coroutine")
    if datamodel.type_lookup(type(iterator), "__next__") is datamodel.MISSING:
        raise TypeError(f"__await__() returned non-iterator of type '{type_name(type(iterator))}'")
    return iterator


_FROM_ASYNC_WITH = {1: "__aenter__", 2: "__aexit__"}


@handler
def GET_AWAITABLE(frame: Frame, stack: Stack, where: int) -> None:
    awaited = stack[-1]
    if where and not _is_awaitable(awaited):
        name = type_name(type(awaited))
        raise TypeError(
            f"'async with' received an object from {_FROM_ASYNC_WITH[where]} that does not implement __await__: {name}"
        )
    iterator = awaitable_iterator(frame.vm, awaited)
    if isinstance(iterator, CoroutineType) and iterator.cr_await is not None:
        raise RuntimeError("coroutine is being awaited already")
    stack[-1] = iterator


def _is_awaitable(x: Any) -> bool:
    return (
        datamodel.type_lookup(type(x), "__await__") is not datamodel.MISSING
        or (isinstance(x, GeneratorType) and bool(x.gi_code.co_flags & inspect.CO_ITERABLE_COROUTINE))
    )  # fmt: skip


@handler
def BEFORE_ASYNC_WITH(frame: Frame, stack: Stack, _: int) -> None:
    """manager -> its __aexit__, the result of its __aenter__"""
    enter, exit_ = enter_and_exit(frame, stack[-1], "__aenter__", "__aexit__", "asynchronous context manager")
    stack[-1] = exit_
    stack.append(frame.vm.call(enter))


@handler
def GET_AITER(frame: Frame, stack: Stack, _: int) -> None:
    x = stack[-1]
    method = datamodel.lookup_special(frame.vm, x, "__aiter__")
    if method is datamodel.MISSING:
        raise TypeError(f"'async for' requires an object with __aiter__ method, got {type_name(type(x))}")
    iterator = frame.vm.call(method)
    if datamodel.type_lookup(type(iterator), "__anext__") is datamodel.MISSING:
        name = type_name(type(iterator))
        raise TypeError(f"'async for' received an object from __aiter__ that does not implement __anext__: {name}")
    stack[-1] = iterator


@handler
def GET_ANEXT(frame: Frame, stack: Stack, _: int) -> None:
    """asynchronous iterator -> the same, the awaitable of its next item"""
    iterator = stack[-1]
    if type(iterator) is AsyncGeneratorType:
        stack.append(iterator.__anext__())
        return
    method = datamodel.lookup_special(frame.vm, iterator, "__anext__")
    if method is datamodel.MISSING:
        raise TypeError(f"'async for' requires an iterator with __anext__ method, got {type_name(type(iterator))}")
    item = frame.vm.call(method)
    try:
        awaitable = awaitable_iterator(frame.vm, item)
    except Exception as exc:
        cause = exc
    else:
        stack.append(awaitable)
        return
    error = TypeError(f"'async for' received an invalid object from __anext__: {type_name(type(item))}")
    set_cause(error, cause)
    set_context(error, cause)
    raise error


@handler
def END_ASYNC_FOR(frame: Frame, stack: Stack, _: int) -> None:
    """asynchronous iterator, exception -> ; StopAsyncIteration ends the loop, another exception goes on"""
    exc = stack.pop()
    stack.pop()
    if not issubclass_of(type(exc), StopAsyncIteration):
        reraise(frame, exc)
