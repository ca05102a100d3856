"""Calls whose results differ from call to call, and calls that change a generator of random numbers."""

from __future__ import annotations

import random
from typing import Any

from dynamo_lite.features.identity import unique_values
from dynamo_lite.features.randomness import seeded_generators
from dynamo_lite.features.randomness.seeded_generators import SeededGenerators
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.calls.run_native import run_native
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.strings.nondeterministic import unrecordable
from dynamo_lite.tracing.vocabulary.symbolic_numbers import concrete

_REFUSAL = "global-rng"
_DRAWS_IN_PYTHON: tuple[Any, ...] = (random.Random.shuffle,)
"""Change a generator and their arguments by code that is interpreted."""
_ASKS_THE_SYSTEM = "torch._C.Generator.seed"
_TELLS_STATE = frozenset({"torch._C.Generator.get_state", "torch._C.Generator.initial_seed"})


def call_unrecordable(
    tracer: TracerView, name: str, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A call of `name`, whose result differs from call to call unless it is drawn by a seeded generator."""
    if tracer.in_library() or tracer.own(SeededGenerators).uses(args):
        return NOT_HANDLED
    return unique_values.of_call(tracer, name, fn, args, kwargs)


def unrecordable_call(name: str) -> Step:
    """Return `call_unrecordable` as a rule."""

    def rule(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return call_unrecordable(tracer, name, fn, args, kwargs)

    return rule


def maker(name: str) -> Step:
    """Return the rule of a function that makes a generator, by a seed or by the system's entropy."""

    def rule(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        has_seed = any(value is not None for value in (*args, *kwargs.values()))
        if has_seed or tracer.in_library():
            return seeded_generators.new_generator(tracer, fn, args, kwargs)
        return unrecordable(tracer, name)

    return rule


def changer(name: str) -> Step:
    """Return the rule of a function that changes a generator: refused if that is older than the run."""

    def rule(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if tracer.in_library() or (fn in _DRAWS_IN_PYTHON and tracer.own(SeededGenerators).uses(args)):
            return NOT_HANDLED
        tracer.refuse(_REFUSAL, function=name, name=name, what=f"{name}()")

    return rule


def of_generator(name: str) -> Step:
    """A method of a torch.Generator. One that this run has made is its own; operators refuse to be given it."""
    of_others = unrecordable_call(name) if name in _TELLS_STATE else changer(name)

    def rule(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not args or tracer.writes.is_old(args[0]):
            return of_others(tracer, fn, args, kwargs)
        if name == _ASKS_THE_SYSTEM:
            return tracer.refuse("unrecordable-value", function=name)
        tracer.on_hidden_change(args[0])
        return run_native(fn, tuple(map(concrete, args)), {name: concrete(value) for name, value in kwargs.items()})

    return rule
