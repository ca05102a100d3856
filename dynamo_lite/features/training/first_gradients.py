"""Gradients that the first call makes and later calls use: an export may come before it.

`optimizer.zero_grad(set_to_none=False)` and steps that never reset their gradients find `.grad` None in the first call,
and a tensor in later ones. The program begins with gradients of -0.0, to which each call adds, if that computes what
the first call computes (capture/comparison/neutral_buffers.py). Two runs decide, after a second trace has shown that
later calls use the gradients:

1. From no gradients; each first gradient is copied, where eager may keep the one that the backward has made.
2. From gradients of -0.0, buffers of the program. It must record the same program, leave the same gradients and the
   same other changes, and rest on the same conditions.

The second run gives the program. A gradient of -0.0 is 0.0 in its first call where `zero_()` comes before the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from dynamo_lite.errors import GraphBreak
from dynamo_lite.features.training import first_state, gradients
from dynamo_lite.features.training.first_state import Refused
from dynamo_lite.features.training.gradients import BEGIN, Gradients, Slot
from dynamo_lite.run.finished_run import FinishedRun, conditions
from dynamo_lite.tracing.diagnostics import RunAgain
from dynamo_lite.tracing.vocabulary.type_tests import is_fake


class Copied:
    """The first of the two runs (`RunRequest.gradients`)."""

    def place(self) -> None:
        BEGIN.copies = True

    def put_back(self) -> None:
        BEGIN.copies = False


@dataclass(frozen=True, eq=False)
class FirstGradients:
    """The state that the second run begins with.

    Attributes:
        rows: each parameter, and its gradient.
        first_run: what the first run has recorded, left and asked.
    """

    rows: Sequence[tuple[torch.Tensor, torch.Tensor]]
    first_run: tuple[Any, ...]

    def place(self) -> None:
        BEGIN.tensors = {id(owner): (owner, tensor) for owner, tensor in self.rows}

    def put_back(self) -> None:
        BEGIN.tensors = {}


class FromGradients(RunAgain):
    """Ends a run. first: what the next one begins with."""

    def __init__(self, first: Copied | FirstGradients | Refused) -> None:
        super().__init__("the first call makes gradients that later ones use")
        self._first = first

    def changed(self, request: Any) -> Any:
        return replace(request, gradients=self._first)


def differs(run: FinishedRun, error: GraphBreak) -> None:
    """A second trace has failed: begin the two runs, if the gradients are the reason."""
    if error.id == "kept-gradient" and run.request.gradients is None and not run.request.drops and _made(run):
        raise FromGradients(Copied())


def judge(run: FinishedRun) -> None:
    """Of a run whose effects are known: begin the second, or compare it with the first."""
    first = run.request.gradients
    if run.request.earlier is not None or first is None or isinstance(first, Refused):
        return
    if isinstance(first, Copied):
        made = _made(run)
        rows = [(slot.owner, tensor) for slot in made if (tensor := gradients.neutral(slot.value)) is not None]
        if not rows or len(rows) < len(made):
            raise FromGradients(Refused())
        raise FromGradients(FirstGradients(rows, _found(run, [slot.value for slot in made], ())))
    assert isinstance(first, FirstGradients)
    tensors = [tensor for _, tensor in first.rows]
    slots = [run.tracer.own(Gradients).of(owner) for owner, _ in first.rows]
    kept = all(slot.value is slot.start for slot in slots)
    if not kept or _found(run, tensors, tensors) != first.first_run:
        raise FromGradients(Refused())
    names = ", ".join(gradients.name_of(run.tracer, slot.owner, None) for slot in slots[:4])
    more = f" and {len(slots) - 4} more" if len(slots) > 4 else ""
    run.tracer.note(f"the program begins with gradients of zero, buffers of its own, of {names}{more}")


def _made(run: FinishedRun) -> list[Slot]:
    """The gradients of parameters that the call finds as None and leaves as tensors."""
    slots = (slot for slot in run.tracer.own(Gradients) if slot.is_outside and slot.number is None)
    return [slot for slot in slots if slot.start is None and is_fake(slot.value)]


def _found(run: FinishedRun, left: Sequence[Any], neutral: Sequence[torch.Tensor]) -> tuple[Any, ...]:
    prepared = run.request.prepared
    of_state = prepared.neutral.values() if isinstance(prepared, first_state.FirstState) else ()
    entries = prepared.entries if isinstance(prepared, first_state.FirstState) else ()
    prints = run.fingerprint(neutral=[*of_state, *neutral])
    program, values = prints.program(run.outputs.values), [prints.value(tensor) for tensor in left]
    return program, values, run.outputs.spec, first_state.changes(run, prints, entries), conditions(run)
