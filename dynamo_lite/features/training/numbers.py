"""Python numbers of optimizers and schedulers that each step changes: `state["step"] += 1`, `scheduler.last_epoch`.

The program holds such a number as a tensor, a buffer with its name. A run begins with the number read from the buffer,
known at run time only, in its place; what the run leaves there is written into the buffer. So the program is right for
whatever number an earlier call has left: branches on it are captured, and what needs it as a constant is refused. The
object itself keeps its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from dynamo_lite.errors import GraphBreak
from dynamo_lite.run.finished_run import FinishedRun
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction, _disable_current_modes
from dynamo_lite.tracing.diagnostics import RunAgain
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.later_calls.places import Place, place_of
from dynamo_lite.tracing.vocabulary.symbolic_numbers import real_type

_DTYPES = {int: torch.int64, float: torch.float64}


@dataclass(frozen=True, eq=False)
class HeldNumber:
    """One number: where it is, what it is before the export, and the buffer of the program."""

    place: Place
    value: int | float
    buffer: torch.Tensor
    name: str

    @property
    def counts(self) -> bool:
        """Whether it is an integer that is not negative."""
        return type(self.value) is int and self.value >= 0


def _not_begun(*args: Any) -> Any:
    raise NotImplementedError


class HeldNumbers:
    """The numbers that a run finds as tensors (`RunRequest.numbers`).

    rows: those, in order
    error: that of a program that changes them, where a number cannot be held
    signed: the names of those that may become negative: the program asserts of the others that they are not
    """

    def __init__(self, rows: Sequence[HeldNumber], error: GraphBreak, signed: frozenset[str] = frozenset()) -> None:
        self.rows, self.error, self.signed = rows, error, signed
        self.enter: Callable[..., Any] = _not_begun  # calls the program

    def place(self) -> None:
        """The numbers are placed when the run records operators (`entered`)."""

    def put_back(self) -> None:
        for row in self.rows:
            row.place.put(row.value)

    def entered(self, enter: Callable[..., Any]) -> Callable[..., Any]:
        """Return the `RunRequest.enter` of a run that begins with these numbers. enter: calls the program."""

        def call(tracer: Any, program: Any, args: Any, kwargs: Any) -> Any:
            found = [tracer.recorder.guarded(_read, tracer, row) for row in self.rows]
            counts = [n for row, n in zip(self.rows, found) if row.counts and row.name not in self.signed]
            for number in counts:
                tracer.vm.call(torch._check, (number >= 0,), {})
            for row, number in zip(self.rows, found):
                row.place.put(number)
            result = enter(tracer, program, args, kwargs)
            for row, number in zip(self.rows, found):
                left = row.place.value()
                if real_type(left) is not type(row.value):
                    raise self.error
                if any(number is count for count in counts) and not _is_count(tracer, left):
                    tracer.abort(HoldsNumbers(HeldNumbers(self.rows, self.error, self.signed | {row.name})))
                if left is not number:
                    tracer.recorder.guarded(_write, tracer, row, left)
                row.place.put(number)
            names = ", ".join(row.name for row in self.rows[:4]) + (", ..." if len(self.rows) > 4 else "")
            tracer.note(f"Python numbers that the step changes are buffers of the program: {names}")
            return result

        return call


def _is_count(tracer: TracerView, value: Any) -> bool:
    """Whether a number that a run leaves is known not to be negative."""
    env = tracer.recorder.env
    return value >= 0 if type(value) is int else env is not None and env.core.bounds(env.unwrap(value))[0] >= 0


def _read(tracer: TracerView, row: HeldNumber) -> Any:
    tracer.recorder.expect_state(row.buffer, row.name)
    return tracer.recorder.lift(row.buffer).item()


def _write(tracer: TracerView, row: HeldNumber, value: Any) -> None:
    tracer.recorder.lift(row.buffer).fill_(value)


class HoldsNumbers(RunAgain):
    """Ends a run that changes numbers. The next one begins with them as tensors."""

    def __init__(self, numbers: HeldNumbers) -> None:
        super().__init__("a step changes Python numbers of an optimizer or a scheduler")
        self._numbers = numbers

    def changed(self, request: Any) -> Any:
        enter = request.numbers.enter if isinstance(request.numbers, HeldNumbers) else request.enter
        self._numbers.enter = enter
        return replace(request, numbers=self._numbers, enter=self._numbers.entered(enter))


def hold(run: FinishedRun, optimizers: Sequence[Optimizer], error: GraphBreak) -> None:
    """Of a run that is about to be refused for a change that later calls see: begin one with the numbers as tensors.

    Such a run may change further numbers: a rate that the schedule leaves as it is in the first call."""
    if run.request.drops or not run.tracer.sees_python or run.tracer.goes_on:
        return
    held = run.request.numbers if isinstance(run.request.numbers, HeldNumbers) else HeldNumbers((), error)
    rows = list(_rows(run.effects.pending, optimizers))
    known = {row.name for row in held.rows}
    if rows and not any(row.name in known for row in rows):  # state that a first step makes is another in each run
        raise HoldsNumbers(HeldNumbers((*held.rows, *rows), held.error, held.signed))


def _rows(changes: Sequence[Change], optimizers: Sequence[Optimizer]) -> Iterator[HeldNumber]:
    schedulers: dict[int, str] = {}
    for change in changes:
        place, old = place_of(change), change.old
        if place is None or not isinstance(old, (int, float)) or type(old) not in _DTYPES:
            continue
        if real_type(change.new) is not type(old):
            continue
        if isinstance(change.owner, LRScheduler):
            count = len(schedulers)
            name = schedulers.setdefault(id(change.owner), f"scheduler_{count}" if count else "scheduler")
        else:
            name = next(filter(None, (_name_within(*row, change.owner) for row in enumerate(optimizers))), "")
        if name:
            with _disable_current_modes(), DisableTorchFunction():
                buffer = torch.tensor(old, dtype=_DTYPES[type(old)])
            yield HeldNumber(place, old, buffer, f"{name}.{change.key}")


def _name_within(number: int, optimizer: Optimizer, owner: Any) -> str:
    """The name of a part of an optimizer, as in `optimizer.state_dict()`; "" if it is none."""
    prefix = f"optimizer_{number}" if number else "optimizer"
    if owner is optimizer:
        return prefix
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for parameter, held in optimizer.state.items():
        if held is owner:
            numbers = [i for i, each in enumerate(parameters) if each is parameter]
            return f"{prefix}.state.{numbers[0] if numbers else 'global'}"
    groups = [i for i, group in enumerate(optimizer.param_groups) if group is owner]
    return f"{prefix}.group.{groups[0]}" if groups else ""
