"""Facts about sizes on one side of a branch, or in one iteration of a loop, and which of them hold outside of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from dynamo_lite.capture.fakes.kept_answers import ask_first
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.states import CannotMerge, Side
from dynamo_lite.symbolic_shapes.errors import ContradictoryFacts
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.symbolic_shapes.expressions.floats import has_unknown_float
from dynamo_lite.symbolic_shapes.expressions.relations import not_, or_
from dynamo_lite.tracing.vocabulary.program_points import origin_of


@contextmanager
def facts_undone(tracer: Forking, side: Side, assumed: Any, keeps: bool) -> Iterator[None]:
    """Within, `assumed` holds. The facts that a side adds are kept as far as they hold outside of it."""
    env = tracer.recorder.env
    if env is None:
        yield
        return
    core = env.core
    recorder = tracer.recorder
    ask_first([reference() for reference, _ in [*recorder.level.nodes.entries.values()]], recorder.fake_mode)
    mark, symbols = core.snapshot(), set(core.symbols.values())
    side.symbols = symbols
    of_sizes = assumed is not None and _is_of_sizes(env, assumed)
    side.assumed = assumed if of_sizes else None
    try:
        if assumed is not None:
            core.assume(assumed, origin_of(tracer.mark()), "axiom")
    except ContradictoryFacts as error:
        raise CannotMerge("branch-unsupported", why=f"it is never taken: {assumed} cannot hold") from error
    count = len(core.facts)
    try:
        with _in_example(env, assumed) if of_sizes else nullcontext():
            yield
    finally:
        new_facts = side.all_facts = core.facts[count:]
        core.rollback(mark)
        if keeps:
            keep_facts(tracer, side, new_facts, symbols, assumed if of_sizes else None)
        else:
            side.new_facts = new_facts, symbols


def _is_of_sizes(env: Any, condition: Any) -> bool:
    """Whether a condition is one on the sizes of inputs alone."""
    return not any(s.unbacked for s in symbols_of(condition)) and env.hint_of(condition) is not None


@contextmanager
def assumed_again(tracer: Forking, side: Side) -> Iterator[None]:
    """Open a context in which the assumptions of a side of a branch on sizes hold again: to record at its end."""
    if side.assumed is None:
        yield
        return
    with facts_undone(tracer, Side(side.level), side.assumed, keeps=True):
        yield


@contextmanager
def _in_example(env: Any, assumed: Any) -> Iterator[None]:
    """Within, the example is one in which a condition on sizes holds. Raises CannotMerge if none is found."""
    if env.hint_of(assumed) is True:
        yield
        return
    values = env.core.example_of(assumed)
    if values is None:
        raise CannotMerge("branch-unsupported", why="no sizes are found for which the other side is taken")
    with env.other_example(values):
        yield


@contextmanager
def facts_of(tracer: Forking, side: Side) -> Iterator[None]:
    """Open a context with the facts known at the end of a side whose facts are not kept yet."""
    env = tracer.recorder.env
    if env is None:
        yield
        return
    mark = env.core.snapshot()
    try:
        for fact in side.new_facts[0]:
            env.core.assume(fact.relation, fact.origin, fact.kind)
        yield
    finally:
        env.core.rollback(mark)


@contextmanager
def all_facts_of(tracer: Forking, side: Side) -> Iterator[None]:
    """The same with those that are kept, and those that hold on this side only."""
    env: Any = tracer.recorder.env
    mark = env.core.snapshot()
    try:
        for fact in side.all_facts:
            env.core.assume(fact.relation, fact.origin, fact.kind)
        yield
    finally:
        env.core.rollback(mark)


class FactsOfSides:
    """The facts that sides of a branch add, from here on: those of sides that are run again, to another join, are about
    values that no graph of the program computes."""

    def __init__(self, tracer: Forking) -> None:
        env = tracer.recorder.env
        self._core = None if env is None else env.core
        if self._core is not None:
            self._mark, self._count = self._core.snapshot(), len(self._core.facts)
            self._before = {symbol for symbol in self._core.symbols.values() if symbol.unbacked}

    def forget(self) -> None:
        """Leave out the facts about values that have been made since."""
        core = self._core
        if core is None:
            return
        added = core.facts[self._count :]
        made = [{s for s in symbols_of(fact.relation) if s.unbacked} - self._before for fact in added]
        if any(made):
            core.rollback(self._mark)
            for fact, symbols in zip(added, made):
                if not symbols:
                    core.assume(fact.relation, fact.origin, fact.kind)


def keep_facts(tracer: Forking, side: Side, new_facts: Sequence[Any], before: set[Any], assumed: Any = None) -> None:
    """Keep a side's facts: one about inputs is a condition of the program; one about values made on the side holds
    there, and does not bound outer values elsewhere (an iteration over `order` has `1 <= len(order) <= n`: n may be 0
    where there is no iteration); one about outer values known at run time only is true on this side only. assumed:
    the condition on the sizes of the inputs under which the side is taken, of a branch on these."""
    assert tracer.recorder.env is not None
    core = tracer.recorder.env.core
    for fact in new_facts:
        unknown = {s for s in symbols_of(fact.relation) if s.unbacked}
        if unknown & before or has_unknown_float(fact.relation):
            if fact.kind != "axiom":
                side.checks.append(fact)
        elif unknown and fact.kind != "axiom" and symbols_of(fact.relation) - unknown:
            tracer.recorder.env.of_subgraphs.append(fact)
        elif not unknown or fact.kind != "axiom":
            relation = fact.relation if assumed is None or unknown else or_(not_(assumed), fact.relation)
            core.assume(relation, fact.origin, fact.kind)
