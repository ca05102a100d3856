"""Iterations that append to lists: `outs.append(y)`, then `torch.stack(outs)`, or `if y.sum() > 0: outs.append(y)`."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import torch

from dynamo_lite.capture.graph.level import Level
from dynamo_lite.control_flow.emission import note_list
from dynamo_lite.control_flow.facts import facts_of
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists import ragged
from dynamo_lite.control_flow.lists.grown import GrownList
from dynamo_lite.control_flow.lists.holders import can_replace, replace_everywhere
from dynamo_lite.control_flow.lists.parts import NUMBERS, Added, Earlier
from dynamo_lite.control_flow.lists.ragged import Lengths, Ragged
from dynamo_lite.control_flow.states import Base, BeginsAgain, Side, cannot_merge
from dynamo_lite.control_flow.wide_integers import as_tensor
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_HELD = "a list whose length depends on the data is held by an object of C, or by one with too many others around it"
_RAGGED_LACK = "iterations of a loop add tensors of different lengths to a list, or none"
_NO_ITEM = "each iteration of a loop adds to a list an object that is neither a tensor nor a number"


class Item(NamedTuple):
    """One item that each iteration adds. may_lack: there are two tensors; the second is 1 if the item is present.
    numbers: int or float for a number, None for a tensor. if_goes: it is absent only if the iteration leaves the loop.
    ragged: how its length varies between iterations; then there are two tensors, too."""

    may_lack: bool
    numbers: type | None
    if_goes: bool = False
    ragged: Ragged | None = None


class Growth(NamedTuple):
    """A list that iterations append to. added: the tensors of one iteration's items; items: their descriptions. last:
    the last item after the iteration; MISSING if it may be absent. earlier: the placeholder for the earlier items, in
    an iteration that is run on fake tensors."""

    owner: GrownList
    added: list[torch.Tensor]
    items: tuple[Item, ...]
    last: Any
    earlier: Earlier | None = None

    def last_before(self) -> Any:
        """The last item before the loop. Raises CannotMerge if there may be none."""
        parts = self.owner.parts()
        if parts and type(parts[-1]) is Added:
            return self.owner[-1]
        if not parts or type(parts[-1]) is Earlier:
            cannot_merge("branch-unsupported", why="an iteration uses the last item of a list that may be empty")
        return parts[-1]


class ItemsDiffer(BeginsAgain):
    """In a later iteration an item may be absent that the first always adds. if_goes: only in the last iteration."""

    def __init__(self, if_goes: bool) -> None:
        super().__init__()
        self.if_goes = if_goes


class Later(NamedTuple):
    """How the items of later iterations differ from the first. lack: they may be absent; ragged: how long they are; at:
    the iteration number, as a symbolic size; count: the number of all iterations, if it is known."""

    lack: ItemsDiffer | None
    ragged: ragged.Known
    at: Any = None
    count: Any = None


def growths_of(tracer: Forking, side: Side, later: Later) -> list[Growth]:
    """Remove lists that the first iteration appends to from the side's changes; return them. Raises HasToGrow."""
    found, plain = [], []
    for key, (snapshot, contents) in list(side.heap.items()):
        before, owner = snapshot.contents, snapshot.owner
        if snapshot.part != "items" or type(before) is not list or type(owner) not in (list, GrownList):
            continue
        added = contents[len(before) :]
        if not added or len(contents) < len(before) or any(a is not b for a, b in zip(before, contents)):
            continue
        if type(owner) is list:
            plain.append(owner)
            continue
        made = _as_tensors(tracer, side, owner, added, later)
        found.append(Growth(owner, *made, _last(tracer, side.level, added)))
        del side.heap[key]
    if plain:
        if any(map(tracer.writes.is_old, plain)):
            why = "each iteration of a loop adds to a list that is older than the program's run"
            cannot_merge("branch-unsupported", why=why)
        _check_items(plain, side)
        has_to_grow(tracer, plain)
    return found


def _check_items(plain: list[list[Any]], side: Side) -> None:
    for owner in plain:
        snapshot, contents = side.heap[id(owner), "items"]
        for part in contents[len(snapshot.contents) :]:
            if not (is_tensor(part) or type(part) is Added or type(part) in NUMBERS):
                cannot_merge("branch-unsupported", why=_NO_ITEM)


def _as_tensors(
    tracer: Forking, side: Side, owner: GrownList, added: list[Any], later: Later
) -> tuple[list[torch.Tensor], tuple[Item, ...]]:
    """Return an iteration's items as tensors that an operator returns for each iteration. Raises RaggedItems."""
    tensors: list[torch.Tensor] = []
    items, lack = [], later.lack
    with tracer.recorder.levels.resumed(side.level), facts_of(tracer, side):
        for index, part in enumerate(added):
            made, item = _as_item(tracer, part)
            if type(part) is Added:
                made = ragged.evened(tracer, side, made[0], made[1], later.at, later.count)
            known = later.ragged.get((id(owner), index))
            if known is not None and is_tensor(part):
                made, item = known.padded(tracer, part), item._replace(ragged=known)
            elif is_tensor(part):
                ragged.check(tracer, side, owner, index, part, later.at, later.count)
            if lack is not None and item.ragged is not None:
                cannot_merge("branch-unsupported", why=_RAGGED_LACK)
            if lack is not None and not item.may_lack:
                made, item = [made[0].unsqueeze(0), torch.ones((1,))], Item(True, item.numbers)
            if lack is not None:
                item = item._replace(if_goes=lack.if_goes)
            tensors += made
            items.append(item)
    return tensors, tuple(items)


def _as_item(tracer: Forking, part: Any) -> tuple[list[torch.Tensor], Item]:
    if is_tensor(part):
        return [part], Item(False, None)
    if type(part) is Added:
        rows, flags = part.rows(tracer)
        if flags is None:
            flags = torch.ones(rows.shape[:1], dtype=torch.bool)
        return [rows, flags.to(torch.float32)], Item(True, part.numbers, part.if_goes)  # floats as in unequal.py
    if type(part) in NUMBERS:
        kind, dtype = NUMBERS[type(part)]
        return [as_tensor(tracer, part, dtype)], Item(False, kind)
    cannot_merge("branch-unsupported", why=_NO_ITEM)


def _last(tracer: Forking, level: Level, items: list[Any]) -> Any:
    """Return the last item, if there is another iteration."""
    part = items[-1]
    if type(part) is not Added:
        return part
    if not part.if_goes:
        return MISSING
    with tracer.recorder.levels.resumed(level):
        item = part.tensors[-1][0][-1]
        return item if part.numbers is None else tracer.predicates.item(item)


def entered(tracer: Forking, growths: list[Growth], passed: Any, lasts: dict[int, Any]) -> None:
    """Hide the items of earlier iterations, at the beginning of one. passed: how many iterations there were, if known.
    lasts: the last item of a list, by its id, if it is carried."""
    for growth in growths:
        tracer.journal.touch(growth.owner, "items")
        length = growth.owner.certain_length() if passed is not None else None
        if length is not None:
            lacks = any(item.may_lack and not item.if_goes for item in growth.items)
            length = None if lacks else length + len(growth.items) * passed
        earlier = Earlier(length, lasts.get(id(growth.owner), MISSING), growth.owner.parts())
        list.__setitem__(growth.owner, slice(None), [earlier])


def left(tracer: Forking, side: Side, growths: list[Growth], later: Later) -> list[Growth]:
    """Remove an iteration's additions from the side's changes and return them. Raises ItemsDiffer, RaggedItems."""
    found, lack = [], later.lack
    for growth in growths:
        _, contents = side.heap.pop((id(growth.owner), "items"))
        if not contents or type(contents[0]) is not Earlier:
            cannot_merge("branch-unsupported", why="an iteration changes items that earlier iterations added to a list")
        added, earlier = contents[1:], contents[0]
        last = _last(tracer, side.level, added) if added else earlier.last
        made = Growth(growth.owner, *_as_tensors(tracer, side, growth.owner, added, later), last, earlier)
        if_goes = all(part.if_goes for part in added if type(part) is Added)  # one item then, and there
        if made.items != growth.items or (lack is not None and lack.if_goes and not if_goes):
            if len(made.items) != len(growth.items) or (lack is not None and lack.if_goes == if_goes):
                cannot_merge("branch-unsupported", why="iterations of a loop add items of different kinds to a list")
            raise ItemsDiffer(if_goes)
        found.append(made)
    return found


def grown(tracer: Forking, growths: list[Growth], tensors: list[torch.Tensor]) -> None:
    """Give the lists the items of all iterations. tensors: one for each tensor that an iteration added."""
    for growth in growths:
        count = len(growth.added)
        rows, tensors = tensors[:count], tensors[count:]
        tracer.journal.touch(growth.owner, "items")
        for tensor in rows:
            note_list(tracer, tensor)
        list.extend(growth.owner, _parts(growth.items, rows))


def _parts(items: tuple[Item, ...], tensors: list[torch.Tensor]) -> list[Added]:
    """Return the items that the iterations added to one list."""
    rows = iter(tensors)
    made: list[torch.Tensor] = []
    flags: list[torch.Tensor | None] = []
    lengths: list[Lengths | None] = []
    for item in items:
        made.append(next(rows))
        flags.append(next(rows) > 0.5 if item.may_lack else None)
        lengths.append(Lengths(item.ragged, next(rows)) if item.ragged is not None else None)
    kinds = {item.numbers for item in items}
    if len(kinds) > 1:
        cannot_merge("branch-unsupported", why="iterations of a loop add numbers and tensors to one list")
    return [Added(made, flags, kinds.pop(), lengths=lengths)]


class HasToGrow(BeginsAgain):
    """The construct that began with `base` is to be run again, with a GrownList in place of each of `owners`."""

    def __init__(self, base: Base, owners: list[list[Any]]) -> None:
        super().__init__()
        self.base, self.owners = base, owners

    def make_grown(self, tracer: Forking) -> list[tuple[list[Any], GrownList]]:
        """Put them there. Returns what has been put in whose place."""
        made = [(owner, GrownList(tracer, list(owner))) for owner in self.owners]
        for owner, grown in made:
            if not replace_everywhere(tracer, owner, grown):
                tracer.refuse("branch-unsupported", why=_HELD)
        return made


def has_to_grow(tracer: Forking, owners: list[list[Any]]) -> NoReturn:
    """Begin again where the first of the lists was there. Raises HasToGrow."""
    if not all(can_replace(tracer, owner) for owner in owners):
        cannot_merge("branch-unsupported", why=_HELD)
    base = next(base for base in tracer.bases if any(base.point.is_older(owner) for owner in owners))
    raise HasToGrow(base, [owner for owner in owners if base.point.is_older(owner)])
