"""Sides of a branch that append different numbers of items to a list: `if row.sum() > 0: keep.append(row)`.

Each item becomes an optional one of the merged list: the tensor, or zeros if the side was not taken, and a bool tensor
that is True if the item is present. A size that only run time knows is 0 there: the boxes of a class that has some.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from dynamo_lite.control_flow.emission import is_unknown
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.grown import GrownList
from dynamo_lite.control_flow.lists.growth import has_to_grow
from dynamo_lite.control_flow.lists.holders import can_replace
from dynamo_lite.control_flow.lists.parts import NUMBERS, Added
from dynamo_lite.control_flow.merge import Merge, Plan
from dynamo_lite.control_flow.places import HeapPlan
from dynamo_lite.control_flow.states import Side
from dynamo_lite.control_flow.wide_integers import as_tensor
from dynamo_lite.tracing.heap.snapshots import Snapshot
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


def plan_list(tracer: Forking, merge: Merge, sides: tuple[Side, Side], snapshot: Snapshot) -> HeapPlan | None:
    """The merge of a list to which two sides have added different items; None if it is for places.py. Raises
    HasToGrow."""
    owner, before = snapshot.owner, snapshot.contents
    if snapshot.part != "items" or type(owner) not in (list, GrownList):
        return None
    key = id(owner), snapshot.part
    states = [side.heap[key][1] if key in side.heap else before for side in sides]
    if any(len(now) < len(before) or any(a is not b for a, b in zip(before, now)) for now in states):
        return None
    one, other = (now[len(before) :] for now in states)
    if len(one) == len(other) and not any(type(item) is Added for item in (*one, *other)):
        return None
    if not all(map(_can_lack, (*one, *other))):
        return None
    if type(owner) is list:
        if tracer.writes.is_old(owner) or not can_replace(tracer, owner):
            return None
        has_to_grow(tracer, [owner])
    merge.place = "in a list"
    parts = [_lacking(tracer, merge, item, sides, 0) for item in one]
    parts += [_lacking(tracer, merge, item, sides, 1) for item in other]
    return HeapPlan(snapshot, lambda: [*before, *(part() for part in parts)])


def _can_lack(item: Any) -> bool:
    """Whether the other side can give something in the place of an item."""
    if type(item) is Added:
        return all(_can_lack(tensor) and not is_unknown(tensor.shape[0]) for tensor in item.tensors)
    return item.layout is torch.strided if is_tensor(item) else type(item) in NUMBERS


def _lacking(tracer: Forking, merge: Merge, item: Any, sides: tuple[Side, Side], which: int) -> Plan:
    """An item that is there on side `which` alone."""
    levels, numbers, is_one = tracer.recorder.levels, None, type(item) is not Added
    if_goes = sides[which].left_at is None and sides[1 - which].left_at is not None
    if_goes = if_goes and (is_one or item.if_goes)
    with levels.resumed(sides[which].level):
        flags = None
        if not is_one:
            numbers = item.numbers
            item, flags = item.rows(tracer)
        elif not is_tensor(item):
            numbers, dtype = NUMBERS[type(item)]
            item = as_tensor(tracer, item, dtype)
        count = () if is_one else item.shape[:1]
        present = torch.ones(count, dtype=torch.float32) if flags is None else flags.to(torch.float32)
    with levels.resumed(sides[1 - which].level):
        filler = torch.zeros(
            [0 if is_unknown(size) else size for size in item.shape], dtype=item.dtype, device=item.device
        )
        absent = torch.zeros(count, dtype=torch.float32)
    # Floats, since torch's cond has a gradient where all that it gives has.
    order: Callable[[Any, Any], tuple[Any, Any]] = (lambda a, b: (a, b)) if which == 0 else (lambda a, b: (b, a))
    value, mark = merge.pair("tensor", *order(item, filler)), merge.pair("tensor", *order(present, absent))
    outer = (None, None) if is_one else (None,)
    return lambda: Added([value()[outer]], [(mark() > 0.5)[outer]], numbers, if_goes)
