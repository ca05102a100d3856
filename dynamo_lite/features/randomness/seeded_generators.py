"""Generators of random numbers that the run has made with a seed of the program's: random.Random(3), default_rng(3).

They draw the same numbers in each call, which are constants of the program. One that was made without a seed, from an
object that is older than the run, or by copying is not among them: its numbers are refused.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.calls.run_native import run_native
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView
from dynamo_lite.tracing.sizes.builtin_calls import needs_number
from dynamo_lite.tracing.vocabulary.symbolic_numbers import concrete, holds_size

_SEEDS = frozenset({int, str, bytes, float})
_SEQUENCES = (list, tuple)


class SeededGenerators(FeatureState):
    """Generators whose state depends on constants. They live as long as the run: numpy's take no weak references."""

    stays = "a generator that a side seeds is a hidden change, which a side may not make"

    def __init__(self, tracer: TracerView) -> None:
        self._tracer = tracer
        self._own: dict[int, Any] = {}

    def take(self, generator: Any) -> None:
        """A generator has been given a seed."""
        self._own[id(generator)] = generator

    def uses(self, args: tuple[Any, ...]) -> bool:
        """Whether a method with these arguments is one of them; its state changes."""
        if not self._own or not args or id(args[0]) not in self._own:
            return False
        self._tracer.on_hidden_change(args[0])
        return True

    def is_constant(self, seed: Any) -> bool:
        """Whether the program gives the same seed in each call."""
        if type(seed) in _SEQUENCES:
            return all(map(self.is_constant, seed))
        return type(seed) in _SEEDS or id(seed) in self._own


def new_generator(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """numpy's generators, with a seed."""
    own = tracer.own(SeededGenerators)
    given = [value for value in (*args, *kwargs.values()) if value is not None]
    if tracer.in_library() or not given or not all(map(own.is_constant, given)):
        return NOT_HANDLED
    generator = run_native(fn, args, kwargs)
    own.take(generator)
    return generator


def seeding(refuse: Step) -> Step:
    """random.Random.seed(), which `__init__` calls as well. `refuse`: the step for a generator older than the run."""

    def rule(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        own = tracer.own(SeededGenerators)
        if any(map(holds_size, args[1:])):  # what is drawn is the example's: the size becomes a constant
            with needs_number(tracer, "seed"):
                return tracer.vm.call(fn, (args[0], *map(concrete, args[1:])), kwargs)
        given = [value for value in (*args[1:], *kwargs.values()) if value is not None]
        if args and given and all(map(own.is_constant, given)) and not tracer.writes.is_old(args[0]):
            own.take(args[0])
            return NOT_HANDLED
        return refuse(tracer, fn, args, kwargs)

    return rule


def seeded_in_c(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`super().seed(a)` in random.Random.seed, of a generator that the run has made: it is given a state there, by a
    seed of the program's or by the system's. (Numbers drawn from the latter are refused.)"""
    if not args or tracer.writes.is_old(args[0]):
        return NOT_HANDLED
    tracer.on_hidden_change(args[0])
    return run_native(fn, args, kwargs)
