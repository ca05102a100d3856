"""Exceptions: which one is being handled, how they chain, how a raised one finds its handler.

CPython keeps the exception being handled per thread and per generator (`_PyErr_StackItem`), and each raise chains the
new exception to it. Exceptions here are real ones, raised natively by functions that the handlers call; so the
interpreter corrects `__context__` and `__traceback__` when one arrives in its loop.
"""

from __future__ import annotations

from typing import Any, NoReturn

from dynamo_lite.interpreter.code.decode import ASYNC_GENERATOR, COROUTINE
from dynamo_lite.interpreter.code.type_members import mro_of
from dynamo_lite.interpreter.frames.frame import Frame, Handled
from dynamo_lite.interpreter.frames.tracebacks import (
    get_traceback,
    is_own_code,
    set_traceback,
    with_frame,
    without_own_frames,
)
from dynamo_lite.interpreter.interfaces import VM

# The descriptors themselves: a program's exception class may define __setattr__ or __getattribute__.
_context = BaseException.__dict__["__context__"]
_cause = BaseException.__dict__["__cause__"]
get_context = _context.__get__
set_context = _context.__set__
set_cause = _cause.__set__


def current_exception(vm: VM) -> BaseException | None:
    """The result of sys.exception() in the program."""
    handled: Handled | None = vm.handled
    while handled is not None:
        if handled.value is not None:
            return handled.value
        handled = handled.outer
    return None


def chain(exc: BaseException, handled: BaseException | None) -> None:
    """Set exc.__context__ to the exception being handled, without making a cycle (_PyErr_SetObject)."""
    if handled is None or handled is exc:
        return
    link = slow = handled
    move_slow = False
    while (context := get_context(link)) is not None:
        if context is exc:
            set_context(link, None)
            break
        link = context
        if link is slow:
            break
        if move_slow:
            slow = get_context(slow)
        move_slow = not move_slow
    set_context(exc, handled)


def _cut(exc: BaseException, end: BaseException) -> None:
    """Let the chain of contexts end before `end`, which the program does not see."""
    seen = set()
    while (context := get_context(exc)) is not None and id(exc) not in seen:
        if context is end:
            set_context(exc, None)
            return
        seen.add(id(exc))
        exc = context


def throw(exc: BaseException) -> NoReturn:
    """Raise `exc` natively, its context unchanged (a native raise would chain it to what *CPython* is handling)."""
    context = get_context(exc)
    try:
        raise exc
    finally:
        set_context(exc, context)


def reraise(frame: Frame, exc: BaseException) -> NoReturn:
    """Raise `exc` once more: its traceback does not get another entry for this frame."""
    frame.reraised = exc
    throw(exc)


def stop_error(kind: int, exc: BaseException) -> RuntimeError | None:
    """The error that a generator of this kind raises in place of a StopIteration (PEP 479); None for others."""
    what = {COROUTINE: "coroutine", ASYNC_GENERATOR: "async generator"}.get(kind, "generator")
    if isinstance(exc, StopIteration):
        error = RuntimeError(f"{what} raised StopIteration")
    elif kind == ASYNC_GENERATOR and isinstance(exc, StopAsyncIteration):
        error = RuntimeError(f"{what} raised StopAsyncIteration")
    else:
        return None
    set_cause(error, exc)
    set_context(error, exc)
    return error


class ContinueIn(BaseException):
    """Ends the calls that `frame` waits for: it continues at its `pc`, with its stack unchanged. An observer raises it
    (`on_branch`). No handler or `finally` of the program sees it, and no C code of the program's may be in between."""

    def __init__(self, frame: Frame) -> None:
        super().__init__()
        self.frame = frame


class Abandon(BaseException):
    """Ends the instructions that an observer has run to see where they lead (`Interpreter.run_until`). No handler or
    `finally` of the program sees it. by: who ends them, where such runs are within one another."""

    def __init__(self, by: object = None) -> None:
        super().__init__()
        self.by = by


def unwind(vm: VM, frame: Frame, exc: BaseException) -> bool:
    """`exc` arrived in `frame`: set its context and traceback, go to its handler. False when the frame has none."""
    if type(exc) is ContinueIn:
        return exc.frame is frame
    if type(exc) is Abandon:
        return False
    index = frame.pc - 1
    traceback, from_inner = without_own_frames(vm, get_traceback(exc))
    if frame.reraised is exc:
        frame.reraised = None
    else:
        if not from_inner:  # an inner frame of the program has chained it already
            context = get_context(exc)
            if context is None or context is vm.native_handled:
                set_context(exc, None)
                chain(exc, current_exception(vm))
            elif vm.native_handled is not None and not vm.inherits_handled:
                _cut(exc, vm.native_handled)
        if not is_own_code(frame.code):  # a builtin written in Python has no frame in CPython
            traceback = with_frame(frame, traceback)
    set_traceback(exc, traceback)
    vm.clean_traceback = traceback
    handler = frame.info.handler_at(frame.code, index)
    if handler is None:
        if vm.frees and vm.on_left is not None and traceback is not None:
            vm.on_left(frame, traceback.tb_frame)
        return False
    if vm.on_caught is not None:
        vm.on_caught(exc)
    stack = frame.stack
    del stack[handler.depth :]
    if handler.push_lasti:
        stack.append(index)
    stack.append(exc)
    frame.pc = handler.target
    return True


def matches(vm: VM, exc: Any, kind: Any) -> bool:
    """Whether `except kind` takes `exc` (PyErr_GivenExceptionMatches: real subclasses, no __instancecheck__)."""
    if type(kind) is tuple:
        return any(matches(vm, exc, item) for item in kind)
    return issubclass_of(type(exc), kind)


def issubclass_of(cls: type, base: Any) -> bool:
    return isinstance(base, type) and base in mro_of(cls)


def check_except_type(kind: Any) -> None:
    """Raises TypeError if `kind` is not valid after `except`."""
    for item in kind if isinstance(kind, tuple) else (kind,):
        if not (isinstance(item, type) and issubclass_of(item, BaseException)):
            raise TypeError("catching classes that do not inherit from BaseException is not allowed")


def check_except_star_type(kind: Any) -> None:
    """Raises TypeError if `kind` is not valid after `except*`."""
    check_except_type(kind)
    for item in kind if isinstance(kind, tuple) else (kind,):
        if issubclass_of(item, BaseExceptionGroup):
            raise TypeError("catching ExceptionGroup with except* is not allowed. Use except instead.")


def _is_wrapped_at_a_line() -> bool:
    """Whether the group that `except*` makes of a plain exception has a traceback (releases of one version differ)."""
    try:
        raise KeyError
    except* KeyError as group:
        found = group.__traceback__ is not None
    return found


_WRAPPED_AT_A_LINE = _is_wrapped_at_a_line()


def split_for_except_star(vm: VM, exc: BaseException, kind: Any) -> tuple[Any, Any]:
    """(the part of `exc` that `except* kind` handles or None, the rest or None)."""
    if matches(vm, exc, kind):
        if isinstance(exc, BaseExceptionGroup):
            return exc, None
        group = vm.call(ExceptionGroup if isinstance(exc, Exception) else BaseExceptionGroup, ("", (exc,)))
        if _WRAPPED_AT_A_LINE and vm.frame is not None:
            set_traceback(group, with_frame(vm.frame, None))
        return group, None
    if isinstance(exc, BaseExceptionGroup):
        pair = vm.call(vm.getattr(exc, "split"), (kind,))
        if not isinstance(pair, tuple):
            raise TypeError(f"{type(exc).__name__}.split must return a tuple, not {type(pair).__name__}")
        if len(pair) < 2:
            raise TypeError(f"{type(exc).__name__}.split must return a 2-tuple, got tuple of size {len(pair)}")
        return pair[0], pair[1]
    return None, exc


def _same_metadata(a: BaseException, b: BaseException) -> bool:
    return (
        getattr(a, "__notes__", None) is getattr(b, "__notes__", None)
        and a.__traceback__ is b.__traceback__
        and a.__cause__ is b.__cause__
        and a.__context__ is b.__context__
    )


def _leaves(exc: BaseException | None) -> set[int]:
    if exc is None:
        return set()
    if isinstance(exc, BaseExceptionGroup):
        return set().union(*map(_leaves, exc.exceptions))
    return {id(exc)}


def _projection(orig: BaseExceptionGroup[Any], kept: list[BaseException]) -> BaseException | None:
    """The part of `orig` with the leaves of `kept`, its structure unchanged (exception_group_projection)."""
    ids = set().union(*map(_leaves, kept))
    return BaseExceptionGroup.subgroup(orig, lambda exc: id(exc) in ids and not isinstance(exc, BaseExceptionGroup))


def prep_reraise_star(orig: BaseException, excs: list[Any]) -> BaseException | None:
    """The exception that an except* statement raises at its end (_PyExc_PrepReraiseStar); None if all were handled."""
    if not excs:
        return None
    if not isinstance(orig, BaseExceptionGroup):
        return excs[0]
    raised: list[BaseException] = []
    reraised: list[BaseException] = []
    for exc in excs:
        if exc is not None:
            (reraised if _same_metadata(exc, orig) else raised).append(exc)
    rest = _projection(orig, reraised) if reraised else None
    if not raised:
        return rest
    if rest is not None:
        raised.append(rest)
    if len(raised) == 1:
        return raised[0]
    return BaseExceptionGroup("", raised)
