"""The state of optimizers: the tensors of `optimizer.state` are buffers of the program, named by parameter.

Optimizers are interpreted as they are written. The tensors of their state are changed in place, as buffers are, and no
module registers them.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any

import torch
from torch.optim import Optimizer

from dynamo_lite.interpreter.datamodel.trampoline_code import original_code
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView


def _nothing() -> None: ...


_STEP = Optimizer.profile_hook_step(_nothing).__code__
"""The code of the wrapper that torch puts around the `step` of each class of optimizers."""


class OptimizersSeen(FeatureState):
    """The optimizers that the program has used, in order."""

    stays = "the names of state are given once"

    def __init__(self, tracer: TracerView) -> None:
        self.all: list[Optimizer] = []


def plan_step(tracer: TracerView, fn: FunctionType) -> Step | None:
    """Return the step of the call plan of `Optimizer.step`, or of a method that comes before it."""
    is_own = original_code(fn.__code__) is _STEP or fn is Optimizer.zero_grad
    return _note_state if is_own and tracer.sees_python else None


def _note_state(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The tensors in the state of an optimizer are state of the program."""
    seen = tracer.own(OptimizersSeen).all
    optimizer = args[0] if args else None
    if not isinstance(optimizer, Optimizer) or any(one is optimizer for one in seen):
        return NOT_HANDLED
    prefix = "optimizer" if not seen else f"optimizer_{len(seen)}"
    seen.append(optimizer)
    for path, tensor in _tensors(optimizer):
        tracer.recorder.expect_state(tensor, f"{prefix}.{path}")
    return NOT_HANDLED


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
