"""The runs of which one makes the program: a plain one, and others with captures that it has shown to be needed.

Branches and loops on data are captured if a plain run is rejected because of them, branches on sizes and loops over
sizes if they narrow the promised sizes, lists of varying length if they can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from dynamo_lite.capture import CaptureError
from dynamo_lite.control_flow import ExampleSizesTracer, FixedListsTracer, ForkingTracer, UnrollingTracer
from dynamo_lite.control_flow.branches.whole_program import split_by
from dynamo_lite.errors import (
    ConstraintViolation,
    DataDependent,
    DynamoLiteError,
    GraphBreak,
    InternalError,
    InvalidArguments,
)
from dynamo_lite.logging import reports as logs
from dynamo_lite.option_types import Constants, ControlFlow, DynamicShapes, Effects, choices
from dynamo_lite.program import FlatInputs, build_program
from dynamo_lite.program.exported_program import Program
from dynamo_lite.program.modules.lost_gradients import LostGradients, flows_from
from dynamo_lite.program.shapes.deep_expressions import deep_expressions
from dynamo_lite.program.shapes.dynamic_shapes import SpecifiedCall
from dynamo_lite.run import Run, RunRequest, traced
from dynamo_lite.run.growing_tables import replaced_tables, replaces_tables
from dynamo_lite.run.lost_state import settle_lost_state
from dynamo_lite.run.second_trace import settle_effects
from dynamo_lite.symbolic_shapes.dims.specs import Auto
from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, Rel
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.tracing.assumptions.input_guards import InputGuards
from dynamo_lite.tracing.diagnostics import RunAgain
from dynamo_lite.tracing.findings import SizeBranches, Specializations
from dynamo_lite.tracing.higher_order.backward import Backwards
from dynamo_lite.tracing.later_calls.persisted_sizes import PersistedFacts
from dynamo_lite.tracing.tensors.side_differences import SideDifferences
from dynamo_lite.tracing.vocabulary.graph_breaks import GRAPH_BREAKS


def check_choice(name: str, given: Any, option: Any) -> None:
    """Raise InvalidArguments if `given` is not one of the strings of `option`, a type of option_types.py."""
    known = choices(option)
    if given not in known:
        raise InvalidArguments(f"{name} must be one of {', '.join(known)}; not {given!r}")


@dataclass(frozen=True)
class Options:
    """The options of `export` and `trace` besides the call. Raises InvalidArguments for unknown values."""

    dynamic_shapes: DynamicShapes
    constraints: Any
    strict: bool
    preserve_module_call_signature: Sequence[str]
    prefer_deferred_runtime_asserts_over_guards: bool
    effects: Effects
    control_flow: ControlFlow = "capture"
    constants: Constants = None

    def __post_init__(self) -> None:
        check_choice("control_flow", self.control_flow, ControlFlow)
        check_choice("effects", self.effects, Effects)


_CAPTURE = 'export with control_flow="capture" (the default), which takes branches as they are written'


def program_of(request: RunRequest, call: SpecifiedCall, options: Options) -> tuple[Program, Run]:
    """Return the program of `_attempt`, or of another one with the needed captures of branches and loops.

    Most programs branch on no data: they are traced without these captures, at no additional cost.
    """
    captures = options.strict and options.control_flow == "capture"
    runs: list[Run] = []

    def started(run: Run) -> None:
        runs.append(run)
        request.started(run)

    def with_tables() -> tuple[Program, Run] | None:
        return _with_shorter_tables(request, call, options, runs[-1]) if captures else None

    forking = replace(request, tracer=ForkingTracer)
    try:
        made = _attempt(replace(request, started=started), call, options)
    except DataDependent as error:
        if captures:
            return _captured(forking, call, options, error)
        if error.id == "data-dependent-branch":
            error.suggest(_CAPTURE if options.strict else "export with strict=True, which captures branches on data")
        raise
    except ConstraintViolation as error:
        if not captures or not (_unrolled(runs[-1]) or _narrows(runs[-1])):
            raise
        found = with_tables()
        if found is not None:
            return found
        unrolls = _unrolled(runs[-1]) > 0
        try:
            return _captured_sizes(forking, call, options, runs[-1])
        except InternalError:
            raise
        except DynamoLiteError:
            if unrolls:
                raise
            raise error from None
    except GraphBreak as error:
        raise _without_held_numbers(runs) or error from None
    if captures and (_unrolled(made[1]) or _narrows(made[1])):
        if made[1].replaced is not None and (found := with_tables()) is not None:
            return found
        return _with_sizes_kept(forking, call, options, made)
    return made


def _with_shorter_tables(
    request: RunRequest, call: SpecifiedCall, options: Options, first: Run
) -> tuple[Program, Run] | None:
    """Return a program that creates in each call the tables which the module holds, and replaces for longer inputs.
    None if it holds none, or the program differs from the module's use of them."""
    if request.held is not None or request.drops:
        return None
    held = first.replaced or replaced_tables(request, first)
    if held is None:
        return None
    try:
        made = program_of(replace(request, held=held), call, options)
    except InternalError:
        raise
    except DynamoLiteError:
        return None
    if not held.is_admitted(made[1].recorder.env):
        return None
    return made


def _forked(request: RunRequest, call: SpecifiedCall, options: Options) -> tuple[Program, Run]:
    """`_attempt` by a ForkingTracer. Once more with loops unrolled if that keeps a gradient; and with lists of the
    example's lengths if it is refused, and there is a list of a length that varies (`[x] * n`)."""
    runs: list[Run] = []

    def started(run: Run) -> None:
        runs.append(run)
        request.started(run)

    made: tuple[Program, Run] | None = None
    problem: DynamoLiteError | None = None
    try:
        made = _attempt(replace(request, started=started), call, options)
    except InternalError:
        raise
    except DynamoLiteError as error:
        problem = error
    tracer: Any = runs[-1].tracer if runs else None
    if tracer is not None and tracer.has_lost_gradients and (made is None or tracer.own(SideDifferences).needs_no_grad):
        try:
            unrolled = _attempt(replace(request, tracer=UnrollingTracer), call, options)
            if made is None or not unrolled[1].tracer.own(SideDifferences).needs_no_grad:
                made = unrolled
        except InternalError:
            raise
        except DynamoLiteError as error:
            problem = error
    if made is not None:
        return _as_it_is_called(request, call, options, made)
    assert problem is not None
    if tracer is None or not tracer.made_list:
        raise problem
    try:
        return _attempt(replace(request, tracer=FixedListsTracer), call, options)
    except DataDependent:
        raise problem from None
    except ConstraintViolation:
        if isinstance(problem, ConstraintViolation):  # it keeps more of the sizes
            raise problem from None
        raise


def _as_it_is_called(
    request: RunRequest, call: SpecifiedCall, options: Options, made: tuple[Program, Run]
) -> tuple[Program, Run]:
    """Return `made`; recorded under no_grad if it may be called under it only, as Python may query the mode."""
    whys = made[1].tracer.own(SideDifferences).needs_no_grad
    if not whys:
        return made
    with torch.no_grad():
        return _attempt(replace(request, without_gradients=whys), call, options)


def _captured(request: RunRequest, call: SpecifiedCall, options: Options, plain: DataDependent) -> tuple[Program, Run]:
    """Return a program with its branches and loops on data captured. Raises the error that prevents it.

    plain: the error of the trace without control flow. It is preferred if both traces stop at the same line. If the
    error is about a branch, it may be one on sizes; the example then decides it.
    """
    runs: list[Run] = []

    def started(run: Run) -> None:
        runs.append(run)
        request.started(run)

    try:
        return _forked(replace(request, started=started), call, options)
    except InternalError:
        raise
    except GraphBreak as error:
        if (instead := _without_held_numbers(runs)) is not None:
            raise instead from None
        tracer: Any = runs[-1].tracer
        if error.id in _OF_CAPTURE and tracer.of_sizes:
            with suppress(ConstraintViolation, GraphBreak):
                return _attempt(replace(request, tracer=ExampleSizesTracer), call, options)
        if not isinstance(error, DataDependent) or (error.frame is not None and not error.is_at(plain)):
            raise error from None
        if error.frame is not None and error.id in _OF_CAPTURE:
            if plain.instead != GRAPH_BREAKS[plain.id].instead:  # a torch._check or a function for this line
                error.suggest(plain.instead, last=True)
            raise error from None
        if error.id != plain.id:
            plain.add(f"Captured as it is written, the program is refused for another reason: {error.headline}")
        raise plain from None


def _without_held_numbers(runs: Sequence[Run]) -> GraphBreak | None:
    """The error of the program if the last run began with Python numbers as tensors, which it cannot take."""
    numbers: Any = runs[-1].request.numbers if runs else None
    return None if numbers is None else numbers.error


_OF_CAPTURE = frozenset({"branch-differs", "branch-gradient", "branch-unsupported", "loop-gradient"})
"""Errors in the capture of a branch or a loop."""


def _unrolled(run: Run) -> int:
    """How often a run has fixed a size, which may vary, by a loop over it or a list of that length."""
    return sum(row.unrolls for row in run.tracer.own(Specializations).rows) if run.declared is not None else 0


def _narrows(run: Run) -> bool:
    """Whether the example has answered a branch on sizes, the other side of which may be called for: it is not decided
    by the equations between sizes left to `Dim.AUTO`."""
    left = run.tracer.own(SizeBranches).left
    if not left:
        return False
    env = ShapeEnv()
    for fact in _equal_sizes(run):
        env.add_fact(fact.relation)
    return any(env.decide(relation).verdict is None for relation in left)


def _with_sizes_kept(
    request: RunRequest, call: SpecifiedCall, options: Options, made: tuple[Program, Run]
) -> tuple[Program, Run]:
    """A program with its branches on sizes and its loops over sizes captured; `made` where that is refused, or where as
    many are left."""
    try:
        program, run = _captured_sizes(request, call, options, made[1])
    except InternalError:
        raise
    except DynamoLiteError:
        return made
    left = [(_unrolled(one), len(one.tracer.own(SizeBranches).left)) for one in (run, made[1])]
    return (program, run) if left[0][0] <= left[1][0] and left[0] != left[1] else made


def _captured_sizes(request: RunRequest, call: SpecifiedCall, options: Options, first: Run) -> tuple[Program, Run]:
    """Return a program with its branches on sizes and its loops over sizes captured. Raises the error that prevents it.

    The remaining branches are evaluated before the program, which is run on both sides. first: the run that captured
    none.
    """
    runs: list[Run] = []
    report = request.started

    def started(run: Run) -> None:
        runs.append(run)
        report(run)

    request = replace(request, started=started, equal=_equal_sizes(first))
    found: tuple[Program, Run] | None = None
    problem: DynamoLiteError | None = None
    split: tuple[Bool, ...] = ()
    while True:
        try:
            attempt = _forked(request, call, options)
            if attempt[1].tracer.hands_out_copies:  # type: ignore[attr-defined]
                problem = problem or attempt[1].tracer.graph_break("branch-unsupported", why=_COPIES)
                break
            found = attempt
        except InternalError:
            raise
        except DynamoLiteError as error:
            problem = problem or error
            if split:
                break
        left = dict.fromkeys(runs[-1].tracer.own(SizeBranches).left)
        more = tuple(condition for condition in left if condition not in split)[: _SPLITS - len(split)]
        if not more:
            break
        split = (*split, *more)
        request = replace(request, enter=split_by(split))
    if found is None:
        assert problem is not None
        raise problem
    return found


_COPIES = "a result is an input, or shares memory with one or with another result, as the sizes go: it would be a copy"
_SPLITS = 2
"""The most conditions that are evaluated before the program; each doubles it."""


def _equal_sizes(run: Run) -> list[Fact]:
    """Return the facts that a run has found about sizes left to `Dim.AUTO` in terms of others: they hold on the other
    side of a branch as well, and a branch on them is not captured."""
    assert run.declared is not None and run.recorder.env is not None
    table = run.declared.table
    declared = set(table.symbols())
    follows = {(symbol,) for symbol in declared if isinstance(table.spec_of(symbol), Auto)}

    def is_of_sizes(relation: Any) -> bool:
        if not isinstance(relation, Rel) or relation.kind != "eq" or not symbols_of(relation) <= declared:
            return False
        terms = relation.poly.terms
        is_linear = len(terms) > 1 and all(len(term) == 1 and term[0] in declared for term in terms)
        return is_linear and any(abs(factor) == 1 and term in follows for term, factor in terms.items())

    return [fact for fact in run.recorder.env.core.facts if is_of_sizes(fact.relation)]


def _attempt(request: RunRequest, call: SpecifiedCall, options: Options) -> tuple[Program, Run]:
    """`_once`, and again with the numbers of sizes that the program keeps, if these have to be constants, or as a
    feature says that was told of a second trace that differs."""
    try:
        return _once(request, call, options)
    except RunAgain as again:
        return _attempt(again.changed(request), call, options)
    except PersistedFacts as kept:
        return _once(replace(request, known=kept.facts), call, options)


def _once(request: RunRequest, call: SpecifiedCall, options: Options) -> tuple[Program, Run]:
    """One run, its effects, its conditions, and the program. Raises PersistedFacts: sizes that it keeps vary."""
    with traced(request) as run:
        settle_effects(run)
        settle_lost_state(run)
    with logs.phase("the conditions on sizes"), deep_expressions():
        settled = run.settle(options.prefer_deferred_runtime_asserts_over_guards)
        if settled is not None:
            call.verify(settled)
    if run.effects.pending and request.held is None and replaces_tables(run) and _narrows(run):
        run.replaced = replaced_tables(request, run)  # of sizes as they are before the program is built
    with logs.phase("building the program"), deep_expressions():
        return built(run, request.root, request.inputs, settled), run


def built(run: Run, root: nn.Module | None, inputs: FlatInputs, settled: Any) -> Program:
    """Return the program that a run has recorded. Raises GraphBreak for parts that a program cannot hold."""
    updates, guards = run.effects.buffer_updates, [*run.tracer.own(InputGuards).texts, *run.layout_guards(settled)]
    signatures = run.tracer.modules.signatures
    calls = () if signatures is None else signatures.calls
    lost = _lost_gradients(run)
    try:
        program = build_program(
            run.recorder,
            root,
            inputs,
            run.outputs,
            settled=settled,
            buffer_updates=updates,
            guards=guards,
            calls=calls,
        )
        program.lost_gradients = lost
        return program
    except CaptureError as error:
        raise run.tracer.refused(error) from error


def _lost_gradients(run: Run) -> LostGradients | None:
    """The results of a program exported without gradients that come from an autograd.Function."""
    functions = run.tracer.own(Backwards).left_out
    if not functions:
        return None
    rows = zip(run.outputs.leaves, run.outputs.values)
    results = flows_from(functions, [value for leaf, value in rows if isinstance(leaf, torch.Tensor)])
    names = ", ".join(dict.fromkeys(functions.values()))
    why = f"the program was exported under torch.no_grad(), and without the backward of the autograd.Function {names}"
    return LostGradients(results, f"{why}: export it with gradients enabled to train it")
