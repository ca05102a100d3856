"""The tracer's work before the program calls a C function: it carries out the verdict of the tables."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodDescriptorType
from typing import Any

from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.heap import shared_buffers
from dynamo_lite.tracing.heap.iterator_types import ITERATORS, is_c_iterator, known_iterators
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.policy.classify import classify, name_of, verdict_of
from dynamo_lite.tracing.policy.verdicts import PYTHON, ArgumentPosition, CallKind, CallVerdict
from dynamo_lite.tracing.vocabulary.type_tests import is_array, is_tensor

_MISSING = object()
Action = Callable[["TracerView", Any, tuple[Any, ...], dict[str, Any], CallVerdict], Any]


def plan(fn: Any) -> tuple[Step | None, Step | None, Step | None]:
    """Return the steps of a call plan for a C callable: the verdict carried out; the journaling after a rule has let
    the call pass (it has judged the rest); and the handling of keyword arguments."""
    verdict = verdict_of(fn)
    if verdict is PYTHON:
        return None, None, None
    action = _ACTIONS.get(verdict.kind)
    act = None if action is None else _acting(action, verdict)
    consumes = None
    if verdict.kind is not CallKind.OPERATOR and id(fn) not in _ONLY_LOOK and getattr(fn, "__name__", "") != "close":
        consumes = _check_iterators
    native = act if consumes is None else consumes if act is None else _in_turn(act, consumes)
    return native, act if verdict.kind in _CHANGING else None, _check_out


def _acting(action: Action, verdict: CallVerdict) -> Step:
    def step(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return action(tracer, fn, args, kwargs, verdict)

    return step


def _in_turn(first: Step, second: Step) -> Step:
    def step(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        answer = first(tracer, fn, args, kwargs)
        return second(tracer, fn, args, kwargs) if answer is NOT_HANDLED else answer

    return step


def _check_iterators(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Refuse a call that advances an iterator that existed before the call of forward."""
    for position, arg in enumerate(args):
        is_iterator = known_iterators.get(type(arg))
        if is_iterator is None:
            is_iterator = is_c_iterator(type(arg))
        if is_iterator and _consumes(fn, position):
            if tracer.writes.is_old(arg):
                tracer.refuse("outside-iterator", what=f"a {type(arg).__name__}")
            if type(arg) not in ITERATORS:  # of the others, sides of branches have copies
                tracer.on_hidden_change(arg)
    return NOT_HANDLED


def _check_out(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Handle numpy's `out=`, which is written into (`...`: an array, also of no dims). Operators report tensors."""
    out = kwargs.get("out")
    for part in out if isinstance(out, tuple) else (out,):
        if is_array(part):
            continue  # a tensor behind it
        if part is not None and part is not ... and not is_tensor(part):
            shared_buffers.touch(tracer, part)
    return NOT_HANDLED


def before_call(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the steps of features and of `plan`, as for a callable without a rule. NOT_HANDLED to continue, else the
    call's result."""
    for planner in tracer.features.c_steps:
        step = planner(tracer, fn)
        if step is not None and (answer := step(tracer, fn, args, kwargs)) is not NOT_HANDLED:
            return answer
    native, _, keywords = plan(fn)
    answer = NOT_HANDLED if native is None else native(tracer, fn, args, kwargs)
    return keywords(tracer, fn, args, kwargs) if answer is NOT_HANDLED and keywords is not None else answer


_ONLY_LOOK = frozenset(map(id, (type, isinstance, id, callable, hasattr, getattr, setattr, iter, repr, print)))
_STORES = frozenset(
    {
        *("append", "appendleft", "insert", "add", "discard", "remove", "setdefault", "get", "pop", "index", "count"),
        *("__setitem__", "__contains__", "__getitem__", "__setattr__", "__set__", "__new__"),
    }
)
"""Methods that keep or compare an argument, and do not iterate over it."""


def _consumes(fn: Any, position: int) -> bool:
    """Whether a call of `fn`, which does not only look, may move on an iterator that is its argument `position`."""
    return position == 0 or getattr(fn, "__name__", "") not in _STORES


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any], where: tuple[ArgumentPosition, ...]) -> list[Any]:
    found = []
    for position, name in where:
        value = args[position] if position < len(args) else kwargs.get(name, _MISSING) if name else _MISSING
        if value is not _MISSING:
            found.append(value)
    return found


def _mutates(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], verdict: CallVerdict) -> Any:
    for owner in _arguments(args, kwargs, verdict.where):
        if is_tensor(owner) or is_array(owner):
            continue  # what is written to it is an operator
        if verdict.part == "memory":
            shared_buffers.touch(tracer, owner)
        elif verdict.part == "members":
            tracer.writes.touch_member(owner, args[0].__name__)
        else:
            tracer.writes.touch(owner, verdict.part)
            if verdict.part == "attributes" and len(args) > 1:
                tracer.writes.written(owner, verdict.part, args[1])
    return NOT_HANDLED


def _arrays(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], verdict: CallVerdict) -> Any:
    """Outputs may be passed by position; a ufunc's attributes give the first; a method does not write into its own."""
    first = getattr(fn, "nin", 1 if type(fn) is MethodDescriptorType else 0)
    shared_buffers.touch_arrays(tracer, (*args[first:], *kwargs.values()))
    return NOT_HANDLED


def _opaque(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], verdict: CallVerdict) -> Any:
    for owner in _arguments(args, kwargs, verdict.where):
        if tracer.writes.is_old(owner):
            name = getattr(fn, "__name__", None) or name_of(fn)
            tracer.refuse("outside-object", what=f"{name}() of a {type(owner).__name__}")
        tracer.on_hidden_change(owner)
    return NOT_HANDLED


def _unrecordable(
    tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], verdict: CallVerdict
) -> Any:
    name, answer = str(name_of(fn)).replace(":", "."), tracer.features.answers.get("unrecordable")
    if answer is not None:
        return answer(tracer, name, fn, args, kwargs)
    return NOT_HANDLED if tracer.in_library() else tracer.refuse("unrecordable-value", function=name)


def _graph_break(id: str) -> Action:
    def refuse(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], verdict: CallVerdict) -> Any:
        name = str(name_of(fn)).replace(":", ".").removeprefix("builtins.")
        tracer.refuse(id, function=name)

    return refuse


def _effect(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], verdict: CallVerdict) -> Any:
    tracer.note(f"{str(name_of(fn)).replace(':', '.')} was skipped")
    return None


def _lock(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], verdict: CallVerdict) -> Any:
    tracer.writes.locks.before_call(fn.__name__, args, kwargs)
    return NOT_HANDLED


_ACTIONS: dict[CallKind, Action] = {
    CallKind.MUTATES: _mutates,
    CallKind.ARRAYS: _arrays,
    CallKind.OPAQUE: _opaque,
    CallKind.LOCK: _lock,
    CallKind.EFFECT: _effect,
    CallKind.UNRECORDABLE: _unrecordable,
    CallKind.RNG: _graph_break("global-rng"),
    CallKind.PROCESS: _graph_break("process-state"),
    CallKind.WORLD: _graph_break("outside-world"),
    CallKind.UNKNOWN: _graph_break("opaque-call"),
}


_CHANGING = frozenset({CallKind.MUTATES, CallKind.OPAQUE, CallKind.LOCK})


def is_new_result(tracer: TracerView, fn: Any, args: tuple[Any, ...], result: Any) -> bool:
    """Whether the call created its result rather than looked it up: for objects that the collector does not track."""
    if issubclass(type(fn), type):
        return True
    if any(result is arg for arg in args):
        return False
    if fn is iter or fn is reversed:  # what a class's own `__iter__` returns, its own calls have made
        return not is_changeable(type(args[0]))
    name = name_of(fn)
    if name is None:
        return str(getattr(fn, "__module__", "")).startswith("numpy")
    if classify(fn).kind is CallKind.OPERATOR:
        return False
    module, _, path = name.partition(":")
    return path.endswith(("__new__", "__iter__", "__reversed__")) or module not in _LOOK_THINGS_UP


def is_numpys(fn: Any) -> bool:
    """Whether `fn` is a function of numpy, or a method of its arrays."""
    return (name_of(fn) or str(getattr(fn, "__module__", ""))).startswith("numpy")


_LOOK_THINGS_UP = frozenset(
    [
        "builtins",
        "_operator",
        "_collections",
        "collections",
        "_functools",
        "functools",
        "itertools",
        "_contextvars",
        "_weakref",
        "_heapq",
        "_bisect",
        "_thread",
        "types",
    ]
)
