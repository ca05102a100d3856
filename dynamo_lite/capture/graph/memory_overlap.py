"""The memory ranges of tensors, and the registered tensor with which an unregistered one shares memory.

Storages do not suffice: a numpy array's memory, or memory passed through DLPack, gets a new storage for each tensor
made of it. Addresses do. A tensor without memory (meta, fake) has an address derived from its storage.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

import torch

from dynamo_lite.capture._torch import FakeTensor
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.fakes.wrapper_subclasses import is_wrapper
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction

T = TypeVar("T")


class Extent(NamedTuple):
    """The bytes from a tensor's first element to the end of its last."""

    device: torch.device
    start: int
    stop: int

    def contains(self, other: Extent) -> bool:
        return self.device == other.device and self.start <= other.start and other.stop <= self.stop


def extent(tensor: torch.Tensor) -> Extent | None:
    """The memory range of a tensor; None for one without elements, or without strided memory."""
    if tensor.layout is not torch.strided or is_wrapper(tensor) or tensor.is_nested:
        return None
    with DisableTorchFunction():
        if not tensor.numel():
            return None
        size = tensor.element_size()
        if isinstance(tensor, FakeTensor) or tensor.is_meta:
            start = (storage_key(tensor) << 64) + int(tensor.storage_offset()) * size
        else:
            start = tensor.const_data_ptr()  # type: ignore[attr-defined]
        span = 1 + sum((int(n) - 1) * int(s) for n, s in zip(tensor.shape, tensor.stride()))
    return Extent(tensor.device, start, start + span * size)


class MemoryMap(Generic[T]):
    """`{memory of a tensor: entry}`. Finds the entries whose memory overlaps another tensor's."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, Extent, T]] = []  # by start address; extents may overlap
        self._longest = 0
        self._sorted = True

    def add(self, where: Extent, entry: T) -> None:
        self._rows.append((where.start, len(self._rows), where, entry))
        self._longest = max(self._longest, where.stop - where.start)
        self._sorted = False

    def update(self, entries: Iterable[tuple[torch.Tensor, T]]) -> None:
        for tensor, entry in entries:
            where = extent(tensor)
            if where is not None:
                self.add(where, entry)

    def overlapping(self, where: Extent) -> list[tuple[Extent, T]]:
        """The entries with a byte in `where`, in the order in which they were added."""
        if not self._sorted:
            self._rows.sort(key=lambda row: row[:2])
            self._sorted = True
        found = []
        at = bisect_left(self._rows, (where.start - self._longest,))
        while at < len(self._rows) and self._rows[at][0] < where.stop:
            _, number, other, entry = self._rows[at]
            if other.stop > where.start and other.device == where.device:
                found.append((number, other, entry))
            at += 1
        return [(other, entry) for _, other, entry in sorted(found, key=lambda row: row[0])]
