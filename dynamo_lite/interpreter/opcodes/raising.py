"""raise, except, finally, with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from dynamo_lite.interpreter.code.handler_table import handler
from dynamo_lite.interpreter.code.sentinels import NULL
from dynamo_lite.interpreter.code.type_names import qualified_name, type_name
from dynamo_lite.interpreter.frames.exceptions import (
    chain,
    check_except_star_type,
    check_except_type,
    current_exception,
    issubclass_of,
    matches,
    prep_reraise_star,
    reraise,
    set_cause,
    split_for_except_star,
    stop_error,
    throw,
)
from dynamo_lite.interpreter.frames.tracebacks import get_traceback
from dynamo_lite.interpreter.interfaces import VM

from .. import datamodel

if TYPE_CHECKING:
    from dynamo_lite.interpreter.frames.frame import Frame


Stack = list[Any]


def _is_exception_class(x: Any) -> bool:
    return isinstance(x, type) and issubclass_of(x, BaseException)


def _instance(vm: VM, exc: Any, otherwise: str) -> BaseException:
    """The exception of `raise exc`. otherwise: the text of the TypeError for an object that is not an exception."""
    if _is_exception_class(exc):
        made = vm.call(exc)
        if not isinstance(made, BaseException):
            raise TypeError(f"calling {exc!r} should have returned an instance of BaseException, not {type(made)!r}")
        return made
    if not isinstance(exc, BaseException):
        raise TypeError(otherwise)
    return exc


@handler
def RAISE_VARARGS(frame: Frame, stack: Stack, count: int) -> NoReturn:
    """raise | exception -> raise exception | exception, cause -> raise exception from cause"""
    vm = frame.vm
    current = current_exception(vm)
    if count == 0:
        if current is None:
            raise RuntimeError("No active exception to reraise")
        reraise(frame, current)
    cause = stack.pop() if count == 2 else None
    exc = _instance(vm, stack.pop(), "exceptions must derive from BaseException")
    if vm.before_raise is not None:
        vm.before_raise(exc)
    if count == 2:
        rejection = "exception causes must derive from BaseException"
        set_cause(exc, None if cause is None else _instance(vm, cause, rejection))
    chain(exc, current)
    throw(exc)


@handler
def RERAISE(frame: Frame, stack: Stack, _: int) -> NoReturn:
    reraise(frame, stack.pop())


@handler
def PUSH_EXC_INFO(frame: Frame, stack: Stack, _: int) -> None:
    """exception -> the exception handled so far, exception"""
    handled = frame.vm.handled
    exc = stack[-1]
    stack[-1] = handled.value
    stack.append(exc)
    handled.value = exc


@handler
def POP_EXCEPT(frame: Frame, stack: Stack, _: int) -> None:
    frame.vm.handled.value = stack.pop()


@handler
def CHECK_EXC_MATCH(frame: Frame, stack: Stack, _: int) -> None:
    kind = stack[-1]
    check_except_type(kind)
    stack[-1] = matches(frame.vm, stack[-2], kind)


@handler
def CHECK_EG_MATCH(frame: Frame, stack: Stack, _: int) -> None:
    """exception, kind -> rest or None, matched or None; what matched becomes the exception handled"""
    kind = stack.pop()
    check_except_star_type(kind)
    matched, rest = split_for_except_star(frame.vm, stack[-1], kind)
    stack[-1] = rest
    stack.append(matched)
    if matched is not None:
        frame.vm.handled.value = matched


@handler
def PREP_RERAISE_STAR(frame: Frame, stack: Stack, _: int) -> None:
    """original exception, list of raised ones -> what to raise or None"""
    raised = stack.pop()
    stack[-1] = prep_reraise_star(stack[-1], raised)


@handler
def STOPITERATION_ERROR(frame: Frame, stack: Stack, _: int) -> None:
    """PEP 479: a StopIteration that would leave a generator becomes a RuntimeError."""
    error = stop_error(frame.info.kind, stack[-1])
    if error is not None:
        stack[-1] = error


# ---------------------------------------------------------------------- with


def enter_and_exit(frame: Frame, manager: Any, enter: str, exit_: str, protocol: str) -> tuple[Any, Any]:
    """The bound special methods of a context manager, looked up on its type (PEP 343)."""
    name = type_name(type(manager))
    entering = datamodel.lookup_special(frame.vm, manager, enter)
    if entering is datamodel.MISSING:
        raise TypeError(f"'{name}' object does not support the {protocol} protocol")
    exiting = datamodel.lookup_special(frame.vm, manager, exit_)
    if exiting is datamodel.MISSING:
        raise TypeError(f"'{name}' object does not support the {protocol} protocol (missed {exit_} method)")
    return entering, exiting


@handler
def BEFORE_WITH(frame: Frame, stack: Stack, _: int) -> None:
    """manager -> its __exit__, the result of its __enter__"""
    enter, exit_ = enter_and_exit(frame, stack[-1], "__enter__", "__exit__", "context manager")
    stack[-1] = exit_
    stack.append(frame.vm.call(enter))


@handler
def WITH_EXCEPT_START(frame: Frame, stack: Stack, _: int) -> None:
    """__exit__, [NULL], lasti, handled so far, exception -> the same, __exit__(type, exception, traceback)"""
    exc = stack[-1]
    exiting = stack[-5] if stack[-4] is NULL else stack[-4]
    stack.append(frame.vm.call(exiting, (type(exc), exc, get_traceback(exc))))


_WITH = ("__enter__", "__exit__")
_ASYNC_WITH = ("__aenter__", "__aexit__")


@handler
def LOAD_SPECIAL(frame: Frame, stack: Stack, name: str) -> None:
    """manager -> its special method, NULL (3.14, where BEFORE_WITH was)"""
    manager = stack[-1]
    method = datamodel.lookup_special(frame.vm, manager, name)
    if method is datamodel.MISSING:
        raise TypeError(_no_protocol(type(manager), name))
    stack[-1] = method
    stack.append(NULL)


def _no_protocol(cls: type, name: str) -> str:
    """The message of 3.14 for a manager without the method `name` (Python/ceval.c, _Py_SpecialMethods)."""
    here, other, others, statement = "context manager", "asynchronous context manager", _ASYNC_WITH, "async with"
    if name in _ASYNC_WITH:
        here, other, others, statement = other, here, _WITH, "with"
    text = f"'{qualified_name(cls)}' object does not support the {here} protocol (missed {name} method)"
    if all(datamodel.type_lookup(cls, each) is not datamodel.MISSING for each in others):
        text += f" but it supports the {other} protocol. Did you mean to use '{statement}'?"
    return text
