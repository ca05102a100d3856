"""The first step of an optimizer on one side of a branch on data, as of a step that a loss of nan skips.

Which call takes the first step is known at run time only. The program can hold the state from the start if a step from
a fresh optimizer and one from this state compute the same. This is decided apart from the program: a run of `step()`
alone, with a gradient for each parameter, goes through the two runs of first_state.py. A third run begins with the
state of every other parameter, as calls may leave it whose gradients reach some of them. Then the program is traced
again with the state in place. It may not look at the state elsewhere than in `step()`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any, NoReturn

import torch
from torch.optim import Optimizer

from dynamo_lite.errors import GraphBreak
from dynamo_lite.features.training import first_state
from dynamo_lite.features.training.first_state import FirstState, Made, MadeEntry
from dynamo_lite.interpreter.datamodel.trampoline_code import original_code
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.run.finished_run import FinishedRun
from dynamo_lite.tracing.diagnostics import RunAgain
from dynamo_lite.tracing.interfaces import FeatureState, TracerView
from dynamo_lite.tracing.vocabulary.program_points import Mark


def _nothing() -> None: ...


_STEP = Optimizer.profile_hook_step(_nothing).__code__
"""The code of the wrapper that torch puts around the `step` of each class of optimizers."""


def is_step(code: CodeType) -> bool:
    """Whether this is the code of `step()` of an optimizer."""
    return code.co_name == _STEP.co_name and original_code(code) is _STEP


class StepsApart:
    """A `RunRequest.enter` that calls `step()` of optimizers in the place of the program.

    Attributes:
        mark: the place of the program where it made some state.
        request: the request of the program's own run.
    """

    def __init__(self, optimizers: Sequence[Optimizer], mark: Mark, request: Any) -> None:
        self.optimizers, self.mark, self.request = optimizers, mark, request

    def __call__(self, tracer: Any, program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        tracer.interpret(tracer.interpreted | {_take_steps.__code__})
        try:
            tracer.vm.enter(_take_steps, (self.optimizers,), {})
        except Exception:
            if tracer.broken is None:  # `step()` needs a closure, or other arguments
                raise _graph_break(tracer, self.optimizers, self.mark) from None
            raise


def _graph_break(tracer: TracerView, optimizers: Sequence[Optimizer], mark: Mark | None) -> GraphBreak:
    kinds = ", ".join(dict.fromkeys(type(one).__qualname__ for one in optimizers))
    held = (state for one in optimizers for state in one.state.values() if isinstance(state, dict))
    names = ", ".join(sorted({str(key) for state in held for key in state}))
    return tracer.graph_break("first-step-in-branch", mark, optimizer=kinds, names=names)


def _take_steps(optimizers: Sequence[Optimizer]) -> None:
    """Take a step of each optimizer, with gradients that are no constants."""
    for optimizer in optimizers:
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        for parameter in parameters:
            parameter.grad = torch.sin(parameter.detach()) if parameter.requires_grad else None
        optimizer.step()
        for parameter in parameters:
            parameter.grad = None


def begin(tracer: TracerView, optimizers: Sequence[Optimizer], stored: dict[Any, Any]) -> NoReturn:
    """A branch stores a tensor in the state of an optimizer. Begin the runs that decide whether the program can begin
    with the state; refuse it if the program has begun with what these runs have found."""
    (storing,) = [one for one in optimizers if any(stored is held for held in one.state.values())]
    if any(storing is stepped for stepped in STEPPED):
        tracer.abort(_graph_break(tracer, [storing], None))
    tracer.abort(BeginsApart(optimizers, tracer.mark()))


class BeginsApart(RunAgain):
    """Ends the run of a program that takes a first step in a branch. The next one is of the steps alone."""

    def __init__(self, optimizers: Sequence[Optimizer], mark: Mark) -> None:
        super().__init__("the first step of an optimizer is on one side of a branch")
        self._steps = optimizers, mark

    def changed(self, request: Any) -> Any:
        apart = StepsApart(*self._steps, request)
        return replace(request, enter=apart, prepared=None, gradients=None, exact=False)


class _Next(RunAgain):
    """Ends one of these runs. request: that of the next one."""

    def __init__(self, request: Any) -> None:
        super().__init__("the first step of an optimizer is compared with later ones")
        self._request = request

    def changed(self, request: Any) -> Any:
        return self._request


@dataclass(frozen=True, eq=False)
class Mixed:
    """The state that the third run begins with: some of the entries of `first`."""

    first: FirstState
    entries: Sequence[MadeEntry]

    def place(self) -> None:
        first_state.place(self.entries)

    def put_back(self) -> None:
        first_state.put_back(self.entries)


@dataclass(frozen=True, eq=False)
class Verified:
    """The state that the program's run begins with: state from which a first step computes what later ones do."""

    first: FirstState
    optimizers: Sequence[Optimizer]

    def place(self) -> None:
        self.first.place()
        STEPPED.extend(self.optimizers)

    def put_back(self) -> None:
        self.first.put_back()
        STEPPED.clear()


STEPPED: list[Optimizer] = []
"""The optimizers whose state is in place in the run in progress, though a branch may take their first step."""


def judge(run: FinishedRun, made: Made) -> NoReturn:
    """Of a run of the steps alone: begin the next of the runs, or refuse the program."""
    steps, prepared = run.request.enter, run.request.prepared
    assert isinstance(steps, StepsApart)
    try:
        if isinstance(prepared, Mixed):
            is_held = _is_as_from_all(run, prepared, made)
        else:
            is_held = bool(made or prepared) and first_state.judge(run, made)
    except first_state.Varies:
        is_held = False
    if not is_held:
        raise _graph_break(run.tracer, steps.optimizers, steps.mark)
    if isinstance(prepared, Mixed):
        verified = Verified(prepared.first, steps.optimizers)
        raise _Next(replace(steps.request, memory=run.request.memory, prepared=verified))
    assert isinstance(prepared, FirstState)
    raise _Next(replace(run.request, prepared=Mixed(prepared, _every_other(prepared.entries))))


def _every_other(entries: Sequence[MadeEntry]) -> list[MadeEntry]:
    """The entries of each second one of the parameters."""
    numbers = {owner: number for number, owner in enumerate(dict.fromkeys(id(entry.owner) for entry in entries))}
    return [entry for entry in entries if numbers[id(entry.owner)] % 2]


def _is_as_from_all(run: FinishedRun, prepared: Mixed, made: Made) -> bool:
    """Whether the run from the state of some parameters computes what the one from the state of all does."""
    found: FirstState | None = first_state.first_state(run, made, prepared.first, prepared.entries)
    while found is not None:
        parts = [(one.program, one.spec, one.changes, one.conditions) for one in (found, prepared.first)]
        if parts[0] == parts[1] and first_state.are_left_alike(found.left, prepared.first.left):
            return True
        found = found.otherwise
    return False


class StateReads(FeatureState):
    """at: where the program looked at the state of an optimizer, elsewhere than in `step()`."""

    stays = "an object that a side has read may exist in one call and not in another"

    def __init__(self, tracer: TracerView) -> None:
        self.at: Mark | None = None


def read_attribute(tracer: TracerView, owner: Any, name: str, value: Any) -> Any:
    """The program reads an attribute of an optimizer."""
    if STEPPED and name == "state":
        _note_read(tracer, value)
    return NOT_HANDLED


def read_container(tracer: TracerView, owner: Any, key: Any) -> None:
    """The program looks into a container of the kind that `Optimizer.state` is."""
    if STEPPED:
        _note_read(tracer, owner)


def _note_read(tracer: TracerView, state: Any) -> None:
    reads = tracer.own(StateReads)
    if reads.at is None and any(state is stepped.state for stepped in STEPPED) and not _is_in_step(tracer):
        reads.at = tracer.mark()


def _is_in_step(tracer: TracerView) -> bool:
    frame = tracer.vm.frame
    while frame is not None and not is_step(frame.code):
        frame = frame.back
    return frame is not None


def holds(run: FinishedRun, made: Made) -> bool:
    """Whether the program's run needs no other state than it has begun with. Refuses one that looks at the state."""
    prepared, read_at = run.request.prepared, run.tracer.own(StateReads).at
    assert isinstance(prepared, Verified)
    if read_at is not None:
        raise _graph_break(run.tracer, prepared.optimizers, read_at)
    run.tracer.reads.add(prepared.first.reads)  # what the first step alone has read
    return not made
