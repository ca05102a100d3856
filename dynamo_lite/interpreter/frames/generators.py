"""Generators, coroutines and asynchronous generators.

The program gets a *native* object, whose body (one of the drivers below) resumes the interpreted frame: so list(),
next(), `yield from`, an event loop or C code may drive it and the frame still runs here. CPython's rules for close(),
for a StopIteration that escapes (PEP 479), for running twice and so on hold because it is CPython's own object.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import AsyncGenerator, Callable, Container, Generator
from typing import Any

from dynamo_lite.interpreter.code.decode import ASYNC_GENERATOR, COROUTINE, GENERATOR, ITERABLE_COROUTINE
from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.code.sentinels import MISSING
from dynamo_lite.interpreter.frames.exceptions import stop_error, throw
from dynamo_lite.interpreter.frames.frame import RETURNED, RUNNING, SUSPENDED, Frame, Handled
from dynamo_lite.interpreter.frames.tracebacks import strip
from dynamo_lite.interpreter.interfaces import VM


class AsyncYield:
    """A value from an asynchronous generator's `yield` to its driver, as opposed to one from an `await`."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class _PassOn:
    """An awaitable that hands `value` to the event loop, and what comes back, sent or thrown, to the driver."""

    __slots__ = ("started", "thrown", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.started = False
        self.thrown: BaseException | None = None

    def __await__(self) -> Generator[Any, Any, Any]:
        return self  # type: ignore[return-value]  # CPython needs only an iterator with send and throw

    def __iter__(self) -> _PassOn:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        if not self.started:
            self.started = True
            return self.value
        raise StopIteration(value)

    def throw(self, kind: Any, value: Any = None, traceback: Any = None) -> Any:
        exc = value if isinstance(value, BaseException) else kind
        if isinstance(exc, type):
            exc = exc() if value is None else exc(value)
        self.thrown = exc if traceback is None else exc.with_traceback(traceback)
        raise StopIteration


def _drive(frame: Frame) -> Generator[Any, Any, Any]:
    value = None if frame.state == SUSPENDED else resume(frame, None, None)  # see `make_waiting`
    while frame.state == SUSPENDED:
        thrown: BaseException | None = None
        sent = None
        try:
            sent = yield value
        except BaseException as exc:
            if frame.state != SUSPENDED:
                raise  # it was given up (`give_up`)
            thrown = exc
        value = resume(frame, sent, thrown)
    return value


_drive_iterable_coroutine = types.coroutine(types.FunctionType(_drive.__code__, globals(), "_drive"))
"""Its code object carries CO_ITERABLE_COROUTINE: the generator may be awaited."""


async def _drive_coroutine(frame: Frame) -> Any:
    value = resume(frame, None, None)
    while frame.state == SUSPENDED:
        awaited = _PassOn(value)
        thrown: BaseException | None = None
        sent = None
        try:
            sent = await awaited
        except BaseException as exc:
            thrown = exc
        value = resume(frame, sent, thrown or awaited.thrown)
    return value


async def _drive_async_generator(frame: Frame) -> AsyncGenerator[Any, Any]:
    value = resume(frame, None, None)
    while frame.state == SUSPENDED:
        thrown: BaseException | None = None
        sent = None
        if type(value) is AsyncYield:
            try:
                sent = yield value.value
            except BaseException as exc:
                thrown = exc
        else:
            awaited = _PassOn(value)
            try:
                sent = await awaited
            except BaseException as exc:
                thrown = exc
            thrown = thrown or awaited.thrown
        value = resume(frame, sent, thrown)


_DRIVERS: dict[int, Callable[[Frame], Any]] = {
    GENERATOR: _drive,
    COROUTINE: _drive_coroutine,
    ASYNC_GENERATOR: _drive_async_generator,
    ITERABLE_COROUTINE: _drive_iterable_coroutine,
}


def make_generator(frame: Frame, name: str, qualname: str) -> Any:
    """The native object whose body is `frame`."""
    frame.handled = Handled()
    if frame.vm.generators is not None:
        frame.vm.generators.append(weakref.ref(frame))
    made = _DRIVERS[frame.info.kind](frame)
    made.__name__ = name
    made.__qualname__ = qualname
    return made


def resume(frame: Frame, sent: Any, thrown: BaseException | None) -> Any:
    """Run `frame` until it yields or returns (see frame.state). Returns the value that it yields or returns."""
    vm: VM = frame.vm
    if vm.retired:
        frame.state = RETURNED
        raise thrown if thrown is not None else RuntimeError("the run that this generator belongs to is over")
    if frame.taken is not None:
        frame.taken()
    own = frame.handled
    assert own is not None
    own.outer = vm.handled
    vm.handled = own
    if thrown is not None:
        frame.thrown = thrown
    elif frame.state == SUSPENDED:
        frame.stack.append(sent)
    frame.state = RUNNING
    try:
        return vm.run(frame)
    except BaseException as exc:
        frame.state = RETURNED
        if isinstance(exc, GeneratorExit) and frame.proxy is None:  # nothing refers to the traceback
            frame.locals.clear()
            frame.stack.clear()
        error = stop_error(frame.info.kind, exc)
        if error is None:
            raise
        strip(exc, vm)
    finally:
        vm.handled = own.outer
        own.outer = None
        if vm.frame is None and vm.native_frame is None:
            vm.trampolines.release()  # resumed after the run that made it: no `vm.enter` is there to do it
    throw(error)


def run_to(frame: Frame, stops: Container[int]) -> None:
    """Run a generator's `frame`, which has not begun, up to one of the instructions `stops`; a later resume continues
    from there. (frame.state shows whether it has returned instead.)"""
    vm: VM = frame.vm
    own = frame.handled
    assert own is not None
    own.outer, vm.handled, frame.back, vm.frame = vm.handled, own, vm.frame, frame
    try:
        vm.run_until(frame, stops)
    except BaseException as exc:
        frame.state = RETURNED
        error = stop_error(frame.info.kind, exc)
        if error is None:
            raise
    else:
        return
    finally:
        vm.handled, vm.frame = own.outer, frame.back
        own.outer = frame.back = None
    throw(error)


def deliver(frame: Frame, exc: BaseException) -> bool | None:
    """`exc` was thrown into `frame` where it yielded: raise it there, or pass it to the iterator of its `yield from`.

    Returns True when that iterator took it and yielded (the frame stays suspended), None when it finished.
    """
    frame.thrown = None
    if not delegates(frame):
        throw(exc)
    vm, stack = frame.vm, frame.stack
    receiver = stack[-1]
    if isinstance(exc, GeneratorExit):
        close = vm.getattr(receiver, "close", MISSING)
        if close is not MISSING:
            vm.call(close)
        throw(exc)
    method = vm.getattr(receiver, "throw", MISSING)
    if method is MISSING:
        throw(exc)
    try:
        frame.result = vm.call(method, (exc,))
    except StopIteration as stop:
        value = stop.value
    else:
        frame.state = SUSPENDED
        return True
    finish_send(frame, stack, frame.info.ops[frame.pc - 2][1], value)
    return None


def suspended(vm: VM) -> list[Frame]:
    """The frames of the generators that wait at a `yield`, if these are listed."""
    frames = [(ref, frame) for ref in vm.generators or () if (frame := ref()) is not None]
    if vm.generators is not None:
        vm.generators[:] = [ref for ref, _ in frames]
    return [frame for _, frame in frames if frame.state == SUSPENDED]


def is_driver(code: Any) -> bool:
    """Whether this is the code of the native generators that represent interpreted ones."""
    return code in _DRIVER_CODES


def driven_frame(native: types.FrameType) -> Frame:
    """The interpreted frame behind the native frame of such a generator."""
    frame: Frame = native.f_locals["frame"]
    return frame


_DRIVER_CODES = frozenset(driver.__code__ for driver in _DRIVERS.values())


def suspended_frame(generator: Any) -> Frame | None:
    """The frame behind a generator that the interpreter made, where it waits at a `yield` of its own; else None."""
    frame = frame_of(generator)
    return None if frame is None or delegates(frame) else frame


def frame_of(generator: Any) -> Frame | None:
    """The frame behind a generator that the interpreter made, until it has come to its end; else None."""
    if type(generator) is not types.GeneratorType or generator.gi_code is not _drive.__code__:
        return None
    return generator.gi_frame.f_locals["frame"] if generator.gi_frame is not None else None


def make_waiting(frame: Frame, name: str, qualname: str) -> Any:
    """A generator whose body is `frame`, which waits at a `yield`, or was not started yet."""
    made = make_generator(frame, name, qualname)
    if frame.state == SUSPENDED:
        next(made)
    return made


def waits_in_block(frame: Frame) -> bool:
    """Whether code runs when the generator of `frame` dies: it is suspended where a handler of its own covers it, or
    waits for another one, which it closes then."""
    if frame.state != SUSPENDED:
        return False
    handler = frame.info.handler_at(frame.code, frame.pc - 1)
    if delegates(frame):
        return True
    return handler is not None and frame.info.ops[handler.target][0] is not HANDLERS["STOPITERATION_ERROR"]


def take_over(frame: Frame, asked: Callable[[], Any]) -> None:
    """Other code gives the items of a generator that has not begun. asked: what raises if it is asked for one."""
    frame.taken = asked
    frame.pc = len(frame.info.ops)
    frame.locals.clear()
    frame.stack.clear()


def give_up(frame: Frame) -> None:
    """Nothing of a suspended generator's `frame` runs any more, not when the generator dies either."""
    frame.state = RETURNED


def delegates(frame: Frame) -> bool:
    """Whether `frame` is suspended in a `yield from` or an `await`."""
    return frame.pc >= 2 and frame.info.ops[frame.pc - 2][0] is HANDLERS["SEND"]


def finish_send(frame: Frame, stack: list[Any], arg: tuple[int, bool], value: Any) -> None:
    """The iterator of a `yield from` returned `value`: go on behind the loop."""
    target, pops = arg
    if pops:
        stack[-1] = value
    else:
        stack.append(value)
    frame.pc = target
