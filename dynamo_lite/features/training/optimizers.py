"""The state of optimizers: the tensors of `optimizer.state` are buffers of the program, named by parameter.

Optimizers are interpreted as they are written. The tensors of their state are changed in place, as buffers are, and no
module registers them.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any, NamedTuple

import torch
from torch.optim import Optimizer

from dynamo_lite.features.training.gradients import Gradients
from dynamo_lite.interpreter.datamodel.trampoline_code import original_code
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.run.finished_run import CallRecord, FinishedRun
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView
from dynamo_lite.tracing.vocabulary.program_points import Mark
from dynamo_lite.tracing.vocabulary.type_tests import is_fake


def _nothing() -> None: ...


_STEP = Optimizer.profile_hook_step(_nothing).__code__
"""The code of the wrapper that torch puts around the `step` of each class of optimizers."""


class UsedOptimizer(NamedTuple):
    """An optimizer from before the run, where the program first used it, and the names of its state then."""

    optimizer: Optimizer
    mark: Mark
    names: frozenset[str]


class OptimizersSeen(FeatureState):
    """The optimizers that the program has used, in order."""

    stays = "the names of state are given once"

    def __init__(self, tracer: TracerView) -> None:
        self.all: list[UsedOptimizer] = []


def plan_step(tracer: TracerView, fn: FunctionType) -> Step | None:
    """Return the step of the call plan of `Optimizer.step`, or of a method that comes before it."""
    if fn is Optimizer.zero_grad:
        return _note_state if tracer.sees_python else None
    code = fn.__code__
    is_step = code.co_name == _STEP.co_name and original_code(code) is _STEP
    return _before_step if is_step and tracer.sees_python else None


def _before_step(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`optimizer.step()`: noted if it will change nothing."""
    _note_state(tracer, fn, args, kwargs)
    optimizer = args[0] if args else None
    if isinstance(optimizer, Optimizer) and len(args) == 1 and not kwargs:  # a closure would make the gradients
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        if all(tracer.own(Gradients).of(parameter).value is None for parameter in parameters):
            tracer.note(f"{type(optimizer).__qualname__}.step() changes nothing: none of its parameters has a gradient")
    return NOT_HANDLED


def _note_state(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The tensors in the state of an optimizer are state of the program."""
    seen = tracer.own(OptimizersSeen).all
    optimizer = args[0] if args else None
    if not isinstance(optimizer, Optimizer) or any(one.optimizer is optimizer for one in seen):
        return NOT_HANDLED
    if not tracer.heap.young_among((optimizer,)):
        prefix = "optimizer" if not seen else f"optimizer_{len(seen)}"
        tensors = dict(_tensors(optimizer))
        seen.append(UsedOptimizer(optimizer, tracer.mark(), frozenset(tensors)))
        for path, tensor in tensors.items():
            tracer.recorder.expect_state(tensor, f"{prefix}.{path}")
    return NOT_HANDLED


def judge(run: FinishedRun, call: CallRecord) -> None:
    """A pass over a finished run: state that its first step has made would be made again by each call."""
    for optimizer, mark, names in run.tracer.own(OptimizersSeen).all:
        made = [path for path, tensor in _tensors(optimizer) if path not in names and is_fake(tensor)]
        kind = type(optimizer).__qualname__
        shown = ", ".join(made[:3]) + (", ..." if len(made) > 3 else "")
        if not made:
            continue
        error = run.tracer.refusal("optimizer-state", mark, optimizer=kind, names=shown)
        if not run.request.drops and not run.tracer.lets_pass(f"the first step of {kind} makes {shown}"):
            raise error
        run.refused_effects.append(error)


def _tensors(optimizer: Optimizer) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors of the state with their names: `state.0.exp_avg`, as in `optimizer.state_dict()`."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    numbers = {id(parameter): number for number, parameter in enumerate(parameters)}
    for parameter, state in [*optimizer.state.items()]:
        name = f"state.{numbers.get(id(parameter), 'global')}"
        if isinstance(state, dict):
            yield from ((f"{name}.{key}", value) for key, value in state.items() if isinstance(value, torch.Tensor))
    for number, group in enumerate(optimizer.param_groups):
        for key, value in group.items():
            if isinstance(value, torch.Tensor):
                yield f"group.{number}.{key}", value
