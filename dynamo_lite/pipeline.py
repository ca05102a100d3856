"""From a call to an exported program: `capture` reads from top to bottom as the picture in docs/architecture.md."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram

from dynamo_lite.capture import CaptureError
from dynamo_lite.control_flow import ForkingTracer, MarkedTracer
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
from dynamo_lite.nonstrict.tracer import NativeTracer
from dynamo_lite.opaque import branch
from dynamo_lite.program import FlatInputs, build_program, flatten_inputs
from dynamo_lite.program.call_signatures import CallSignatures
from dynamo_lite.program.exported_program import Program
from dynamo_lite.program.shapes.deep_expressions import deep_expressions
from dynamo_lite.program.shapes.dynamic_shapes import SpecifiedCall, read_call
from dynamo_lite.program.shapes.shapes_spec import given_or_attached
from dynamo_lite.program.trees.containers import forgotten_after_errors
from dynamo_lite.run import Run, RunRequest, late_imports, traced
from dynamo_lite.run.lost_state import settle_lost_state
from dynamo_lite.run.second_trace import settle_effects
from dynamo_lite.symbolic_shapes.dims.specs import Auto
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, Rel
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.torch_internals._torch_functorch import maybe_current_level
from dynamo_lite.tracing.calls.container_functions import ContainerFunctions
from dynamo_lite.tracing.calls.marked_branches import Marked, call_branch
from dynamo_lite.tracing.effects.persisted_sizes import PersistedFacts
from dynamo_lite.tracing.size_branches.compared_sides import ComparedSides
from dynamo_lite.tracing.sizes.builtin_calls import Specializations
from dynamo_lite.tracing.tensors.input_guards import InputGuards
from dynamo_lite.tracing.tracer import Tracer
from dynamo_lite.tracing.vocabulary.process_state import TorchState
from dynamo_lite.tracing.vocabulary.refusals import REFUSALS


@dataclass(frozen=True)
class Captured:
    """What one call left: the program, the run that recorded it (over, the heap as before), its inputs."""

    program: ExportedProgram
    run: Run
    inputs: FlatInputs


@dataclass(frozen=True)
class Options:
    """What `export` and `trace` take besides the call. Raises InvalidArguments for words that it does not know."""

    dynamic_shapes: Any
    constraints: Any
    strict: bool
    preserve_module_call_signature: Sequence[str]
    prefer_deferred_runtime_asserts_over_guards: bool
    effects: str
    control_flow: str = "capture"

    def __post_init__(self) -> None:
        if self.control_flow not in ("refuse", "capture"):
            raise InvalidArguments(f'control_flow must be "refuse" or "capture", not {self.control_flow!r}')
        if self.effects not in ("refuse", "drop"):
            raise InvalidArguments(f'effects must be "refuse" or "drop", not {self.effects!r}')


_CAPTURE = 'export with control_flow="capture" (the default), which takes branches as they are written'


def capture(
    mod: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None, options: Options
) -> Captured:
    """What `export` does, up to the program; traces.py makes a trace of it. Raises what `export` raises."""
    with forgotten_after_errors():
        return _capture(mod, args, kwargs, options)


def _capture(
    mod: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None, options: Options
) -> Captured:
    args, kwargs = _check_call(mod, args, kwargs)
    root = root_of(mod)
    shapes = given_or_attached(mod, options.dynamic_shapes)
    call = read_call(signature_of(mod), args, kwargs, shapes, options.constraints)
    inputs = flatten_inputs(call.signature, call.args, call.kwargs, ContainerFunctions())
    request = RunRequest(
        mod,
        root,
        inputs,
        call.specs,
        tracer=Tracer if options.strict else NativeTracer,
        drops=options.effects == "drop",
        started=_with_call_signatures(root, options.preserve_module_call_signature),
    )
    with process_as_before(), late_imports.seen():
        program, run = _attempts(request, call, options)
    orders = run.tracer.reads.key_orders
    if isinstance(program, Program):
        program.key_orders = orders.asked() if orders is not None else ()
        program.state_reads, program.apart = run.state_reads, run.apart
        for why in program.why_no_module():
            run.tracer.note(why)
    program.notes = run.tracer.notes  # type: ignore[attr-defined]
    program.specializations = tuple(run.tracer.own(Specializations).rows)  # type: ignore[attr-defined]
    return Captured(program, run, inputs)


def _attempts(request: RunRequest, call: SpecifiedCall, options: Options) -> tuple[ExportedProgram, Run]:
    """`_attempt`, and another one with what the first has shown to be needed: branches and loops are captured.

    Most programs have none on data: they are traced without what captures them, and pay nothing for it.
    """
    captures = options.strict and options.control_flow == "capture"
    runs: list[Run] = []

    def started(run: Run) -> None:
        runs.append(run)
        request.started(run)

    forking = replace(request, tracer=ForkingTracer)
    try:
        made = _attempt(replace(request, started=started), call, options)
    except Marked:
        return _attempt(forking if captures else replace(request, tracer=MarkedTracer), call, options)
    except DataDependent as error:
        if captures:
            return _captured(forking, call, options, error)
        if error.id == "data-dependent-branch":
            error.suggest(_CAPTURE if options.strict else "export with strict=True, which captures branches on data")
        raise
    except ConstraintViolation as error:
        if not captures or not (_unrolls_a_size(runs[-1]) or _narrows(runs[-1])):
            raise
        unrolls = _unrolls_a_size(runs[-1])
        try:
            return _captured_sizes(forking, call, options, runs[-1])
        except InternalError:
            raise
        except DynamoLiteError:
            if unrolls:
                raise
            raise error from None
    if captures and (_unrolls_a_size(made[1]) or _narrows(made[1])):
        return _with_sizes_kept(forking, call, options, made)
    return made


def _captured(
    request: RunRequest, call: SpecifiedCall, options: Options, plain: DataDependent
) -> tuple[ExportedProgram, Run]:
    """A program with its branches and loops on data captured. Raises what is in the way of that.

    plain: where a trace that captures none of them has ended. It says more if that is the place where this one ends.
    """
    try:
        return _attempt(request, call, options)
    except InternalError:
        raise
    except GraphBreak as error:
        if not isinstance(error, DataDependent) or (error.frame is not None and not error.is_at(plain)):
            raise error from None
        if error.frame is not None and error.id in _OF_CAPTURE:
            if plain.instead != REFUSALS[plain.id].instead:  # it has a torch._check, or a function, for this very line
                error.suggest(plain.instead, last=True)
            raise error from None
        if error.id != plain.id:
            plain.add(f"Captured as it is written, the program is refused for another reason: {error.headline}")
        raise plain from None


_OF_CAPTURE = frozenset({"branch-differs", "branch-gradient", "branch-unsupported", "loop-gradient"})
"""What is refused of a branch or a loop where it is captured."""


def _unrolls_a_size(run: Run) -> bool:
    """Whether a run has fixed a size, which may vary, by a loop over it."""
    return run.declared is not None and any(row.unrolls for row in run.tracer.own(Specializations).rows)


def _narrows(run: Run) -> bool:
    """Whether the example has answered a branch on sizes, the other side of which may be called for."""
    return bool(run.tracer.own(ComparedSides).left)


def _with_sizes_kept(
    request: RunRequest, call: SpecifiedCall, options: Options, made: tuple[ExportedProgram, Run]
) -> tuple[ExportedProgram, Run]:
    """A program with its branches on sizes and its loops over sizes captured; `made` where that is refused, or where
    loops are unrolled as well."""
    try:
        program, run = _captured_sizes(request, call, options, made[1])
    except InternalError:
        raise
    except DynamoLiteError:
        return made
    return made if _unrolls_a_size(run) else (program, run)


def _captured_sizes(
    request: RunRequest, call: SpecifiedCall, options: Options, first: Run
) -> tuple[ExportedProgram, Run]:
    """A program with its branches on sizes and its loops over sizes captured. Raises what is in the way of that.

    What is left of the branches is asked before the program, which is run on both sides. first: the run that captured
    none.
    """
    runs: list[Run] = []
    report = request.started

    def started(run: Run) -> None:
        runs.append(run)
        report(run)

    request = replace(request, started=started, equal=_equal_sizes(first))
    found: tuple[ExportedProgram, Run] | None = None
    problem: DynamoLiteError | None = None
    split: tuple[Bool, ...] = ()
    while True:
        try:
            attempt = _attempt(request, call, options)
            if attempt[1].tracer.hands_out_copies:  # type: ignore[attr-defined]
                problem = problem or attempt[1].tracer.refusal("branch-unsupported", why=_COPIES)
                break
            found = attempt
        except InternalError:
            raise
        except DynamoLiteError as error:
            problem = problem or error
            if split:
                break
        left = dict.fromkeys(runs[-1].tracer.own(ComparedSides).left)
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
"""So many conditions at most are asked before the program, each of which doubles it."""


def _equal_sizes(run: Run) -> list[Fact]:
    """What a run has found out about sizes left to `Dim.AUTO` in terms of others: on the other side of a branch they
    are so as well, and a branch on whether they are so is none."""
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


def _attempt(request: RunRequest, call: SpecifiedCall, options: Options) -> tuple[ExportedProgram, Run]:
    """`_once`, and again with the numbers of sizes that the program keeps, if these have to be constants."""
    try:
        return _once(request, call, options)
    except PersistedFacts as kept:
        return _once(replace(request, known=kept.facts), call, options)


def _once(request: RunRequest, call: SpecifiedCall, options: Options) -> tuple[ExportedProgram, Run]:
    """One run, its effects, its conditions on sizes, and the program. Raises Kept: sizes that it keeps vary."""
    with traced(request) as run:
        settle_effects(run)
        settle_lost_state(run)
    with logs.phase("the conditions on sizes"), deep_expressions():
        settled = run.settle(options.prefer_deferred_runtime_asserts_over_guards)
        if settled is not None:
            call.verify(settled)
    with logs.phase("building the program"), deep_expressions():
        return built(run, request.root, request.inputs, settled), run


def _with_call_signatures(root: nn.Module | None, paths: Sequence[str]) -> Callable[[Run], None]:
    """What a run is given before it begins: it notes the calls of the submodules at `paths`."""

    def started(run: Run) -> None:
        tell = run.tracer.abort, run.tracer.note
        run.tracer.rules.setdefault(id(branch), call_branch)
        if paths:
            run.tracer.modules.signatures = CallSignatures(run.recorder, root, paths, *tell)

    return started


def built(run: Run, root: nn.Module | None, inputs: FlatInputs, settled: Any) -> ExportedProgram:
    """The program that a run has recorded. Raises GraphBreak for what a program cannot hold."""
    updates, guards = run.effects.buffer_updates, [*run.tracer.own(InputGuards).texts, *run.layout_guards(settled)]
    signatures = run.tracer.modules.signatures
    calls = () if signatures is None else signatures.calls
    try:
        return build_program(
            run.recorder,
            root,
            inputs,
            run.outputs,
            settled=settled,
            buffer_updates=updates,
            guards=guards,
            calls=calls,
        )
    except CaptureError as error:
        raise run.tracer.refused(error) from error


def _check_call(mod: Any, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not callable(mod):
        raise InvalidArguments(f"mod must be callable (a module, a function, ...), not {type(mod).__qualname__}")
    if isinstance(mod, torch.jit.ScriptModule):
        raise InvalidArguments("mod is a ScriptModule: export the Python module that it was made from")
    if not isinstance(args, tuple):
        raise InvalidArguments(f"args must be a tuple of positional arguments, not {type(args).__qualname__}")
    if kwargs is not None and not isinstance(kwargs, dict):
        raise InvalidArguments(f"kwargs must be a dict of keyword arguments, not {type(kwargs).__qualname__}")
    if maybe_current_level() is not None:
        row = REFUSALS["opaque-transform"]
        around = "The call around this export (torch.vmap, torch.func.grad, ...)"
        instead = "export the module outside of it, and call the exported program inside."
        raise row.error("opaque-transform", row.what.format(function=around), instead, ())
    return args, dict(kwargs or {})


def root_of(mod: Any) -> nn.Module | None:
    """The module whose parameters and buffers the program has: `mod`, or the module that it is a method of."""
    if isinstance(mod, nn.Module):
        return mod
    owner = getattr(mod, "__self__", None)
    return owner if isinstance(owner, nn.Module) else None


def signature_of(mod: Any) -> inspect.Signature:
    target = mod.forward if isinstance(mod, nn.Module) else mod
    try:
        return inspect.signature(target)
    except ValueError:  # a C callable without a text signature
        return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])


@contextmanager
def process_as_before() -> Iterator[None]:
    """torch's global switches and generators, and its "is this an export?" flags, around a trace."""
    state = TorchState()
    compiler = torch.compiler
    flags = (compiler._is_compiling_flag, compiler._is_exporting_flag)
    compiler._is_compiling_flag = compiler._is_exporting_flag = True
    log = logging.getLogger(
        "torch._subclasses.fake_tensor"
    )  # logs what operators raise, which the program may handle
    was_disabled, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = was_disabled
        compiler._is_compiling_flag, compiler._is_exporting_flag = flags
        state.restore()
