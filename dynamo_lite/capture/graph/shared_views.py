"""Unregistered tensors on the memory of a registered one: `self.v = self.w[0]`, `w.data`, a flat parameter's pieces,
`torch.from_numpy(b.numpy())`.

As constants they would keep their value when the program, or its user, changes the parameter or buffer (and lose its
gradients). So they are recorded as views of its placeholder. If no view operator expresses one, the program is
rejected.
"""

from __future__ import annotations

import torch
from torch import fx

from dynamo_lite.capture._torch import OpOverload
from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.lifting import Lifted, LiftedKind, modes_off, shows_foreign_memory
from dynamo_lite.capture.graph.memory_overlap import Extent, MemoryMap, extent
from dynamo_lite.capture.graph.view_steps import ViewStep, view_steps
from dynamo_lite.capture.interfaces import InputRecording


class SharedViews:
    """The views of one recording. `storages`: the memory of fake tensors that registered tensors share with them."""

    def __init__(self, outside: InputRecording) -> None:
        self.storages: set[int] = set()
        self._outside = outside
        self._memory: MemoryMap[Lifted] = MemoryMap()
        self._known = 0  # how many of `outside.lifted` are in the map

    def registered_at(self, where: Extent) -> Lifted | None:
        """A parameter or buffer with a byte in `where`."""
        return next((lifted for _, lifted in self._at(where) if lifted.kind is not LiftedKind.CONSTANT), None)

    def _at(self, where: Extent) -> list[tuple[Extent, Lifted]]:
        lifted = self._outside.lifted
        if self._known < len(lifted):
            self._memory.update((entry.tensor, entry) for entry in lifted[self._known :])
            self._known = len(lifted)
        return self._memory.overlapping(where)

    def is_alone(self, lifted: Lifted) -> bool:
        """Whether no other tensor that existed before the call and that the program has used shows the memory of this
        one."""
        where = extent(lifted.tensor)
        return where is not None and all(other is lifted for _, other in self._at(where))

    def fake(self, tensor: torch.Tensor, fqn: str | None) -> torch.Tensor | None:
        """A view of the fake tensor that has the memory of `tensor`; None for a tensor with memory of its own.

        Raises CaptureError if it shares a registered tensor's memory in a way that no operator expresses.
        """
        where = extent(tensor)
        if where is None or (tensor.requires_grad and tensor.is_leaf):  # a leaf has gradients of its own
            return None
        found = self._at(where)
        for base, lifted in found:
            is_constant = lifted.kind is LiftedKind.CONSTANT
            if not base.contains(where) or (is_constant and not _may_share(lifted.tensor, tensor)):
                continue
            with modes_off():
                steps = view_steps(lifted.tensor, tensor, where.start - base.start)
            if steps is not None:
                return self._view(tensor, lifted, steps)
        for _, lifted in found:
            if lifted.kind is not LiftedKind.CONSTANT:
                raise graph_break(fqn or "a tensor that existed before the call", lifted)
        return None

    def _view(self, tensor: torch.Tensor, base: Lifted, steps: list[ViewStep]) -> torch.Tensor:
        outside = self._outside
        fake, node = base.fake, base.node
        with outside.levels.outermost():
            for func, args in steps:
                with modes_off(), torch.enable_grad():
                    fake = func(fake, *args)
                node = self._node(func, (node, *args), fake)
        outside.keep += (tensor, fake)
        if base.kind is not LiftedKind.CONSTANT:
            self.storages.add(storage_key(fake))
        return fake

    def _node(self, func: OpOverload, args: tuple[object, ...], fake: torch.Tensor) -> fx.Node:
        node = self._outside.head_node(func, args, func.overloadpacket.__name__)
        self._outside.bind(fake, node)
        return node


def _may_share(base: torch.Tensor, tensor: torch.Tensor) -> bool:
    """Whether one constant may be written as a view of another: not on memory that Python writes to in between."""
    return not (base.requires_grad or tensor.requires_grad or shows_foreign_memory(tensor))


def graph_break(target: str, lifted: Lifted) -> CaptureError:
    """The error for `target`, which shares memory with a registered tensor."""
    names = {"target": target, "other": f"the {lifted.kind.value} {lifted.fqn}"}
    return CaptureError(
        "constant-shares-memory",
        f"{target} shares memory with {names['other']}",
        "read the registered tensor itself, or a clone() of it",
        names,
    )
