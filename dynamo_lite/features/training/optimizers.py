"""The state of optimizers: the tensors of `optimizer.state` are buffers of the program, named by parameter.

Optimizers are interpreted as they are written. The tensors of their state are changed in place, as buffers are, and no
module registers them.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any, NamedTuple, NoReturn

import torch
from torch import fx
from torch.optim import Optimizer

from dynamo_lite.features.training import first_state, first_step_apart, schedules
from dynamo_lite.features.training.gradients import Gradients
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.run.finished_run import CallRecord, FinishedRun
from dynamo_lite.tracing.feature_state import MergedState
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView
from dynamo_lite.tracing.vocabulary.program_points import Mark
from dynamo_lite.tracing.vocabulary.type_tests import is_fake


class UsedOptimizer(NamedTuple):
    """An optimizer from before the run, where the program first used it, and the keys of its state then, by the id of
    the parameter."""

    optimizer: Optimizer
    mark: Mark
    keys: dict[int, frozenset[Any]]


class OptimizersSeen(FeatureState):
    """The optimizers that the program has used, in order.

    stored: the fake tensors that the program has stored in their state, with their nodes then, by id
    """

    stays = "the names of state are given once; what is stored on a side is in no state behind it"

    def __init__(self, tracer: TracerView) -> None:
        self._tracer = tracer
        self.all: list[UsedOptimizer] = []
        self.stored: dict[int, tuple[torch.Tensor, fx.Node]] = {}

    def left_behind(self) -> list[frozenset[tuple[int, Any]]]:
        return [_keys(used.optimizer) for used in self.all]

    def merge(self, merge: Any, left: Any, right: Any) -> MergedState:
        """A first step on one side of a branch is refused: behind it there is state, or there is none."""
        for number, used in enumerate(self.all):
            one, other = (side[number] if number < len(side) else frozenset() for side in (left, right))
            if one != other:
                self._refuse(used, one ^ other)
        return MergedState(lambda: None, "")

    def _refuse(self, used: UsedOptimizer, made: frozenset[tuple[int, Any]]) -> NoReturn:
        keys = ", ".join(dict.fromkeys(str(key) for _, key in sorted(made, key=str)))
        self._tracer.refuse("first-step-in-branch", optimizer=type(used.optimizer).__qualname__, names=keys)


def of(run: FinishedRun) -> list[Optimizer]:
    """The optimizers that a run has used."""
    return [used.optimizer for used in run.tracer.own(OptimizersSeen).all]


def _keys(optimizer: Optimizer) -> frozenset[tuple[int, Any]]:
    """The entries of an optimizer's state: the id of each parameter with the names of what is kept for it."""
    state = optimizer.state.items()
    return frozenset((id(owner), key) for owner, held in state if isinstance(held, dict) for key in held)


def note_stored(tracer: TracerView, owner: Any, value: Any) -> None:
    """Called before a write. A tensor that is stored in the state of an optimizer counts as not constant."""
    if type(owner) is not dict or not is_fake(value):
        return
    seen = tracer.own(OptimizersSeen)
    if any(owner is held for used in seen.all for held in used.optimizer.state.values()):
        if tracer.recorder.levels:
            first_step_apart.begin(tracer, [used.optimizer for used in seen.all], owner)
        node = tracer.recorder.node_of(value)
        seen.stored.setdefault(id(value), (value, node))
        tracer.recorder.constant_values.vary(value, node)


def plan_step(tracer: TracerView, fn: FunctionType) -> Step | None:
    """Return the step of the call plan of `Optimizer.step`, or of a method that comes before it."""
    if fn is Optimizer.zero_grad:
        return _note_state if tracer.sees_python else None
    return _before_step if tracer.sees_python and first_step_apart.is_step(fn.__code__) else None


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
    if args and isinstance(args[0], Optimizer):
        _note(tracer, args[0])
    return NOT_HANDLED


def read_attribute(tracer: TracerView, owner: Any, name: str, value: Any) -> Any:
    """The program reads an attribute of an optimizer: methods of other names than `step` may make state, too."""
    if name in ("state", "param_groups") and tracer.sees_python:
        _note(tracer, owner)
    return first_step_apart.read_attribute(tracer, owner, name, value)


def _note(tracer: TracerView, optimizer: Optimizer) -> None:
    seen = tracer.own(OptimizersSeen).all
    if any(one.optimizer is optimizer for one in seen):
        return
    if not tracer.heap.new_among((optimizer,)):
        prefix = "optimizer" if not seen else f"optimizer_{len(seen)}"
        keys = {id(owner): frozenset(held) for owner, held in optimizer.state.items() if isinstance(held, dict)}
        seen.append(UsedOptimizer(optimizer, tracer.mark(), keys))
        tracer.plans.wake("training")
        schedules.note_rates(tracer, optimizer)
        for path, tensor in _tensors(optimizer):
            tracer.recorder.expect_state(tensor, f"{prefix}.{path}")


def judge(run: FinishedRun, call: CallRecord) -> None:
    """Of a run whose effects are known: the state that the first step has made is state of the program if a second run
    shows that (first_state.py); else each call would make it again."""
    made = list(_made(run))
    prepared = run.request.prepared
    if isinstance(run.request.enter, first_step_apart.StepsApart):
        first_step_apart.judge(run, made)
    if prepared is None and not any(is_fake(entry.value) for entry, _ in made):
        return  # Python values are left to the rules of Python state
    entries = [entry for entry, _ in made]
    is_verified = isinstance(prepared, first_step_apart.Verified)
    first = prepared.first if isinstance(prepared, first_step_apart.Verified) else prepared
    if isinstance(first, first_state.FirstState):
        entries += first.entries
    decide = first_step_apart.holds if is_verified else first_state.judge
    try:
        is_held = run.request.earlier is None and decide(run, made)
    except first_state.Varies:
        is_held = False
    kinds = ", ".join(dict.fromkeys(type(entry.optimizer).__qualname__ for entry in entries))
    if is_held:
        text = f"the program begins with the state that the first step of {kinds} makes; the optimizer itself gets none"
        run.tracer.note(text)
        return
    paths = {path for used in run.tracer.own(OptimizersSeen).all for path, _ in _tensors(used.optimizer)}
    names = [path for path in sorted(paths) if any(path.endswith(f".{entry.key}") for entry in entries)]
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    marks = {id(used.optimizer): used.mark for used in run.tracer.own(OptimizersSeen).all}
    error = run.tracer.graph_break("optimizer-state", marks[id(entries[0].optimizer)], optimizer=kinds, names=shown)
    if not run.request.drops and not run.tracer.lets_pass(f"the first step of {kinds} makes {shown}"):
        raise error
    run.refused_effects.append(error)


def _made(run: FinishedRun) -> Iterator[tuple[first_state.MadeEntry, fx.Node | None]]:
    """The entries of state that the program has made, with the node of a tensor when it was stored."""
    seen = run.tracer.own(OptimizersSeen)
    for used in seen.all:
        for owner, held in used.optimizer.state.items():
            before = used.keys.get(id(owner))
            for key, value in held.items() if isinstance(held, dict) else ():
                if before is None or key not in before:
                    entry = first_state.MadeEntry(used.optimizer, owner, key, value, before is None)
                    yield entry, seen.stored.get(id(value), (None, None))[1]


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
