"""The contents of a list of unknown length: items, and those that iterations of a loop or sides of a branch added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from dynamo_lite.control_flow.emission import note_shared
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.ragged import RAGGED, Lengths

UNLIKE = "a list whose length depends on the data is used, and its items are not all of one {}"
NUMBERS: dict[type, tuple[type, torch.dtype]] = {
    int: (int, torch.int64), torch.SymInt: (int, torch.int64),
    float: (float, torch.float64), torch.SymFloat: (float, torch.float64),
}  # fmt: skip
"""Types of numbers in such a list: (the program's type, that of a tensor that holds them)."""


class Rows(NamedTuple):
    """Items of a list along a first dimension, some of which are not there where `flags` (bools) are false."""

    tensor: torch.Tensor
    flags: torch.Tensor | None


class Earlier:
    """The items of a list before the current iteration.

    certain_length: how many items; None if that is not known. last: the last of them; MISSING if the loop does not
    carry it. first: those from before the loop.
    """

    def __init__(self, certain_length: Any, last: Any, first: list[Any]) -> None:
        self.certain_length, self.last, self.first = certain_length, last, first


class Added:
    """Items that iterations added, or one side of a branch.

    tensors: one for each `append` of an iteration; its first dimension is the iterations (of a side: 1). flags: for
    each of them None, or a bool tensor that is True for the items that are present; then both have the items of one
    iteration as their second dimension. numbers: int or float if the items are such numbers, else None. if_goes:
    whether it is one item that is present unless the current iteration leaves its loop. lengths: for each of the
    tensors None, or the lengths of its items (ragged.py).
    """

    def __init__(
        self,
        tensors: list[torch.Tensor],
        flags: list[torch.Tensor | None] | None = None,
        numbers: type | None = None,
        if_goes: bool = False,
        lengths: Sequence[Lengths | None] = (),
    ) -> None:
        self.tensors, self.lengths = tensors, lengths
        self.flags = flags if flags is not None else [None] * len(tensors)
        self.numbers, self.if_goes = numbers, if_goes

    @property
    def is_certain(self) -> bool:
        """Whether all items are there."""
        return all(flags is None for flags in self.flags)

    @property
    def certain_length(self) -> Any:
        """How many items these are; None if some may not be there."""
        return self.tensors[0].shape[0] * len(self.tensors) if self.is_certain else None

    @property
    def are_ragged(self) -> bool:
        """Whether items differ in length."""
        return any(lengths is not None for lengths in self.lengths)

    def rows(self, tracer: Forking) -> Rows:
        """The items in order."""
        if self.are_ragged:
            tracer.refuse("branch-unsupported", why=RAGGED)
        if len(self.tensors) == 1 and self.is_certain:
            return Rows(self.tensors[0], None)
        wide = [t if f is not None else t.unsqueeze(1) for t, f in zip(self.tensors, self.flags)]
        check_alike(tracer, [(t.dtype, t.shape[2:]) for t in wide])
        whole = (torch.cat(wide, 1) if len(wide) > 1 else wide[0]).flatten(0, 1)
        note_shared(tracer, whole, self.tensors)
        if self.is_certain:
            return Rows(whole, None)
        count = self.tensors[0].shape[0]
        marks = [f if f is not None else torch.ones((count, 1), dtype=torch.bool) for f in self.flags]
        return Rows(whole, (torch.cat(marks, 1) if len(marks) > 1 else marks[0]).flatten(0, 1))

    def backwards(self, tracer: Forking) -> Added:
        """The items in the other order. They are those of the list in eager, and copies here."""
        if self.is_certain and not self.are_ragged:
            flipped = [tensor.flip(0) for tensor in reversed(self.tensors)]
            for tensor in flipped:
                note_shared(tracer, tensor, self.tensors)
            return Added(flipped, numbers=self.numbers)
        rows, flags = self.rows(tracer)
        assert flags is not None
        turned = rows.flip(0).unsqueeze(0)
        note_shared(tracer, turned, self.tensors)
        return Added([turned], [flags.flip(0).unsqueeze(0)], self.numbers)


def check_alike(tracer: Forking, items: list[tuple[torch.dtype, torch.Size]]) -> None:
    """Items are to be rows of one tensor: (dtype, shape) of each."""
    shapes = [[n if type(n) is int else None for n in shape] for _, shape in items]
    if any(len(one) != len(shapes[0]) or not all(map(_may_equal, one, shapes[0])) for one in shapes):
        tracer.refuse("branch-unsupported", why=UNLIKE.format("shape"))
    if len({dtype for dtype, _ in items}) > 1:
        tracer.refuse("branch-unsupported", why=UNLIKE.format("dtype"))


def _may_equal(one: int | None, other: int | None) -> bool:
    """Whether two sizes may be one; None: known at run time only."""
    return one is None or other is None or one == other
