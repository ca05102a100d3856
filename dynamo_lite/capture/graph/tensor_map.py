"""Maps tensors to the graph nodes that represent them, by identity.

Tensors are held weakly. That is not only for memory: `torch.zeros(2)` makes a shallow copy of the tensor that the
dispatch mode saw unless nothing else holds it (make_variable in torch/csrc/autograd/variable.h), and the copy would be
unknown. torch keeps the Python object of a tensor alive as long as C++ holds the tensor, so an id is not reused early.
"""

from __future__ import annotations

import weakref

import torch
from torch import fx


def _layout(tensor: torch.Tensor) -> tuple[object, ...]:
    storage = tensor.untyped_storage()._cdata
    place = tensor.shape, tensor.stride(), tensor.storage_offset()
    return storage, tensor.dtype, *place, tensor.requires_grad, tensor.is_conj(), tensor.is_neg()


class _TensorRef(weakref.ref[torch.Tensor]):
    """The key of a tensor, whose entry goes when the tensor dies. No closure: there is one for each operator."""

    __slots__ = ("entries", "key")
    entries: dict[int, tuple[_TensorRef, fx.Node]]
    key: int


def _forget(dead: _TensorRef) -> None:
    entry = dead.entries.get(dead.key)
    if entry is not None and entry[0] is dead:
        del dead.entries[dead.key]


class TensorMap:
    """`{tensor: node}` by identity, weak in the tensors."""

    def __init__(self) -> None:
        self.entries: dict[int, tuple[_TensorRef, fx.Node]] = {}
        """id of a tensor → (a reference to it, its node)"""

    def __setitem__(self, tensor: torch.Tensor, node: fx.Node) -> None:
        key = id(tensor)
        known = self.entries.get(key)
        if known is not None:  # an in-place operator: the tensor's newest node wins
            self.entries[key] = (known[0], node)
            return
        reference = _TensorRef(tensor, _forget)
        reference.entries, reference.key = self.entries, key
        self.entries[key] = (reference, node)

    def get(self, tensor: torch.Tensor) -> fx.Node | None:
        entry = self.entries.get(id(tensor))
        return None if entry is None else entry[1]

    def node_of_copy(self, tensor: torch.Tensor) -> fx.Node | None:
        """The node of a tensor that is another name for the same memory, in the same layout."""
        if tensor.layout is not torch.strided:
            return None
        for reference, node in self.entries.values():
            other = reference()
            if other is not None and other.layout is torch.strided and _layout(other) == _layout(tensor):
                return node
        return None

    def __contains__(self, tensor: torch.Tensor) -> bool:
        return id(tensor) in self.entries

    def __len__(self) -> int:
        return len(self.entries)
