"""Tensors on the memory of another object: torch.from_numpy(array), torch.frombuffer(bytes), torch.asarray(x).

The program holds their value as a constant. Changing the tensor would change the array, and vice versa, which no
program does: both are refused. If the memory is that of a registered tensor (`self.a = self.b.numpy()`), such a tensor
is a view of it in the program; reading it through Python is refused, since the tensor may change.
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.memory_overlap import Extent
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_tensors import TensorBase
from dynamo_lite.tracing.heap import shared_buffers
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.tensors.attributes import check_around
from dynamo_lite.tracing.vocabulary.type_tests import is_fake, is_tensor


def call_shared(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function that may return a tensor on the memory of its first argument."""
    source = args[0] if args else next(iter(kwargs.values()), None)
    if not shared_buffers.is_memory(source):
        return NOT_HANDLED
    result = fn(*args, **kwargs)
    if is_tensor(result):
        _note_copy(tracer, source, result)
        tracer.recorder.protect(result)
        tracer.writes.observed_at.update((id(owner), owner) for owner in shared_buffers.owners(source))
    return result


def _note_copy(tracer: TracerView, source: Any, result: torch.Tensor) -> None:
    """Remember that the call has read `source`, unless the result is a view of registered memory."""
    if storage_key(tracer.recorder.lift(result)) not in tracer.recorder.shared_views.storages:
        tracer.reads.memory_of(source)


def check(tracer: TracerView) -> None:
    """Refuse a program that has read the memory of a parameter or buffer through Python. Raises a GraphBreak."""
    for (start, stop), site in tracer.reads.memory.items():
        registered = tracer.recorder.shared_views.registered_at(Extent(torch.device("cpu"), start, stop))
        if registered is not None:
            other = f"the {registered.kind.value} {registered.fqn}"
            mark = None if site is None else (site,)
            target = "an array or another buffer of Python"
            raise tracer.graph_break("constant-shares-memory", mark, target=target, other=other)


def call_exchange(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """from_dlpack(x) and the like: a tensor's memory cannot be handed over (a fake tensor has none, and the exported
    program would continue with the buffer's contents at export); another object's can be used."""
    if any(is_tensor(arg) for arg in (*args, *kwargs.values())):
        tracer.refuse("data-dependent-value", what=f"{fn.__name__}() of a tensor")
    return call_shared(tracer, fn, args, kwargs)


def call_set(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Tensor.set_(source): other memory for a tensor. With a tensor as source it is an operator like others."""
    tensor, source = (*args, None, None)[:2]
    is_outside = is_tensor(tensor) and (not is_fake(tensor) or tracer.recorder.is_input(tensor))
    if is_outside and not is_tensor(source):  # a storage: it runs on the tensor itself
        tracer.refuse("tensor-data-assigned", name="set_()")
    if is_tensor(tensor):
        check_around(tracer, tensor, "gives other memory to a tensor")
    return NOT_HANDLED


def table() -> dict[int, Any]:
    """id(function) → rule."""
    shared = (torch.from_numpy, torch.frombuffer, torch.asarray, torch.as_tensor)
    return {id(TensorBase.set_): call_set, **{id(fn): call_shared for fn in shared}}
