"""A buffer that the program assigns (`self.b = value`): when may the program carry that as a copy into the buffer?

Assigning makes the name mean another tensor; the program copies the value into the tensor that is there. The two are
the same exactly while nothing else shares memory with the old tensor (it would be written to) or, afterwards, with the
new one (a later in-place change would be seen through both names, or through one only).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.interfaces import TracerView


def check_assigned(tracer: TracerView, assigned: dict[str, Change]) -> None:
    """Refuse an assignment (by buffer name) that a copy does not carry. Raises a GraphBreak at the assignment's line.

    The new value may share memory with an input: only the caller's own later writes would show it; a note states this.
    """
    recorder = tracer.recorder
    changed = {name: c for name, c in assigned.items() if recorder.lift(c.new) is not recorder.lift(c.old)}
    if not changed:
        return
    now = dict(_registered(tracer.root))
    before = _memory(tracer, now | {name: c.old for name, c in changed.items()})
    after = _memory(tracer, now)
    own = {id(recorder.lift(tensor)) for tensor in (*now.values(), *(c.old for c in changed.values()))}
    constants = {_storage(entry.fake) for entry in recorder.lifted if id(entry.fake) not in own}
    constants |= recorder.shared_views.storages
    inputs = {_storage(value) for node in recorder.input_nodes if isinstance(value := node.meta["val"], torch.Tensor)}
    for name, change in changed.items():
        if before[name] in inputs | constants | _others(before, name):
            raise tracer.graph_break("shared-buffer-assigned", change.mark, target=name)
        if _is_expanded(change.old):
            raise tracer.graph_break("expanded-buffer-assigned", change.mark, target=name)
        if after[name] in constants | _others(after, name):
            raise tracer.graph_break("buffer-becomes-shared", change.mark, target=name)
        if after[name] in inputs:
            tracer.note(f"the buffer {name} gets a copy of an input; eager would keep the caller's own tensor")


def _is_expanded(tensor: torch.Tensor) -> bool:
    """Whether elements of a tensor share memory with one another, so that nothing can be copied into it."""
    if tensor.layout is not torch.strided:
        return False
    return any(stride == 0 and size != 1 for size, stride in zip(tensor.shape, tensor.stride()))


def _registered(root: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Every parameter and buffer as it is now, one row a place in a module (a module under two names counts once)."""
    if isinstance(root, nn.Module):
        for path, module in root.named_modules():
            for registry in (module._parameters, module._buffers):
                for name, tensor in registry.items():
                    if tensor is not None:
                        yield f"{path}.{name}" if path else name, tensor


def _memory(tracer: TracerView, tensors: dict[str, torch.Tensor]) -> dict[str, int]:
    return {name: _storage(tracer.recorder.lift(tensor)) for name, tensor in tensors.items()}


def _others(storages: dict[str, int], name: str) -> set[int]:
    return {storage for other, storage in storages.items() if other != name}


def _storage(fake: torch.Tensor) -> int:
    """Return a key that is equal for fake tensors that share memory. A sparse tensor has no storage of its own."""
    return int(fake.untyped_storage()._cdata) if fake.layout is torch.strided else id(fake)
