"""Learning rates: schedulers that count in Python, and rates that are Python numbers.

`scheduler.step()` within a step adds to a Python number and computes the rate from it: each call of the program would
be the first. Outside of the step a scheduler changes a rate that is a tensor in place, and the program reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from dynamo_lite.features.training import numbers
from dynamo_lite.run.finished_run import FinishedRun
from dynamo_lite.tracing.interfaces import TracerView


def judge(run: FinishedRun, optimizers: Callable[[FinishedRun], Sequence[Optimizer]]) -> None:
    """Refuse a scheduler that the step has moved on, in the words that help; other Python state has its own."""
    if run.request.earlier is not None:
        return
    for change in run.effects.pending:
        if isinstance(change.owner, LRScheduler):
            kind = type(change.owner).__qualname__
            error = run.tracer.graph_break("scheduler-step", change.mark, scheduler=kind)
            numbers.hold(run, optimizers(run), error)
            text = f"{kind}.step() counts in Python numbers; the program does not"
            if not run.request.drops and not run.tracer.lets_pass(text):
                raise error
            run.refused_effects.append(error)
            return


def note_rates(tracer: TracerView, optimizer: Optimizer) -> None:
    """Note the learning rates that are constants of the program."""
    rates = dict.fromkeys(str(group["lr"]) for group in optimizer.param_groups if type(group.get("lr")) is float)
    if rates:
        kind = type(optimizer).__qualname__
        tracer.note(
            f"the learning rate of {kind} ({', '.join(rates)}) is a constant of the program; one that is a tensor "
            "(lr=torch.tensor(...)) is read in each call"
        )
