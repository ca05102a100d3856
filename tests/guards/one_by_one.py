"""A guard set asked guard by guard through the tables KINDS and STEPS: an oracle for the compiled function.

It asks the same guards in the same order, and no code is generated but the conditions of single kinds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from dynamo_lite.guards import GuardSet, kinds
from dynamo_lite.guards.compiler import ranked, type_guards
from dynamo_lite.guards.guard import Guard
from dynamo_lite.guards.kinds import KINDS
from dynamo_lite.guards.source import STEPS, Source
from dynamo_lite.guards.tensors import difference

Call = tuple[Any, tuple[Any, ...], dict[str, Any]]
Fails = Callable[[Any, Any, Any], Any]
"""(the value, what is expected, the value of the other source) → true where the guard does not hold."""


class OneByOne:
    """The same answers as those of `guards.check`."""

    def __init__(self, guards: GuardSet) -> None:
        self._guards = guards
        self._arguments = guards._arguments
        self._namespace = guards._namespace
        self._order = ranked(guards)
        self._type_guards = type_guards(guards)

    def check(self, mod: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, Exception | None]:
        """The index of the first guard that does not hold and what reading its value raised; -1 if all hold."""
        run = _Run((mod, args, kwargs), self._guards, self._type_guards, set())
        for index in self._order:
            if index not in run.asked:
                failed = run.ask(index, self)
                if failed is not None:
                    return failed
        return -1, None

    def condition(self, index: int, run: _Run) -> bool:
        """Whether a guard that is written as Python over `L` is false."""
        scope = {**kinds.HELPERS, **self._namespace}
        scope["L"] = {name: run.value(source, index, self) for name, source in self._arguments.items()}
        return not eval(_compiled(self._guards[index].expected), scope)


class _Failed(Exception):
    """A guard on the type of what a path goes through."""

    def __init__(self, outcome: tuple[int, Exception | None]) -> None:
        self.outcome = outcome


class _Run:
    """One check: the values that have been read, by source, and the guards that have been asked."""

    def __init__(self, call: Call, guards: Sequence[Guard], types: dict[int, int], asked: set[int]) -> None:
        self.call = call
        self.asked = asked
        self._guards = guards
        self._types = types
        self._values: dict[int, Any] = {}

    def ask(self, index: int, whole: OneByOne) -> tuple[int, Exception | None] | None:
        """None if the guard holds."""
        self.asked.add(index)
        guard = self._guards[index]
        try:
            return (index, None) if self._fails(guard, index, whole) else None
        except _Failed as failed:
            return failed.outcome
        except Exception as error:
            return index, error

    def _fails(self, guard: Guard, index: int, whole: OneByOne) -> Any:
        kind = guard.kind
        if kind == "state":
            return guard.expected.read() != guard.expected.value
        if kind == "python":
            return whole.condition(index, self)
        if kind == "arguments":
            return len(self.call[1]) != guard.expected
        if kind == "keywords":
            return self.call[2].keys() != guard.expected
        value = self.value(guard.source, index, whole) if guard.source is not None else None
        other = self.value(guard.other, index, whole) if guard.other is not None else None
        return fails(kind)(value, guard.expected, other)

    def value(self, source: Source, index: int, whole: OneByOne) -> Any:
        """What is at a source; the guard on the type of what a step goes through is asked before it."""
        values, path = self._values, []
        at: Source | None = source
        while at is not None and id(at) not in values:
            path.append(at)
            at = at.parent
        value: Any = self.call if at is None else values[id(at)]
        for step in reversed(path):
            before = self._types.get(id(step.parent))
            if before is not None and before not in self.asked:
                failed = self.ask(before, whole)
                if failed is not None:
                    raise _Failed(failed)
            value = values[id(step)] = STEPS[step.step].follow(value, step.key)
        return value


@functools.cache
def fails(kind: str) -> Fails:
    """The condition of a row of KINDS as a function."""
    if kind == "tensor":
        return lambda value, facts, other: difference(value, facts)
    if kind == "absent":
        return lambda value, names, other: value and any(name in value for name in names)
    if kind == "present":
        return lambda value, names, other: not all(name in value for name in names)
    made: Fails = eval(f"lambda v, c, w: {KINDS[kind].fails.format(v='v', c='c', w='w')}", {**kinds.HELPERS})
    return made


@functools.lru_cache(1000)
def _compiled(text: str) -> Any:
    return compile(text, "<guard>", "eval")
