"""Decides whether state lost by a container's flatten/unflatten functions affects the program.

The run gets the container that the registered unflatten function makes, eager the user's own. A second trace, in which
the container has the user's value, decides: the program may be the same with either. `DynamicCache()` of transformers
stores the class of the layers that it will add; the one that is made of its tensors adds none, and needs none.
"""

from __future__ import annotations

from dataclasses import replace

from dynamo_lite.errors import InternalError
from dynamo_lite.run.finished_run import conditions
from dynamo_lite.run.run import Run, traced
from dynamo_lite.tracing.effects.missing_parts import MissingPart
from dynamo_lite.tracing.effects.rebuilt_arguments import words_of


def settle_lost_state(run: Run) -> None:
    """Raises the graph break for a read of lost state, if the program is another one with the user's value."""
    if not run.lost_reads:
        return
    parts = tuple(part for part, _ in run.lost_reads)
    if not _is_same(run, parts):
        raise run.lost_reads[0][1]
    for part in parts:
        words = words_of(run.inputs, (*part.path, part.key))
        run.tracer.note(f"{words} is {part.old} in the argument and {part.new} in what the program gets; it is read, "
                        "and the program is the same with either")  # fmt: skip


def _is_same(first: Run, parts: tuple[MissingPart, ...]) -> bool:
    """Whether the program is the same where the run's containers have these parts as the user's."""
    if first.effects.pending:
        return False  # the second trace would begin in the state that they leave
    prints = first.fingerprint()
    request = replace(first.request, memory=first.recorder.memory, earlier=prints, drops=False, prepared=None)
    request = replace(request, put_back=parts)
    try:
        with traced(request) as second:
            again = second.fingerprint(prints)
            if prints.program(first.outputs.values) != again.program(second.outputs.values):
                return False
            if first.outputs.spec != second.outputs.spec or again.changes_carried() or second.effects.pending:
                return False
            return conditions(first) == conditions(second)
    except InternalError:
        raise  # a bug of ours
    except Exception:
        return False  # the graph break of the first trace has the reason
