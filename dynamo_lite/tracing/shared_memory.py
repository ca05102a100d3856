"""Tensors that show the memory of something else: torch.from_numpy(array), torch.frombuffer(bytes), torch.asarray(x).

The program holds their value as a constant. Changing the tensor would change the array, and the other way round, which
no program does: both are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

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
        tracer.recorder.protect(result)
        tracer.writes.shown.update((id(owner), owner) for owner in memory.owners(source))
    return result


def table() -> dict[int, Any]:
    """id(function) → rule."""
    return {id(fn): call_shared for fn in (torch.from_numpy, torch.frombuffer, torch.asarray, torch.as_tensor)}
