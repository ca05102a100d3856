"""Tensors that show the memory of something else: torch.from_numpy(array), torch.frombuffer(bytes), torch.asarray(x).

The program holds their value as a constant. Changing the tensor would change the array, and the other way round, which
no program does: both are refused. Where the memory is that of a registered tensor (`self.a = self.b.numpy()`), such a
tensor is a view of it in the program; reading it through Python is refused, since the tensor may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from dynamo_lite.capture.overlap import Extent
from dynamo_lite.capture.stand_ins import storage_key
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.tracing import memory
from dynamo_lite.tracing.kinds import is_tensor

if TYPE_CHECKING:
    from dynamo_lite.tracing.tracer import Tracer


def call_shared(tracer: Tracer, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function that may return a tensor on the memory of its first argument."""
    source = args[0] if args else next(iter(kwargs.values()), None)
    if not memory.is_memory(source):
        return NOT_HANDLED
    result = fn(*args, **kwargs)
    if is_tensor(result):
        _note_copy(tracer, source, result)
        tracer.recorder.protect(result)
        tracer.writes.shown.update((id(owner), owner) for owner in memory.owners(source))
    return result


def _note_copy(tracer: Tracer, source: Any, result: torch.Tensor) -> None:
    """Remember that the call has read `source`, unless the result is a view of registered memory."""
    if storage_key(tracer.recorder.lift(result)) not in tracer.recorder.shared_views.storages:
        tracer.reads.memory_of(source)


def check(tracer: Tracer) -> None:
    """Refuse a program that has read the memory of a parameter or buffer through Python. Raises a GraphBreak."""
    for (start, stop), site in tracer.reads.memory.items():
        registered = tracer.recorder.shared_views.registered_at(Extent(torch.device("cpu"), start, stop))
        if registered is not None:
            other = f"the {registered.kind.value} {registered.fqn}"
            mark = None if site is None else (site,)
            target = "an array or another buffer of Python"
            raise tracer.refusal("constant-shares-memory", mark, target=target, other=other)


def table() -> dict[int, Any]:
    """id(function) → rule."""
    return {id(fn): call_shared for fn in (torch.from_numpy, torch.frombuffer, torch.asarray, torch.as_tensor)}
