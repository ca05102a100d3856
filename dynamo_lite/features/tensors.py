"""Attributes, constructors and shared memory of tensors. The rules are in `tracing/tensors`."""

from __future__ import annotations

import torch

from dynamo_lite.program.effect_record import Effect, Verdict
from dynamo_lite.run.finished_run import CallRecord, FinishedRun
from dynamo_lite.tracing.effects.descriptions import describe
from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.tensors import attributes, constructors, shared_memory
from dynamo_lite.tracing.vocabulary.program_points import frames_at


def _compared(run: FinishedRun, call: CallRecord) -> None:
    """Note the attributes that the program does not set. Raises the graph break for memory that is shared anew."""
    for lost in run.tracer.own(attributes.TensorWrites).lost:
        old, new = describe(lost.old), describe(lost.new)
        run.lost.append(Effect("attribute", lost.target, old, new, Verdict.DROPPED, frames_at(lost.mark)))
        run.tracer.note(f"{lost.target} is changed; the program does not change it")
    shared_memory.check(run.tracer)


FEATURE = Feature(
    name="tensors",
    rules=shared_memory.table,
    wraps=constructors.table,
    on={
        "inputs": attributes.carry_over,
        "compared": _compared,
        ("attribute", torch.Tensor): attributes.read_attribute,
        ("write", torch.Tensor): attributes.write,
    },
)
