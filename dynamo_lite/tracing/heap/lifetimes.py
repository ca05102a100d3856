"""Programs that see when their objects die: weak references, their callbacks, `__del__`.

CPython frees an object as soon as nothing refers to it. The interpreter's frames hold no more than CPython's do, but
the journal holds every object that was written to (journal.py), and a call its arguments until it returns. From the
first weak reference to an object of the run, or the first object of the run with a `__del__`, the journal holds those
of the run no longer, and a function that lets go of an argument, which nothing else holds, is refused.
"""

from __future__ import annotations

import dis
import gc
import weakref
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from dynamo_lite.interpreter.frames.frame import RETURNED
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.calls.run_native import run_native
from dynamo_lite.tracing.heap.raised_errors import Raised
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView
from dynamo_lite.tracing.policy.native_modules import in_library
from dynamo_lite.tracing.strings.nondeterministic import unrecordable


class Lifetimes(FeatureState):
    """Tracks which objects the run has made; queried repeatedly while it runs."""

    stays = "`check_fork` refuses where a side could be seen to keep objects alive"

    def __init__(self, tracer: TracerView) -> None:
        self._tracer = tracer
        self._new: set[int] = set()  # ids, which only another object of the run can have later
        self.are_seen = False
        self.collected = False  # the program has called the garbage collector
        self._by_program = False
        self._is_forked = False
        self.watched: set[int] = set()  # ids of what the program has weak references to
        self._rebound: dict[int, tuple[CodeType, frozenset[str]]] = {}  # by the id of the code, which it keeps alive
        self._keeping: set[FrameType] = set()  # frames of tracebacks, whose variables keep in CPython what is watched

    def see(self, by_program: bool = True) -> None:
        """From now on the program sees when objects die; a library's caches alone are not `by_program`."""
        self._by_program = self._by_program or by_program
        if self._is_forked:
            self.check_fork()
        if not self.are_seen:
            self.are_seen = self._tracer.vm.frees = True
            self._tracer.own(Raised).last = None  # whose traceback holds the frames that ran
            self._tracer.journal.let_go_of_new(self.is_new)

    def check_fork(self) -> None:
        """Keep all objects from now on: a side or an iteration is run and undone, and needs them again afterwards."""
        self._is_forked = True
        if self._by_program:
            self._tracer.refuse("object-lifetime", what=_FORK)

    def is_new(self, obj: Any) -> bool:
        """Whether the run has made `obj`; False if the collector does not track it."""
        if id(obj) in self._new:
            return True
        heap = self._tracer.heap
        if not heap.is_newest(obj):
            heap.refresh()
            if not heap.is_new(obj):
                return False
        self._new.add(id(obj))
        return True

    def note_left(self, variables: list[Any], entry: FrameType) -> None:
        """An exception leaves a function. In CPython `entry` of its traceback keeps the function's variables."""
        if self._by_program and self._reaches_watched(variables):
            self._keeping.add(entry)

    def check_ended(self, frame: Any) -> None:
        """A function has returned. An exception that it has handled, and that is still there, keeps its variables."""
        if not self._by_program or frame.state != RETURNED or not self._tracebacks():
            return
        if any(of() is frame for of in self._tracebacks()) and self._reaches_watched(frame.locals):
            self._tracer.refuse("object-lifetime", what=_TRACEBACK)

    def check_watched(self) -> None:
        """The program makes a weak reference: the objects that tracebacks of exceptions keep alive, of functions that
        are over, are not known. (check_ended judges one that is running.)"""
        at_work, frame = set(), self._tracer.vm.frame
        while frame is not None:
            at_work.add(frame)
            frame = frame.back
        if any(of() not in at_work for of in self._tracebacks()):
            self._tracer.refuse("object-lifetime", what=_TRACEBACK)

    def _tracebacks(self) -> list[Any]:
        """The frames, by weak references, of the tracebacks that the program's exceptions have."""
        self._tracer.own(Raised).last = self._tracer.vm.clean_traceback = None
        return [*self._tracer.vm.entries.values()]

    def check_caught(self, error: BaseException) -> None:
        """The program handles an exception, whose traceback would keep objects alive whose death it sees."""
        if not self._keeping:
            return
        left = error.__traceback__
        while left is not None:
            if left.tb_frame in self._keeping:
                self._tracer.refuse("object-lifetime", what=_TRACEBACK)
            left = left.tb_next

    def _reaches_watched(self, variables: list[Any]) -> bool:
        """Whether objects of the run reachable from `variables` are watched. Older objects outlive it."""
        todo = list(variables)
        seen: set[int] = set()
        while todo:
            value = todo.pop()
            if id(value) in self.watched:
                return True
            if id(value) in seen or not gc.is_tracked(value) or not self.is_new(value):
                continue
            if type(getattr(type(value), "__del__", None)) is FunctionType:
                return True
            seen.add(id(value))
            if len(seen) > _MOST_OBJECTS:
                return True
            todo += gc.get_referents(value)
        return False

    def check_released(self, code: CodeType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A function has returned. Objects that it released, and nothing else holds, died at that point in CPython."""
        if not self._by_program:
            return
        known = self._rebound.get(id(code))
        if known is None:
            known = self._rebound[id(code)] = (code, _rebound_parameters(code))
        if not known[1]:
            return
        named = code.co_varnames[: code.co_argcount]
        names = (*named, *[_rest_name(code)] * (len(args) - len(named)))
        released = [value for name, value in (*zip(names, args, strict=False), *kwargs.items()) if name in known[1]]
        for value in released:  # no generator expression, which would hold the value
            if self._dies(value, (args, kwargs, released)):
                self._tracer.refuse("object-lifetime", what=_ARGUMENT)

    def _dies(self, value: Any, holders: tuple[Any, ...], depth: int = 3) -> bool:
        """Whether `value`, or an object that only it holds, is watched and held only by `holders` in the program."""
        if not depth or not gc.is_tracked(value) or not self.is_new(value):
            return False
        others = [other for other in gc.get_referrers(value) if type(other) not in _PASSING]
        if any(all(other is not holder for holder in holders) for other in others):
            return False
        if id(value) in self.watched or hasattr(type(value), "__del__"):
            return True
        namespace = getattr(value, "__dict__", None)
        parts = [part for part in gc.get_referents(value) if part is not namespace]
        inner = (value, namespace, parts)
        parts += namespace.values() if type(namespace) is dict else ()
        for part in parts:  # noqa: SIM110 (as above)
            if self._dies(part, inner, depth - 1):
                return True
        return False


_TRACEBACK = "the traceback of an exception that left a function keeps objects alive in CPython that a trace lets go"
_FORK = "a branch or a loop on data keeps the objects that both its sides need, though the program sees when they die"
_MOST_OBJECTS = 10_000
"""The most objects to look at; beyond, objects that a traceback keeps alive count as watched."""
_PASSING = (tuple, FrameType, MethodType)  # what a call itself holds its arguments by
_ARGUMENT = (
    "a function lets go of an argument before it returns: in CPython the object dies there, in a trace at the return"
)


def _rebound_parameters(code: CodeType) -> frozenset[str]:
    """The parameters that a function's own instructions delete or give another value."""
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    parameters = frozenset(code.co_varnames[:count])
    found: set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith(("STORE_FAST", "DELETE_FAST", "STORE_DEREF", "DELETE_DEREF")):
            value = instruction.argval
            found.update(value if isinstance(value, tuple) else (value,))
    return parameters & found


def _rest_name(code: CodeType) -> str:
    """The name of `*args`, or an empty one."""
    at = code.co_argcount + code.co_kwonlyargcount
    return code.co_varnames[at] if code.co_flags & 4 else ""


def plan(tracer: TracerView, fn: Any) -> Step | None:
    """The step of a call plan for a class whose objects see when they die."""
    return see_object if issubclass(type(fn), type) and hasattr(fn, "__del__") else None


def see_object(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The program makes an object of such a class. It does not see the effect of a `__del__` in C (of a StringIO)."""
    tracer.own(Lifetimes).see(by_program=type(fn.__del__) is FunctionType)
    return NOT_HANDLED


def call_weak_reference(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """weakref.ref(obj), weakref.proxy(obj): an object that existed before the call outlives the run."""
    if args and tracer.sees_python and tracer.own(Lifetimes).is_new(args[0]):
        by_program = not _is_for_a_library(tracer)
        if by_program and isinstance(args[0], type):  # in reference cycles: it lives until a collection
            tracer.refuse("unrecordable-value", function="weakref.ref() of a class that forward makes")
        tracer.own(Lifetimes).see(by_program)
        if by_program:
            tracer.recorder.layout.matters(args[0], "watched")
            tracer.own(Lifetimes).check_watched()
            tracer.own(Lifetimes).watched.add(id(args[0]))
    return NOT_HANDLED


def _is_for_a_library(tracer: TracerView) -> bool:
    """Whether no code of the program makes the reference, itself or by a collection of the weakref module."""
    frame = tracer.vm.frame
    while frame is not None and frame.globals.get("__name__") in ("weakref", "_weakrefset"):
        frame = frame.back
    return frame is not None and in_library(str(frame.globals.get("__name__", "")))


def callables() -> tuple[Any, ...]:
    """Return the constructors of weak references, which the collections of weakref and functools use."""
    return (weakref.ref, weakref.KeyedRef, weakref.WeakMethod, weakref.proxy)


def call_subclasses(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """cls.__subclasses__(): which classes there are now. One that the call itself makes is there until a collection."""
    found = run_native(fn, args, kwargs)
    if tracer.in_library():
        return found
    tracer.heap.refresh()
    collected = tracer.own(Lifetimes).collected  # which the run's own references outlive
    if any(map(tracer.heap.is_new, found)) and (collected or not tracer.heap.is_new(args[0])):
        tracer.refuse("unrecordable-value", function="type.__subclasses__")
    tracer.note(f"{args[0].__qualname__}.__subclasses__() was taken as it is at export")
    return found


def call_collect(tracer: TracerView, fn: Any, args: tuple, kwargs: dict) -> Any:
    """gc.collect(): how many objects it finds depends on the rest of the process."""
    found = run_native(fn, args, kwargs)
    tracer.own(Lifetimes).collected = True
    return found if tracer.in_library() else unrecordable(tracer, "gc.collect")


def table() -> dict[int, Step]:
    """id(callable) → rule."""
    rows: dict[int, Step] = {id(fn): call_weak_reference for fn in callables()}
    return rows | {id(gc.collect): call_collect, id(type.__dict__["__subclasses__"]): call_subclasses}
