"""One run of a program under a tracer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import fx

import dynamo_lite.features  # noqa: F401  (hands the engine the list of features)
from dynamo_lite import undoing
from dynamo_lite.capture.comparison.fingerprint import Fingerprint
from dynamo_lite.capture.fakes.fake_mode import FakeTensorMode, fake_mode_of, is_active, symbolic_mode
from dynamo_lite.capture.fakes.static_cache import Inexact, Memory
from dynamo_lite.errors import DataDependent, DynamoLiteError, GraphBreak, InvalidArguments
from dynamo_lite.logging import reports as logs
from dynamo_lite.program.effect_record import Effect
from dynamo_lite.program.shapes.dynamic_shapes import DeclaredInputs, Settled, declare_inputs, settle
from dynamo_lite.program.shapes.layout_guards import layout_guards
from dynamo_lite.program.trees.container_state import StateRead
from dynamo_lite.program.trees.outputs import FlatOutputs
from dynamo_lite.program.trees.twins import Path
from dynamo_lite.run import end_passes, late_imports
from dynamo_lite.run.finished_run import CallRecord
from dynamo_lite.run.late_imports import TorchImported
from dynamo_lite.run.request import RunRequest
from dynamo_lite.symbolic_shapes import Origin
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_node import _torch_dynamo_config as torch_dynamo
from dynamo_lite.symbolic_shapes.torch_node.client import Client
from dynamo_lite.tracing.assumptions.key_orders import KeyOrders, bound_by_name
from dynamo_lite.tracing.calls.container_functions import ContainerFunctions
from dynamo_lite.tracing.diagnostics import Abort, RunAgain
from dynamo_lite.tracing.effects import classify
from dynamo_lite.tracing.effects.descriptions import Effects
from dynamo_lite.tracing.effects.missing_parts import MissingPart
from dynamo_lite.tracing.effects.rebuilt_arguments import (
    lost_reads,
    put_back,
    rebuild,
    round_trip,
    state_kept,
    state_reads,
)
from dynamo_lite.tracing.later_calls import persisted_sizes
from dynamo_lite.tracing.later_calls.held_tables import HeldTables
from dynamo_lite.tracing.node_metadata import TraceContext
from dynamo_lite.tracing.tensors.side_differences import SideDifferences
from dynamo_lite.tracing.vocabulary.process_state import TorchState

_UNASKED = (
    "the program depends on memory layout, and the kernel of {} was not asked (large operands, or it fails on "
    "zeros): its strides may differ from eager's"
)


class Run:
    """One trace of one call. `trace()` once; then `outputs` and `effects`; `undo()` always."""

    outputs: FlatOutputs
    effects: Effects

    def __init__(self, request: RunRequest) -> None:
        self.request = request
        self.mod, self.root, self.inputs, self.specs = request.mod, request.root, request.inputs, request.specs
        self.refused_effects: list[DynamoLiteError] = []  # what `drops` let go, as export would have refused it
        self.lost: list[Effect] = []  # effects on settings and arguments that `drops` lets go
        self.records: list[Effect] = []
        self.allocated: set[int] = set()  # ids of objects that the run created: `undo` leaves them as they are
        tracer, earlier = request.tracer, request.earlier
        fake_mode = (self._users_mode() if earlier is None else _mode_of(earlier)) or symbolic_mode()
        self.recorder = tracer.recorder_type(self.root, self.inputs.names, fake_mode=fake_mode, earlier=earlier)
        self.recorder.memory, self.recorder.layout.knows_copies = request.memory, request.knows_copies
        self.tracer = tracer(self.mod if self.root is None else self.root, self.recorder, self.inputs)
        self.tracer.drops = request.drops and not tracer.goes_on  # explain lists each
        self.tracer.uncarried = request.uncarried
        if request.interpreted:
            self.tracer.interpret(request.interpreted)
        if request.demanded:
            self.tracer.fork_calls(request.demanded)  # type: ignore[attr-defined]  # of the tracer that has asked for it
        if request.sorts:
            self.tracer.sorts = request.sorts  # type: ignore[attr-defined]  # as above
        if request.has_flags and self.recorder.may_share is not None:
            self.recorder.may_share.has_flags = True
        self.tracer.own(SideDifferences).carries_gradients = request.carries_gradients
        self.recorder.context = context = TraceContext(self.tracer, has_state=request.held is None)
        if self.recorder.env is not None:
            self.recorder.env.where = self.tracer.origin
            answers = self.tracer.features.answers
            specialized = partial(answers.get("specialized", _unheard), self.tracer)
            in_text = partial(answers.get("number in text", _unheard), self.tracer)
            self.recorder.env.client = Client(
                self.tracer.undecided, self.tracer.too_large, specialized, context.check_deferred, in_text
            )
        logs.attach(self)
        self.declared = self._declare()
        if self.declared is not None and tracer.sees_python:
            self.tracer.features.tell("declared", self)
        self.settled: Settled | None = None
        self.replaced: HeldTables | None = None
        self.state_reads: tuple[StateRead, ...] = ()
        self.must_not_alias: tuple[tuple[Path, Path], ...] | None = None
        self.lost_reads: list[tuple[MissingPart, GraphBreak]] = []  # what a trace with the user's own values decides
        if self.recorder.env is not None:
            persisted_sizes.assume(self.recorder.env, (*request.equal, *(request.known or ())))
            if request.known and self.declared is not None:
                persisted_sizes.fix_inputs(self.recorder.env, self.declared)

    def _users_mode(self) -> FakeTensorMode | None:
        """The FakeTensorMode that inputs or state live in. It has no symbols: None where sizes vary, too."""
        mode = fake_mode_of(self.root, self.inputs.leaves)
        if mode is None or self.specs is None:
            return mode
        if not declare_inputs(self.inputs, self.specs, TorchShapeEnv()).is_dynamic:
            return mode
        if is_active(mode):
            text = "dynamic_shapes need a mode of symbols of our own: call export outside of the FakeTensorMode"
            raise InvalidArguments(text)
        return None

    def _declare(self) -> DeclaredInputs | None:
        """Return the symbols for the sizes that may vary; None if no size may."""
        env = self.recorder.env
        if env is None:  # the inputs or the state are FakeTensors of a mode of the user's
            return None
        declared = declare_inputs(self.inputs, self.specs, env)
        return declared if declared.is_dynamic else None

    def settle(self, defers: bool = False) -> Settled | None:
        """The conditions on sizes under which the program is right. Raises ConstraintViolation.

        defers: as in `program.dynamic_shapes.settle`.
        """
        if self.declared is None:
            return None
        assert self.recorder.env is not None
        settled = settle(self.declared, self.recorder.env, defers)
        for note in settled.notes:
            self.tracer.note(note)
        self.settled = settled
        return settled

    def layout_guards(self, settled: Settled | None) -> list[str]:
        """Return the conditions on the memory layout of the inputs, if the program depends on layout."""
        recorder = self.recorder
        for name in sorted(recorder.layout.unasked) if recorder.layout.questions else ():
            self.tracer.note(_UNASKED.format(name))
        fakes = [node.meta["val"] for node in recorder.input_nodes]
        sources = {} if settled is None else settled.solution.table.sources()
        return layout_guards(self.inputs, fakes, recorder.layout.questions, recorder.env, sources)

    def trace(self) -> None:
        """Run the program in the interpreter, and judge its effects. Raises GraphBreak, or what the program raises."""
        tracer = self.tracer
        call = self._begin()
        try:
            features = tracer.features
            with self.recorder, features.around(tracer), features.ended(tracer):
                call.state = TorchState()
                given, kept = call.leaves, []
                if self.inputs.is_foreign:
                    (call.args, call.kwargs), call.leaves = rebuild(self.inputs, tracer, given, self.inputs.restored)
                    put_back((call.args, call.kwargs), self.request.put_back)
                    kept = state_kept((call.args, call.kwargs))
                call.result = self._called(call.args, call.kwargs)
                lost = [part for part, _ in self.lost_reads]
                self.state_reads = state_reads(tracer, self.inputs, kept, given, lost)
                for judge in end_passes.while_recording(features):
                    judge(self, call)
        except Abort as abort:
            tracer.vm.retired = True
            raise abort.error from None
        except Exception:
            if tracer.broken is not None:
                raise tracer.broken from None
            raise
        if tracer.broken is not None:
            raise tracer.broken
        for judge in end_passes.RECORDED:
            judge(self, call)

    def _begin(self) -> CallRecord:
        """Return the call with fake inputs as arguments. From here on the heap is journaled."""
        tracer, inputs = self.tracer, self.inputs
        if inputs.is_foreign and inputs.restored is None:
            inputs.restored = round_trip(inputs, ContainerFunctions())
        tracer.heap.begin()  # before the containers of the arguments are made: their changes are judged apart
        policies = self.declared.policies if self.declared is not None else None
        leaves = self.recorder.bind_inputs(inputs.leaves, policies)
        self.recorder.layout.expect(leaves)
        tracer.features.tell("inputs", inputs.leaves, leaves)
        args, kwargs = ((), {}) if inputs.is_foreign else inputs.unflatten(leaves)
        tracer.reads.key_orders = KeyOrders((args, kwargs), bound_by_name(self.mod)) or None
        return CallRecord(args, kwargs, leaves)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the program's result. Refused if it depends on state of the user's containers that the run's lack and
        cannot be given."""
        tracer, lost = self.tracer, self.inputs.restored.lost if self.inputs.is_foreign else []
        lost = [part for part in lost if part not in self.request.put_back]
        try:
            result = self.request.enter(tracer, self.mod, args, kwargs)
        except Exception as error:
            for _, graph_break in lost_reads(tracer, (args, kwargs), lost):
                raise graph_break from error
            tracer.check_raised(error)
            tracer.features.tell("raised", tracer, error)
            self.allocated = classify.made_by(tracer)  # the error and the objects it holds keep their attributes
            raise
        tracer.features.tell("left", tracer)
        self.lost_reads = lost_reads(tracer, (args, kwargs), lost)
        for part, graph_break in self.lost_reads:
            if not part.can_be_put_back:
                raise graph_break
        return result

    def fingerprint(
        self,
        earlier: Fingerprint | None = None,
        sizes: Callable[[Any], Any] | None = None,
        *,
        buffers: Mapping[fx.Node, torch.Tensor] | None = None,
        neutral: Sequence[torch.Tensor] = (),
    ) -> Fingerprint:
        """Return the fingerprint that shows whether two runs recorded the same program. sizes, buffers, neutral: as of
        a Fingerprint."""
        assigned = {name: (change.old, change.new) for name, change in self.effects.assigned.items()}
        return Fingerprint(self.recorder, assigned, earlier, sizes, buffers, neutral)

    def undo(self) -> None:
        """Put the heap back as it was before the trace."""
        undoing.undone(self._undo)

    def _undo(self) -> None:
        tracer = self.tracer
        tracer.vm.retired = True
        self.recorder.close()
        tracer.rollback(self.allocated)
        tracer.heap.end()
        for placed in self.request.placed():
            undoing.undone(placed.put_back)
        self._let_go()

    def _let_go(self) -> None:
        """Cut the environment off the tracer: sizes in C++ keep it alive where no collector sees the cycle."""
        env = self.recorder.env
        if env is not None:
            env.where = _nowhere
            env.client = None


def _unheard(*args: Any) -> None:
    """In place of a listener that no feature has."""


def _nowhere() -> Origin:
    return Origin("user line", note="after the run")


def traced(request: RunRequest) -> AbstractContextManager[Run]:
    """Return a run that has been traced; within the block the heap is as the run left it, and as before after it.

    It is repeated if it used more cached results than was exact, and if a library function that ran natively read the
    data of a tensor, or left out frames that the program looks at: this time with that function interpreted. Also if it
    imported more of torch, whose functions the rules of the run did not know. If the interpreted library code fails on
    a size known at run time only, the original error is raised.
    """
    refused: DataDependent | None = None
    run = _started(request)
    try:  # not in a generator: what the program raises may be a StopIteration
        while True:
            try:
                with logs.phase("the run in the interpreter"):
                    _trace(run)
                break
            except tuple(_NEXT) as error:
                changed = next(make for kind, make in _NEXT.items() if isinstance(error, kind))(request, error, run)
                if changed is None:
                    raise
                if isinstance(error, DataDependent):
                    refused = refused or error
                run.undo()
                if isinstance(error, TorchImported):
                    error.load()
                request = changed
                run = _started(request)
            except Exception as error:
                if refused is None or isinstance(error, DynamoLiteError):
                    raise
                raise refused from None
    except BaseException:
        run.undo()
        raise
    return _undone(run)


def _with_fewer_results(request: RunRequest, error: Inexact, run: Run) -> RunRequest | None:
    """Fewer cached results are used, or none that are the tensor itself."""
    if not error.knows_copies:
        return replace(request, knows_copies=False)
    levels: list[Memory] = [*Memory]
    lower = levels[levels.index(run.recorder.memory) + 1 :]
    enough = [level for level in lower if level is error.needs] or lower
    return replace(request, memory=enough[0]) if enough else None


def _interpreted(request: RunRequest, error: DataDependent, run: Run) -> RunRequest | None:
    """The library code that ran natively when data were asked for is interpreted."""
    more = error.native_code - request.interpreted
    return replace(request, interpreted=request.interpreted | more) if more and request.tracer.sees_python else None


_NEXT: Mapping[type[Exception], Callable[[RunRequest, Any, Run], RunRequest | None]] = {
    TorchImported: lambda request, error, run: request,
    Inexact: _with_fewer_results,
    RunAgain: lambda request, error, run: error.changed(request),
    DataDependent: _interpreted,
}
"""Outcome of a run → the request of the next one, which may avoid it; None if there is none."""


def _trace(run: Run) -> None:
    """`run.trace()`. Raises TorchImported where it needs TorchDynamo, or another module of torch that is not there."""
    if torch_dynamo.is_loaded():
        return run.trace()
    try:
        with torch_dynamo.dispatch_alone(), late_imports.ending(run.tracer):
            return run.trace()
    except Abort as abort:  # before the program runs
        raise abort.error from None


def _started(request: RunRequest) -> Run:
    if request.tracer.needs_torch_dynamo or not late_imports.are_seen():
        torch_dynamo.load()  # torch's converter imports it for an input with symbols
    for placed in request.placed():
        undoing.changing(placed.put_back)
        placed.place()
    try:
        run = Run(request)
    except BaseException:
        for placed in request.placed():
            undoing.undone(placed.put_back)
        raise
    undoing.changing(run._undo)
    request.started(run)
    return run


@contextmanager
def _undone(run: Run) -> Iterator[Run]:
    try:
        yield run
    finally:
        run.undo()


def _mode_of(earlier: Fingerprint) -> FakeTensorMode | None:
    """The user's own mode, if the recording before this one was made in it."""
    return earlier.recorder.fake_mode if earlier.recorder.env is None else None
