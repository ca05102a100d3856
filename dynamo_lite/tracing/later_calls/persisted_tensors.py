"""Tensors that the first call stores in Python state for later ones: their dependencies, or why they cannot be kept.

The program computes them in each call. Later calls find the same values as long as the parameters and buffers that they
were computed from do not change (capture/comparison/replayed_constants.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dynamo_lite.tracing.effects import descriptions
from dynamo_lite.tracing.effects.rebuilt_containers import is_made_alike
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary import contents
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

if TYPE_CHECKING:
    from dynamo_lite.capture.comparison.fingerprint import Fingerprint


def kept(change: Change) -> Iterator[Any]:
    """The tensors of the run that a change leaves, through containers and objects."""
    values = change.new if type(change.new) in (list, set, tuple) else [change.new]
    for value in values:
        if is_fake(value):
            yield value
        else:
            yield from contents.tensors(value)


def first_refused(tracer: TracerView, changes: Sequence[Change], prints: Fingerprint) -> tuple[Change, str] | None:
    """The first change that leaves a tensor which is not the same in every call, and why it is not."""
    for change in changes:
        for tensor in kept(change):
            shared = state_shared(tensor, prints)
            if shared is not None:
                return change, shared
            origin = prints.origin(tensor)
            if origin is not None and origin.reason is not None:
                return change, origin.reason
    return None


def state_shared(tensor: Any, prints: Fingerprint) -> str | None:
    """Why a tensor that is a buffer's new value as well cannot be kept: it is the buffer's for one call only."""
    name = next((name for name, value in prints.updates.items() if value is tensor), None)
    return None if name is None else f"it is the value that the buffer {name} has until the next call"


def check_shared(changes: Sequence[Change], prints: Fingerprint) -> None:
    """Raises ValueError for a kept tensor that is a buffer's new value: a second trace would take it for the buffer."""
    for change in changes:
        for tensor in kept(change):
            if state_shared(tensor, prints) is not None:
                raise ValueError("a buffer's new value is kept elsewhere as well")


def note(tracer: TracerView, changes: Sequence[Change], prints: Fingerprint, held: bool = False) -> None:
    """Note the values that are set on the first call only, and the state that must not change after it. held: the value
    exists already, for longer inputs (held_tables.py)."""
    for change in changes:
        target = descriptions.describe_target(tracer, change)
        if is_made_alike(change, tracer):
            tracer.note(f"{target} becomes an equal container in each call")
            continue
        names = rests_on(change, prints)
        when = _REPLACED if held else "is set on the first call only"
        tracer.note(f"{target} {when}" + (_ASSUMED.format(", ".join(names)) if names else ""))


def rests_on(change: Change, prints: Fingerprint) -> tuple[str, ...]:
    """The parameters and buffers that the kept tensors were computed from."""
    origins = (prints.origin(tensor) for tensor in kept(change))
    return tuple(dict.fromkeys(name for origin in origins if origin is not None for name in origin.names()))


_REPLACED = "is replaced for longer inputs: the program makes the same values in each call, and reads none loaded later"
_ASSUMED = "; the program computes it in each call, which is the same as long as nothing changes {}"
