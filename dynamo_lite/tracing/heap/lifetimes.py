"""Programs that see when their objects die: weak references, their callbacks, `__del__`.

CPython frees an object as soon as nothing refers to it. The interpreter's frames hold no more than CPython's do, but
the journal holds every object that was written to (journal.py). From the first weak reference to an object of the
run, or the first object of the run with a `__del__`, it holds those of the run no longer.
"""

from __future__ import annotations

import weakref
from typing import Any

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import State, Step, Trace
from dynamo_lite.tracing.policy.native_modules import in_library


class Raised(State):
    """What the program itself raised last."""

    def __init__(self, tracer: Trace) -> None:
        self.last: BaseException | None = None


class Lifetimes(State):
    """Which objects the run has made, asked again and again while it goes on."""

    def __init__(self, tracer: Trace) -> None:
        self._tracer = tracer
        self._young: set[int] = set()  # ids, which only another object of the run can have later
        self.are_seen = False
        self.collected = False  # the program has called the garbage collector
        self._by_program = False

    def see(self, by_program: bool = True) -> None:
        """From now on the program sees when objects die; a library's caches alone are not `by_program`."""
        self._by_program = self._by_program or by_program
        if not self.are_seen:
            self.are_seen = self._tracer.vm.frees = True
            self._tracer.own(Raised).last = None  # whose traceback holds what was at work
            self._tracer.journal.let_go_of_young(self.is_young)

    def is_young(self, obj: Any) -> bool:
        """Whether the run has made `obj`; False where the collector cannot tell."""
        if id(obj) in self._young:
            return True
        heap = self._tracer.heap
        if not heap.is_newest(obj):
            heap.mark()
            if not heap.is_young(obj):
                return False
        self._young.add(id(obj))
        return True

    def check_caught(self, error: BaseException) -> None:
        """The program handles an exception. In CPython its traceback keeps the variables of the frames that it left."""
        if not self._by_program or error.__traceback__ is None:
            return
        left = error.__traceback__.tb_next
        while left is not None:  # a library's functions hold what they were given
            if not in_library(str(left.tb_frame.f_globals.get("__name__", ""))):
                self._tracer.refuse("object-lifetime", what="the traceback of an exception that left a function")
            left = left.tb_next


def plan(tracer: Trace, fn: Any) -> Step | None:
    """The step of a call plan for a class whose objects see when they die."""
    return see_object if issubclass(type(fn), type) and hasattr(fn, "__del__") else None


def see_object(tracer: Trace, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The program makes an object of such a class."""
    tracer.own(Lifetimes).see()
    return NOT_HANDLED


def call_weak_reference(tracer: Trace, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """weakref.ref(obj), weakref.proxy(obj): an object from outside outlives the run."""
    if args and tracer.sees_python and tracer.own(Lifetimes).is_young(args[0]):
        by_program = not _is_for_a_library(tracer)
        if by_program and isinstance(args[0], type):  # in reference cycles: it lives until a collection
            tracer.refuse("unrecordable-value", function="weakref.ref() of a class that forward makes")
        tracer.own(Lifetimes).see(by_program)
    return NOT_HANDLED


def _is_for_a_library(tracer: Trace) -> bool:
    """Whether no code of the program's asks for the reference, itself or by a collection of the weakref module."""
    frame = tracer.vm.frame
    while frame is not None and frame.globals.get("__name__") in ("weakref", "_weakrefset"):
        frame = frame.back
    return frame is not None and in_library(str(frame.globals.get("__name__", "")))


def callables() -> tuple[Any, ...]:
    """What makes weak references: the collections of weakref and functools make them by these."""
    return (weakref.ref, weakref.KeyedRef, weakref.WeakMethod, weakref.proxy)
