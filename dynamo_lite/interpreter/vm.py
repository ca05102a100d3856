"""The interpreter: the loop over instructions, and the one path that every call takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FunctionType, MethodType, TracebackType
from typing import Any, Final
from weakref import ReferenceType, WeakKeyDictionary

from dynamo_lite import undoing
from dynamo_lite.interpreter.code.decode import PLAIN, info_of, infos
from dynamo_lite.interpreter.code.normal_form import VERSION
from dynamo_lite.interpreter.code.sentinels import MISSING, UNBOUND
from dynamo_lite.interpreter.datamodel.callees import C_SLOTS, callee_key
from dynamo_lite.interpreter.datamodel.trampoline_code import Entry, original_code
from dynamo_lite.interpreter.datamodel.trampolines import Trampolines
from dynamo_lite.interpreter.frames.binding import bind
from dynamo_lite.interpreter.frames.exceptions import unwind
from dynamo_lite.interpreter.frames.frame import KEPT, SUSPENDED, Frame, Handled
from dynamo_lite.interpreter.frames.generators import deliver, make_generator
from dynamo_lite.interpreter.frames.recursion import HOST_LIMIT
from dynamo_lite.interpreter.frames.tracebacks import strip
from dynamo_lite.interpreter.lookasides.frame_queries import OWN_LOOKASIDES
from dynamo_lite.interpreter.opcodes.fused import fuse
from dynamo_lite.undoing import WAITING
from dynamo_lite.value_types import BOUND_IN_C, C_CALLABLES

from . import datamodel
from .lookasides import TABLE
from .observer import NOT_HANDLED, Hooks, Observer

_REQUIRED: Final[Any] = object()

Lookaside = Callable[["Interpreter", tuple[Any, ...], dict[str, Any]], Any]


class Interpreter(Hooks):
    """Runs Python on real objects. One interpreter serves one thread at a time."""

    def __init__(self, observer: Observer | None = None) -> None:
        self.observer = observer = observer if observer is not None else Observer()
        super().__init__(observer)
        self.generators: list[ReferenceType[Frame]] | None = None
        """When a list: the frames of the generators and coroutines that were made (generators.py, `suspended`)."""
        if self.runs_natively is not None:
            self.runs_natively = self._trusts
        self.trampolines = Trampolines(self)
        self.lookasides: dict[Any, Lookaside] = {**TABLE, **OWN_LOOKASIDES}
        self.frame: Frame | None = None
        self.retired = False
        """Set when the run is over for good: a generator that outlives it does not run any more, not even its end."""
        self.made_dicts: set[int] | None = None
        """When a set: the ids of the dicts that the program's own instructions made. (The garbage collector does not
        track a dict of atoms, so an observer cannot find these otherwise. Ids of dead ones are never those of
        objects that were there before the run.)"""
        self.frees = False  # the program sees when its objects die
        self.entries: WeakKeyDictionary[FunctionType, ReferenceType[Frame]] = WeakKeyDictionary()
        """The objects that represent frames in existing tracebacks (tracebacks.py)."""
        self.handled = Handled()
        self.native_handled: BaseException | None = None
        self.inherits_handled = True
        """Whether the program sees the exception that the caller of `enter` is handling, as CPython shows it."""
        self.clean_traceback: TracebackType | None = None
        self.native_frame: Any = None
        self.depth = 0
        self.recursion_limit = sys.getrecursionlimit()
        self._trusted: dict[int, tuple[CodeType, bool]] = {}

    # ------------------------------------------------------------------ entry

    def enter(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call `fn` from code that is not interpreted: the tracebacks of its exceptions begin with the program's
        frames."""
        outermost = self.frame is None
        if outermost:
            undoing.changing(self._leave)
            HOST_LIMIT.enter(id(self))
            self.recursion_limit = HOST_LIMIT.program_limit
            self.native_handled = sys.exception()
            self.handled.value = self.native_handled if self.inherits_handled else None
            self.native_frame = sys._getframe(1)
        try:
            return self.call(fn, args, kwargs)
        except BaseException as exc:
            strip(exc, self)
            raise
        finally:
            if outermost:
                undoing.undone(self._leave)

    def _leave(self) -> None:
        """The end of `enter`: the process is as before."""
        self.trampolines.release()
        HOST_LIMIT.leave(id(self))
        self.native_handled = self.handled.value = self.clean_traceback = self.native_frame = None

    def set_recursion_limit(self, limit: int) -> None:
        """The program's limit; CPython's is set so high that the program's is met first."""
        HOST_LIMIT.set(limit)
        self.recursion_limit = limit

    def getattr(self, obj: Any, name: str, default: Any = _REQUIRED) -> Any:
        """The attribute as the program would get it; `default`, when given, instead of an AttributeError."""
        if default is _REQUIRED:
            return datamodel.getattr_(self, obj, name)
        try:
            return datamodel.getattr_(self, obj, name)
        except AttributeError:
            self.swallow()
            return default

    def swallow(self) -> None:
        """C code suppresses an exception, which is then destroyed."""
        if self.frees and self.on_swallowed is not None:
            self.on_swallowed()

    # ------------------------------------------------------------------ calls

    def call(self, fn: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Call `fn` as the program would: every call of the program and of the lookasides comes through here."""
        if WAITING.is_due:
            WAITING.raise_it()
        while type(fn) is MethodType:
            args = (fn.__self__, *args)
            fn = fn.__func__
        if type(fn) is FunctionType:
            if self.before_call is not None:
                result = self.before_call(fn, args, kwargs or {})
                if result is not NOT_HANDLED:
                    return result
            lookaside = self.lookasides.get(fn)
            if lookaside is not None:
                return lookaside(self, args, kwargs or {})
            if self.runs_natively is not None:
                trusted = self._trusted.get(id(fn.__code__))
                if self.runs_natively(fn) if trusted is None else trusted[1]:
                    return self.call_natively(fn, fn, args, args, kwargs)
            return self.interpret_function(fn, args, kwargs)
        return self._call_other(fn, args, kwargs)

    def interpret_function(self, fn: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        """Run a Python function here, without lookasides and the observer's hooks for calls."""
        code: Any = fn.__code__
        info = infos.get(id(code)) or info_of(code)
        code = info.code_ref()  # not fn.__code__, which may be a trampoline
        if not kwargs and len(args) == info.plain_count:  # the common case of `bind`
            values = [*args, *info.padding, *(fn.__closure__ or ())]
        elif kwargs and not _NAMES.issuperset(map(type, kwargs)):  # CPython hashes and compares such names
            values = self.trampolines.apply(bind, fn, code, info, args, kwargs)
        else:
            values = bind(fn, code, info, args, kwargs)
        frame = Frame(self, code, info, fn.__globals__, fn.__builtins__, values)
        if self.made_dicts is not None and code.co_flags & CO_VARKEYWORDS:
            at = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & CO_VARARGS)
            self.made_dicts.add(id(frame.locals[at]))
        if info.kind != PLAIN:
            return make_generator(frame, fn.__name__, fn.__qualname__)
        result = self.run(frame)
        if self.frees and self.on_released is not None:
            self.on_released(code, args, kwargs)
        return result

    def _trusts(self, fn: FunctionType) -> bool:
        """The observer's `runs_natively`, called once per code object (and once more for its trampoline)."""
        code = fn.__code__
        known = self._trusted.get(id(code))
        if known is None:
            consts = code.co_consts
            own = self._trusted.get(id(original_code(code))) if consts and type(consts[-1]) is Entry else None
            known = self._trusted[id(code)] = (code, bool(self.observer.runs_natively(fn)) if own is None else own[1])
        return known[1]

    def _call_other(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        kind = type(fn)
        key, full_args = callee_key(fn, args) if kind in BOUND_IN_C else (fn, args)
        if self.before_call is not None:
            result = self.before_call(key, full_args, kwargs or {})
            if result is not NOT_HANDLED:
                return result
        # The table is looked up only for objects hashed by identity: another hash may be the program's.
        lookaside = self.lookasides.get(key) if kind in C_CALLABLES or kind.__hash__ is _IDENTITY_HASH else None
        if lookaside is not None:
            return lookaside(self, full_args, kwargs or {})
        if kind in C_CALLABLES:
            return self.call_natively(fn, key, args, full_args, kwargs)
        if issubclass(kind, type):
            return datamodel.call_class(self, fn, args, kwargs or {})
        slot = datamodel.type_lookup(kind, "__call__")
        if type(slot) not in C_SLOTS:
            return self._call_instance(fn, kind, slot, args, kwargs)
        lookaside = self.lookasides.get(slot)
        if lookaside is not None:
            return lookaside(self, (fn, *args), kwargs or {})
        return self.call_natively(fn, fn, args, args, kwargs)

    def _call_instance(
        self, fn: Any, cls: type, slot: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None
    ) -> Any:
        if slot is MISSING:
            return fn(*args, **(kwargs or {}))  # raises CPython's own TypeError
        if type(slot) is FunctionType:
            return self.call(slot, (fn, *args), kwargs)
        return self.call(datamodel.lookup_special(self, fn, "__call__"), args, kwargs)

    def call_natively(
        self, fn: Any, key: Any, args: tuple[Any, ...], full_args: tuple[Any, ...], kwargs: dict[str, Any] | None
    ) -> Any:
        result = self.trampolines.call(fn, args, kwargs, key, full_args)
        if self.after_native_call is not None:
            return self.after_native_call(key, full_args, kwargs or {}, result)
        return result

    # ------------------------------------------------------------------ the loop

    def run(self, frame: Frame) -> Any:
        """Run `frame` until it returns or yields; its value. Exceptions that it does not catch propagate."""
        if self.depth >= self.recursion_limit:
            raise RecursionError("maximum recursion depth exceeded")
        self.depth += 1
        frame.back = self.frame
        self.frame = frame
        if self.on_enter is not None:
            self.on_enter(frame)
        info = frame.info
        ops = info.fused
        if ops is None:
            ops = info.ops
            if info.ran:  # most code runs once
                ops = info.fused = fuse(ops)
            info.ran = True
        stack = frame.stack
        trampolines = self.trampolines
        trampolines_open = trampolines.open
        trampolines.open = False
        try:
            while True:
                try:
                    if frame.thrown is not None and deliver(frame, frame.thrown):
                        return frame.result
                    if self.on_instruction is not None:
                        return self._run_observed(frame, stack)
                    while True:
                        handler, arg = ops[frame.pc]
                        frame.pc += 1
                        if handler(frame, stack, arg) is not None:
                            return frame.result
                except BaseException as exc:
                    # Inside this block CPython handles `exc`: nothing of the program may run here.
                    if not unwind(self, frame, exc):
                        raise
        finally:
            trampolines.open = trampolines_open
            self.depth -= 1
            self.frame = frame.back
            if frame.proxy is None:
                frame.back = None
            else:
                _leave(frame)
            if self.on_exit is not None:
                self.on_exit(frame)
            if self.frees and frame.state != SUSPENDED and frame.proxy is None:
                if self.on_ended is not None:
                    self.on_ended(frame)
                _free(frame)

    def run_until(self, frame: Frame, stops: Container[int]) -> int | None:
        """Run `frame`, which is running, up to one of the instructions `stops`: its index. None: it returned or
        yielded. Exceptions that it does not catch propagate."""
        ops = frame.info.ops
        stack = frame.stack
        while True:
            try:
                while frame.pc not in stops:
                    operation = ops[frame.pc]
                    frame.pc += 1
                    if self.on_instruction is not None:
                        self.on_instruction(frame, operation)
                    handler, arg = operation
                    if handler(frame, stack, arg) is not None:
                        return None
                return frame.pc
            except BaseException as exc:
                if not unwind(self, frame, exc):
                    raise

    def _run_observed(self, frame: Frame, stack: list[Any]) -> Any:
        """The inner loop with `on_instruction` before each instruction."""
        ops = frame.info.ops
        while True:
            operation = ops[frame.pc]
            frame.pc += 1
            if self.on_instruction is not None:  # it may be taken away meanwhile
                self.on_instruction(frame, operation)
            handler, arg = operation
            if handler(frame, stack, arg) is not None:
                return frame.result


_IDENTITY_HASH: Final = object.__hash__
_NAMES: Final = frozenset({str})


_FROM_THE_TOP: Final = VERSION >= (3, 14)


def _free(frame: Frame) -> None:
    """Release the references of a finished frame, in CPython's order (_PyFrame_ClearLocals): from 3.14 on from the top
    of the stack down."""
    values = frame.locals
    if _FROM_THE_TOP:
        while frame.stack:
            frame.stack.pop()
    for index in reversed(range(len(values))) if _FROM_THE_TOP else range(len(values)):
        values[index] = UNBOUND
    frame.stack.clear()


def _leave(frame: Frame) -> None:
    """A frame that the program holds (sys._getframe) keeps its f_back when it has finished; so do its callers."""
    if frame.state == SUSPENDED or not (frame.proxy is KEPT or frame.proxy() is not None):
        frame.back = None
    elif frame.back is not None and frame.back.proxy is None:
        frame.back.proxy = KEPT
