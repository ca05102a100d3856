"""The results of C code over the items of a generator: `sum(f(c) for c in x.split(4))`, `list(map(f, rows))`,
`any(...)`.

The frame of the generator is run as a function that consumes each item where the generator would yield it
(interpreter/code/inlined.py), which is the order in which CPython runs both. So the loop of the generator is captured
like that of a `for` statement. A generator that waits within `try` or `with` is CPython's to drive.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import math
from collections.abc import Callable
from functools import partial
from types import GeneratorType
from typing import Any

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.grown import GrownList
from dynamo_lite.control_flow.loops.counted import Counter, Iterations, RowIterations, is_open_size
from dynamo_lite.interpreter.code.decode import GENERATOR
from dynamo_lite.interpreter.code.inlined import inlined, may_be_inlined
from dynamo_lite.interpreter.code.normal_form import VERSION
from dynamo_lite.interpreter.code.sentinels import UNBOUND
from dynamo_lite.interpreter.frames.exceptions import stop_error, throw
from dynamo_lite.interpreter.frames.frame import Frame
from dynamo_lite.interpreter.frames.generators import frame_of, take_over
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

Rule = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]

_SHOWS_VARIABLES = frozenset({"locals", "vars", "dir", "eval", "exec", "_getframe"})
_NOTHING: Any = object()
_TAKEN = (
    "a generator goes on from which any(), all(), a loop, zip() or the like has taken items, so that only run time "
    "knows which is next"
)


# -- in Python, interpreted --------------------------------------------------------------------------------------------


def _each(iterable: Any) -> Any:
    for item in iterable:  # noqa: UP028
        yield item


def _add(result: Any, item: Any) -> Any:
    return result + item


def _multiply(result: Any, item: Any) -> Any:
    return result * item


def _larger(result: Any, item: Any, nothing: Any = _NOTHING) -> Any:
    if result is nothing:
        return item
    if item > result:
        return item
    return result


def _smaller(result: Any, item: Any, nothing: Any = _NOTHING) -> Any:
    if result is nothing:
        return item
    if item < result:
        return item
    return result


def _larger_by(key: Any) -> Any:
    """The step of `max(items, key=key)`: its result is (an item, its key)."""
    nothing = _NOTHING

    def step(result: Any, item: Any) -> Any:
        value = key(item)
        if result is nothing:
            return item, value
        if value > result[1]:
            return item, value
        return result

    return step


def _smaller_by(key: Any) -> Any:
    nothing = _NOTHING

    def step(result: Any, item: Any) -> Any:
        value = key(item)
        if result is nothing:
            return item, value
        if value < result[1]:
            return item, value
        return result

    return step


def _reduction(function: Any) -> Any:
    nothing = _NOTHING

    def step(result: Any, item: Any) -> Any:
        return item if result is nothing else function(result, item)

    return step


# -- the frame of a generator ------------------------------------------------------------------------------------------


def unstarted(value: Any) -> Frame | None:
    """The frame of a generator of the program's that has not been asked for an item, if it can be run as a function."""
    frame = frame_of(value)
    if frame is None or frame.info.kind != GENERATOR or inspect.getgeneratorstate(value) != inspect.GEN_CREATED:
        return None
    if frame.pc or not may_be_inlined(frame.info) or not _SHOWS_VARIABLES.isdisjoint(frame.code.co_names):
        return None
    return frame


def as_function(frame: Frame, kind: str, *added: Any) -> Frame:
    """The frame of a generator, which has not begun, as that of a function (interpreter/code/inlined.py)."""
    variables = [*frame.locals, *added, *[UNBOUND] * (3 - len(added))]
    made = Frame(frame.vm, frame.code, inlined(frame.info, kind), frame.globals, frame.builtins, variables)
    made.namespace = frame.namespace
    return made


def take(tracer: Forking, frame: Frame) -> None:
    """Other code gives the items of a generator from here on. The program may ask it for further ones, which is
    refused: it might wait anywhere."""
    take_over(frame, partial(tracer.refuse, "branch-unsupported", why=_TAKEN))


def _consumed(tracer: Forking, generator: Any, frame: Frame, kind: str, result: Any, step: Any = None) -> Any:
    """What is made of the items of a generator."""
    tracer.made_list = True  # where this is refused, it is tried with the example's lengths
    made = as_function(frame, kind, result, UNBOUND, step)
    take(tracer, frame)
    try:
        found = tracer.vm.run(made)
        if kind in ("fold", "append") or found is (kind == "all"):
            generator.close()  # it is at its end
        return found
    except StopIteration as stop:
        error = stop_error(GENERATOR, stop)
        assert error is not None
    throw(error)


# -- rules: (tracer, *arguments) → what the call returns, or NOT_HANDLED -----------------------------------------------


def as_generator(tracer: Forking, iterations: Iterations) -> Any:
    """A generator of the items of iterations."""
    each: Any = _each
    return tracer.vm.interpret_function(each, (iterations,))


def is_of_iterations(frame: Frame) -> bool:
    """Whether a frame is that of a generator made by `as_generator`."""
    each: Any = _each
    return frame.code is each.__code__


def _items_of(tracer: Forking, value: Any) -> tuple[Any, Frame] | None:
    """A generator that gives the items of `value`, and its frame."""
    if isinstance(value, GrownList):  # max() of a generator: features/identity/addresses.py has made a list of it
        value = value.iterations()
    if is_tensor(value):
        value = RowIterations(tracer, value, 0)
    if isinstance(value, Iterations):
        value = as_generator(tracer, value)
    frame = unstarted(value) if type(value) is GeneratorType else None
    return None if frame is None else (value, frame)


def _consumer(kind: str, make: Callable[[], Any], step: Any = None) -> Callable[..., Any]:
    """make: what the result begins with."""

    def result(tracer: Forking, value: Any) -> Any:
        items = _items_of(tracer, value)
        return NOT_HANDLED if items is None else _consumed(tracer, *items, kind, make(), step)

    return result


as_list = _consumer("append", list)


def _tuple(tracer: Forking, value: Any) -> Any:
    made = as_list(tracer, value)
    return made if made is NOT_HANDLED else tracer.vm.call(tuple, (made,))


def _sum(tracer: Forking, value: Any, start: Any = 0) -> Any:
    items = _items_of(tracer, value)
    if items is None or isinstance(start, (str, bytes, bytearray)):
        return NOT_HANDLED
    if VERSION >= (3, 12) and not any(isinstance(held, (Counter, Iterations)) for held in items[1].locals):
        return NOT_HANDLED  # C code compensates the sum of floats for its errors
    return _consumed(tracer, *items, "fold", start, _add)


def _extreme(fn: Any, step: Any, make_step: Any) -> Callable[..., Any]:
    def result(tracer: Forking, value: Any, *, key: Any = None, **default: Any) -> Any:
        of_items = step if key is None else make_step(key)
        found = _consumer("fold", lambda: _NOTHING, of_items)(tracer, value)
        if found is _NOTHING:
            return fn((), **default)  # its own ValueError
        return found if key is None or found is NOT_HANDLED else found[0]

    return result


def _reduce(tracer: Forking, function: Any, value: Any, start: Any = _NOTHING) -> Any:
    found = _consumer("fold", lambda: start, _reduction(function))(tracer, value)
    return functools.reduce(max, ()) if found is _NOTHING else found  # its own TypeError


def _extend(tracer: Forking, target: Any, value: Any) -> Any:
    """list.extend(target, value)"""
    items = _items_of(tracer, value) if type(target) in (list, GrownList) else None
    if items is None:
        return NOT_HANDLED
    _consumed(tracer, *items, "append", target)
    return None


_RULES: tuple[tuple[Any, int, int, Callable[..., Any]], ...] = (
    (list, 0, 1, as_list),
    (tuple, 0, 1, _tuple),
    (builtins.sum, 0, 2, _sum),
    (builtins.any, 0, 1, _consumer("any", lambda: UNBOUND)),
    (builtins.all, 0, 1, _consumer("all", lambda: UNBOUND)),
    (builtins.max, 0, 1, _extreme(max, _larger, _larger_by)),
    (builtins.min, 0, 1, _extreme(min, _smaller, _smaller_by)),
    (math.prod, 0, 1, _consumer("fold", lambda: 1, _multiply)),
    (functools.reduce, 1, 3, _reduce),
    (list.extend, 1, 2, _extend),
)
"""(callable, which argument has the items, how many arguments it may have, its rule)."""

CONSUMERS = {id(fn): at for fn, at, _, _ in _RULES}
"""id of a callable → which argument has the items."""


_NAMED = {id(builtins.sum): {"start"}, id(builtins.max): {"key", "default"}, id(builtins.min): {"key", "default"}}
"""id of a callable → the arguments that may be given by name."""


def _is_lazy(fn: Any, value: Any) -> bool:
    """Whether the items of an argument are those of iterations, or of a generator. (uses.py has the other lists.)"""
    if type(value) is GeneratorType:
        return True
    if isinstance(value, Iterations):
        return value.computes or (fn is not list and fn is not tuple)
    if is_tensor(value):
        return bool(value.dim()) and is_open_size(value.shape[0]) and fn is not list and fn is not tuple
    return isinstance(value, GrownList) and (fn is builtins.max or fn is builtins.min)


def _rule(at: int, most: int, make: Callable[..., Any], otherwise: Rule | None) -> Rule:
    def rule(tracer: Forking, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        is_fit = at < len(args) <= most and kwargs.keys() <= _NAMED.get(id(fn), set())
        made = make(tracer, *args, **kwargs) if is_fit and _is_lazy(fn, args[at]) else NOT_HANDLED
        if made is not NOT_HANDLED:
            return made
        return NOT_HANDLED if otherwise is None else otherwise(tracer, fn, args, kwargs)

    return rule


def attach(rules: dict[int, Rule]) -> None:
    """Put the rules into a tracer's table, before those that are there."""
    for fn, at, most, make in _RULES:
        rules[id(fn)] = _rule(at, most, make, rules.get(id(fn)))
