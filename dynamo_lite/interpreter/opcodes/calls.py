"""Calls, and making functions."""

from __future__ import annotations

from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from dynamo_lite.interpreter.code.handler_table import handler
from dynamo_lite.interpreter.code.normal_form import VERSION
from dynamo_lite.interpreter.code.sentinels import NULL
from dynamo_lite.interpreter.code.type_names import callee_name, type_name
from dynamo_lite.interpreter.frames.build_class import make_super
from dynamo_lite.interpreter.observer import NOT_HANDLED

from .building import callee_under, collect, dict_merge, is_iterable

if TYPE_CHECKING:
    from dynamo_lite.interpreter.frames.frame import Frame

Stack = list[Any]


def _pop_callee(stack: Stack, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The callable under the arguments: NULL, callable (up to 3.12) | callable, NULL (from 3.13) | callable, self."""
    second, first = stack.pop(), stack.pop()
    if first is NULL:
        return second, args
    return (first, args) if second is NULL else (first, (second, *args))


@handler
def CALL(frame: Frame, stack: Stack, count: int) -> Any:
    if frame.vm.on_call_at is not None and (done := frame.vm.on_call_at(frame)) is not NOT_HANDLED:
        return done
    if count:
        args = tuple(stack[-count:])
        del stack[-count:]
    else:
        args = ()
    second, first = stack.pop(), stack.pop()
    if first is NULL:
        first = second
    elif second is not NULL:
        args = (second, *args)
    stack.append(frame.vm.call(first, args))
    return None


@handler
def CALL_KW(frame: Frame, stack: Stack, count: int) -> Any:
    """... arguments, names: the last len(names) arguments are keyword arguments."""
    if frame.vm.on_call_at is not None and (done := frame.vm.on_call_at(frame)) is not NOT_HANDLED:
        return done
    names = stack.pop()
    values = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    plain = count - len(names)
    fn, args = _pop_callee(stack, tuple(values[:plain]))
    stack.append(frame.vm.call(fn, args, dict(zip(names, values[plain:]))))
    return None


@handler
def CALL_FUNCTION_EX(frame: Frame, stack: Stack, has_kwargs: bool) -> Any:
    if frame.vm.on_call_at is not None and (done := frame.vm.on_call_at(frame)) is not NOT_HANDLED:
        return done
    kwargs = stack.pop() if has_kwargs else None
    if kwargs is NULL:
        kwargs = None
    args = stack.pop()
    vm = frame.vm
    if vm.on_look is not None:
        vm.on_look("items", args)
        if kwargs:
            vm.on_look("unordered", kwargs)
    if kwargs is not None and type(kwargs) is not dict:
        merged: dict[str, Any] = {}
        dict_merge(vm, merged, kwargs, callee_under(stack, 0))
        kwargs = merged
    if type(args) is not tuple:
        if not is_iterable(args):
            name = callee_name(callee_under(stack, 0))
            raise TypeError(f"{name} argument after * must be an iterable, not {type_name(type(args))}")
        args = tuple(collect(vm, args, asks_length=VERSION < (3, 14)))
    fn, args = _pop_callee(stack, args)
    stack.append(vm.call(fn, args, dict(kwargs) if kwargs else None))
    return None


@handler
def LOAD_BUILD_CLASS(frame: Frame, stack: Stack, _: int) -> None:
    builtins = frame.builtins
    if "__build_class__" not in builtins:
        raise NameError("__build_class__ not found")
    stack.append(builtins["__build_class__"])


@handler
def LOAD_SUPER(frame: Frame, stack: Stack, two_args: bool) -> None:
    """super, class, self -> the super object (LOAD_SUPER_ATTR reads the attribute next)."""
    self, cls = stack.pop(), stack.pop()
    callee = stack[-1]
    if callee is super and frame.vm.before_call is None:
        stack[-1] = make_super(cls, self)
    else:
        stack[-1] = frame.vm.call(callee, (cls, self) if two_args else ())


def _function(frame: Frame, code: CodeType, closure: tuple[CellType, ...] | None) -> FunctionType:
    return FunctionType(code, frame.globals, code.co_name, None, closure)


def _set_annotations(fn: FunctionType, annotations: Any) -> None:
    pairs = annotations if type(annotations) is dict else dict(zip(annotations[::2], annotations[1::2]))
    fn.__annotations__ = pairs


@handler
def MAKE_FUNCTION(frame: Frame, stack: Stack, flags: int) -> None:
    """[defaults], [kwdefaults], [annotations], [closure], code -> function

    From 3.13 on `flags` are 0 and SET_FUNCTION_ATTRIBUTE follows; the closure, which FunctionType needs at once, comes
    first there: until then the code object is in the function's place.
    """
    code = stack.pop()
    closure = stack.pop() if flags & 8 else None
    if closure is None and code.co_freevars:
        stack.append(code)
        return
    fn = _function(frame, code, closure)
    if flags & 4:
        _set_annotations(fn, stack.pop())
    if flags & 2:
        fn.__kwdefaults__ = stack.pop()
    if flags & 1:
        fn.__defaults__ = stack.pop()
    stack.append(fn)


@handler
def SET_FUNCTION_ATTRIBUTE(frame: Frame, stack: Stack, flag: int) -> None:
    """value, function -> function"""
    fn, value = stack.pop(), stack.pop()
    if flag == 16:
        fn.__annotate__ = value
    elif flag == 8:
        fn = _function(frame, fn, value)
    elif flag == 4:
        _set_annotations(fn, value)
    elif flag == 2:
        fn.__kwdefaults__ = value
    else:
        fn.__defaults__ = value
    stack.append(fn)
