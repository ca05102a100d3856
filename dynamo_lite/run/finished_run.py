"""A run whose program has returned, as those who judge it see it (end_passes.py, features)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import fx

from dynamo_lite.capture.comparison.fingerprint import Fingerprint
from dynamo_lite.capture.kernels.layout_questions import strongest
from dynamo_lite.capture.recorder import Recorder
from dynamo_lite.errors import DynamoLiteError
from dynamo_lite.program import FlatInputs
from dynamo_lite.program.effect_record import Effect, Verdict
from dynamo_lite.program.trees.outputs import FlatOutputs
from dynamo_lite.program.trees.paths import Flat
from dynamo_lite.program.trees.twins import Path
from dynamo_lite.run.request import RunRequest
from dynamo_lite.tracing.assumptions.input_guards import InputGuards
from dynamo_lite.tracing.effects import descriptions
from dynamo_lite.tracing.tracer import Tracer
from dynamo_lite.tracing.vocabulary.process_state import TorchState


class FinishedRun(Protocol):
    """The part of a run (run.py) that the passes see and set."""

    request: RunRequest
    tracer: Tracer
    recorder: Recorder
    inputs: FlatInputs
    outputs: FlatOutputs
    effects: descriptions.Effects
    allocated: set[int]
    lost: list[Effect]
    refused_effects: list[DynamoLiteError]
    must_not_alias: tuple[tuple[Path, Path], ...] | None

    def fingerprint(
        self, *, buffers: Mapping[fx.Node, torch.Tensor] | None = None, neutral: Sequence[torch.Tensor] = ()
    ) -> Fingerprint: ...


@dataclass
class CallRecord:
    """One call of the program: its arguments with fake tensors in place of tensors, and its result."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    leaves: list[Any]
    result: Any = None
    state: TorchState | None = None  # torch's switches at the start
    flat: Flat | None = None  # the result, taken apart
    changed: list[str] = field(default_factory=list)  # the arguments whose containers hold something else


def conditions(run: FinishedRun) -> tuple[object, ...]:
    """Return the program's conditions on its inputs, in a form that two runs have in common."""
    env = run.recorder.env
    facts = [] if env is None else [str(fact.relation) for fact in env.core.facts if fact.kind == "guard"]
    return sorted(facts), run.tracer.own(InputGuards).texts, strongest(run.recorder.layout.questions)


def lose_effect(run: FinishedRun, kind: str, target: str, old: str, new: str, id: str, text: str = "") -> None:
    """Refuse an effect that the program cannot carry, or note it if the caller chose so. text: the note then."""
    graph_break = run.tracer.graph_break(id, target=target, old=old, new=new)
    text = text or f"{target} is changed; the program does not change it"
    if not run.request.drops and not run.tracer.lets_pass(text):
        raise graph_break
    run.refused_effects.append(graph_break)
    run.lost.append(Effect(kind, target, old, new, Verdict.DROPPED, run.tracer.where()))
    if run.request.drops:
        run.tracer.note(text)


def lose_gradient(run: FinishedRun, graph_break: DynamoLiteError, text: str) -> None:
    """Refuse a part of eager's backward that the program lacks, or note it if the caller chose so."""
    if not run.request.drops and not run.tracer.lets_pass(text):
        raise graph_break
    run.refused_effects.append(graph_break)
    run.tracer.note(text)
