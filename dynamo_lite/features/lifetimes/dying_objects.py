"""Objects from before the run that die in a call, where a part of the program sees that.

CPython frees an object when the program puts another in its place. The run does not: its journal holds the objects that
it has to restore. So a weak reference shows the object in the trace, and in the next call of the program, where eager
finds none; and neither its `__del__` nor a callback of a reference to it runs. (Objects of the run itself: lifetimes.py
in tracing/heap.)
"""

from __future__ import annotations

import gc
import weakref
from types import CodeType, CoroutineType, FrameType, FunctionType, GeneratorType, ModuleType
from typing import Any

import torch

from dynamo_lite.interpreter.frames.generators import give_up, suspended, waits_in_block
from dynamo_lite.tracing.effects.descriptions import Effects
from dynamo_lite.tracing.heap.object_paths import path_of
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC
from dynamo_lite.value_types import SHAPES_AND_CONSTANTS

_MOST_OBJECTS = 10_000
_NOT_FOLLOWED: tuple[Any, ...] = (
    *(*SHAPES_AND_CONSTANTS, torch.Tensor, *SYMBOLIC, type, ModuleType, FunctionType, CodeType, FrameType),
    *(GeneratorType, CoroutineType),  # an interpreted one holds the interpreter
)
_OF_LIBRARIES = ("torch", "dynamo_lite")


def check(tracer: TracerView, effects: Effects, later: TracerView | None = None) -> None:
    """Raises the graph break for an object that dies in eager, if the program sees its death or may.

    later: the run from the state that this one leaves, which dereferences the weak references.
    """
    changes = [*effects.dropped, *effects.pending, *effects.assigned.values()]
    if not tracer.sees_python or not changes:
        return
    asked = set(map(id, (later or tracer).reads.referents))
    for change in changes:
        released = _released(change.old)
        if len(released) >= _MOST_OBJECTS:
            tracer.note(f"the call lets go of over {_MOST_OBJECTS} objects; references to some were not looked for")
        for value in released:
            if not _is_seen(value, asked) or tracer.heap.is_new(value):
                continue
            if path_of(value, tracer.root) is None:  # who else may hold it, may also let it go before the next call
                name = type(value).__qualname__
                what = f"a {name} from before the call may die in it, which a weak reference or __del__ shows"
                raise tracer.graph_break("object-lifetime", change.mark, what=what)


def check_generators(tracer: TracerView) -> None:
    """Raises the graph break for a generator within `try` or `with` that the program has dropped together with its
    holder, and that the journal has kept: CPython runs the rest of it at once."""
    within = filter(waits_in_block, suspended(tracer.vm))
    waiting = [(weakref.ref(frame), frame.code, frame.lineno) for frame in within]
    if not waiting:
        return
    for frame in suspended(tracer.vm):
        give_up(frame)
    del frame
    tracer.journal.let_go_of_new(lambda value: bool(tracer.heap.is_new(value)))
    for reference, code, line in waiting:
        if reference() is None:
            what = f"the generator {code.co_qualname}, which waits at line {line}, is dropped with what holds it"
            raise tracer.graph_break("object-lifetime", what=what)


def _released(old: Any) -> list[Any]:
    """Return the former contents of a place, and everything reachable from them."""
    found: dict[int, Any] = {}
    todo = [old]
    while todo and len(found) < _MOST_OBJECTS:
        value = todo.pop()
        if id(value) not in found and not isinstance(value, _NOT_FOLLOWED) and not _is_ours(type(value)):
            found[id(value)] = value
            todo += gc.get_referents(value)
    return [*found.values()]


def _is_ours(cls: type) -> bool:
    """Whether an object is of the run: it represents a list whose length depends on data, for instance."""
    return str(cls.__module__).startswith("dynamo_lite.")


def _is_seen(value: Any, asked: set[int]) -> bool:
    """asked: ids of the weak references that the program has called."""
    if type(getattr(type(value), "__del__", None)) is FunctionType:
        return True
    return any(
        id(reference) in asked or isinstance(reference, weakref.ProxyTypes) or _calls_the_program(reference)
        for reference in weakref.getweakrefs(value)
    )


def _calls_the_program(reference: Any) -> bool:
    callback = reference.__callback__
    package = str(getattr(callback, "__module__", "")).partition(".")[0]
    return callback is not None and package not in _OF_LIBRARIES
