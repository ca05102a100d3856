"""The record of `training`."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from torch.optim import Optimizer

from dynamo_lite.errors import GraphBreak
from dynamo_lite.features.training import (
    backward,
    first_gradients,
    first_step_apart,
    gradients,
    hooks,
    numbers,
    optimizers,
    schedules,
)
from dynamo_lite.run.finished_run import CallRecord, FinishedRun
from dynamo_lite.tracing.feature import Feature, NamedRules, WhileAwake
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.policy import skipped_calls
from dynamo_lite.tracing.tensors import assigned_data
from dynamo_lite.tracing.tensors.attributes import TensorWrites


def _guard(walk: Any, tracer: TracerView) -> None:
    gradients.guard(walk, tracer)
    hooks.guard(walk, tracer)


def _judge(run: FinishedRun, call: CallRecord) -> None:
    hooks.judge(run)
    schedules.judge(run, optimizers.of)
    optimizers.judge(run, call)
    first_gradients.judge(run)
    if assigned := run.tracer.own(TensorWrites).assigned:
        assigned_data.judge(run, assigned)


def _differs(run: FinishedRun, error: GraphBreak) -> None:
    first_gradients.differs(run, error)
    if error.id == "python-state":
        numbers.hold(run, optimizers.of(run), error)


FEATURE = Feature(
    name="training",
    state=(gradients.Gradients, optimizers.OptimizersSeen, first_step_apart.StateReads, hooks.HooksRun),
    rules=lambda: gradients.SETTERS,
    named=(
        NamedRules(skipped_calls.BACKWARD, lambda name: backward.call_backward),
        NamedRules(("torch.autograd.graph:_engine_run_backward",), lambda name: backward.call_engine),
    ),
    function_steps=(optimizers.plan_step,),
    on={
        "judged": _judge,
        "differs": _differs,
        "changes": gradients.changes,
        "tensor attributes": lambda: gradients.ATTRIBUTES,
        ("attribute", Optimizer): optimizers.read_attribute,
        **{(how, defaultdict): first_step_apart.read_container for how in ("item", "items", "key")},
    },
    while_awake=WhileAwake(on_write=optimizers.note_stored),
    before_end=(gradients.judge,),
    guards=_guard,
    graph_breaks=(
        *("backward-in-forward", "kept-gradient", "input-gradient", "gradient-left"),
        *("gradient-hook", "optimizer-state", "first-step-in-branch", "scheduler-step"),
        *("branch-differs", "tensor-attribute"),
    ),
)
