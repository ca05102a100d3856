"""Rounds that add to lists: `outs.append(y)`, then `torch.stack(outs)`, or `if y.sum() > 0: outs.append(y)`."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from dynamo_lite.capture.graph.level import Level
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.grown import NUMBERS, Added, Earlier, GrownList
from dynamo_lite.control_flow.reachable import is_held
from dynamo_lite.control_flow.states import Side, State, cannot_merge
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor


class Item(NamedTuple):
    """One item that each round adds. may_lack: there are two tensors, the second says whether the item is there.
    numbers: int or float of a number, None of a tensor."""

    may_lack: bool
    numbers: type | None


class Growth(NamedTuple):
    """A list that rounds add to. stand_in: the list in a round, None in the first; added: the tensors of what the round
    added, and items: what these are."""

    owner: list[Any]
    stand_in: GrownList | None
    added: list[torch.Tensor]
    items: tuple[Item, ...] = ()


def growths_of(tracer: Forking, frame: Any, side: Side) -> list[Growth]:
    """The lists that the first round adds tensors to; they are taken out of what the side changed."""
    found = []
    for key, (snapshot, contents) in list(side.heap.items()):
        before = snapshot.contents
        if snapshot.part != "items" or type(before) is not list or type(snapshot.owner) not in (list, GrownList):
            continue
        added = contents[len(before) :]
        if not added or len(contents) < len(before) or any(a is not b for a, b in zip(before, contents)):
            continue
        tensors, items = _as_tensors(tracer, side.level, added)
        if is_held(tracer, frame, snapshot.owner) or tracer.writes.is_old(snapshot.owner):
            why = "a list to which each round of a loop adds is held by more than variables of the loop's function"
            cannot_merge("branch-unsupported", why=why)
        found.append(Growth(snapshot.owner, None, tensors, items))
        del side.heap[key]
    return found


def _as_tensors(tracer: Forking, level: Level, added: list[Any]) -> tuple[list[torch.Tensor], tuple[Item, ...]]:
    """What a round added, as tensors that an operator gives for each round."""
    tensors: list[torch.Tensor] = []
    items = []
    with tracer.recorder.levels.resumed(level):
        for part in added:
            if is_tensor(part):
                tensors.append(part)
                items.append(Item(False, None))
            elif type(part) is Added:
                rows, flags = part.rows(tracer)
                if flags is None:
                    flags = torch.ones(rows.shape[:1], dtype=torch.bool)
                tensors += [rows, flags.to(torch.float32)]  # as in unlike.py
                items.append(Item(True, part.numbers))
            elif type(part) in NUMBERS:
                kind, dtype = NUMBERS[type(part)]
                tensors.append(torch.full((), part, dtype=dtype))
                items.append(Item(False, kind))
            else:
                why = "each round of a loop adds to a list what is neither a tensor nor a number"
                cannot_merge("branch-unsupported", why=why)
    return tensors, tuple(items)


def entered(tracer: Forking, frame: Any, growths: list[Growth]) -> list[Growth]:
    """A round begins: the variables hold stand-ins for the lists."""
    made = [Growth(growth.owner, GrownList(tracer, [Earlier()]), []) for growth in growths]
    replace(frame, {id(growth.owner): growth.stand_in for growth in made})
    return made


def left(tracer: Forking, level: Level, growths: list[Growth]) -> list[Growth]:
    """A round is over: what it added."""
    found = []
    for growth in growths:
        assert growth.stand_in is not None
        tensors, items = _as_tensors(tracer, level, growth.stand_in.parts()[1:])
        found.append(growth._replace(added=tensors, items=items))
    return found


def replace(frame: Any, by: dict[int, Any]) -> None:
    """Put other objects into the variables, and on the stack, by the ids of what is there."""
    for values in (frame.locals, frame.stack):
        values[:] = [by.get(id(value), value) for value in values]


def grown(tracer: Forking, frame: Any, growths: list[Growth], tensors: list[torch.Tensor]) -> None:
    """The loop is over: give the lists what all rounds added. tensors: one for each tensor that a round added."""
    by: dict[int, Any] = {}
    for growth in growths:
        count = len(growth.added)
        rows, tensors = tensors[:count], tensors[count:]
        tracer.journal.touch(growth.owner, "items")
        list.extend(growth.owner, _parts(growth.items, rows))
        if type(growth.owner) is not GrownList:
            by[id(growth.owner)] = GrownList(tracer, growth.owner, growth.owner)
    replace(frame, by)


def _parts(items: tuple[Item, ...], tensors: list[torch.Tensor]) -> list[Added]:
    """What the rounds added to one list."""
    rows = iter(tensors)
    made: list[torch.Tensor] = []
    flags: list[torch.Tensor | None] = []
    for item in items:
        made.append(next(rows))
        flags.append(next(rows) > 0.5 if item.may_lack else None)
    kinds = {item.numbers for item in items}
    if len(kinds) > 1:
        cannot_merge("branch-unsupported", why="rounds of a loop add numbers and tensors to one list")
    return [Added(made, flags, kinds.pop())]


class HasToGrow(BaseException):
    """What began with the state `base` is to be run again, with a GrownList in the place of `owner`."""

    def __init__(self, owner: list[Any], base: State) -> None:
        super().__init__()
        self.owner, self.base = owner, base


def grown_on_one(base: State, pairs: list[tuple[Any, Any]]) -> list[Any] | None:
    """A list of `base` for which one of two states has a GrownList, and the other the list or another GrownList.

    pairs: the values of both at the same places.
    """
    for one, other in pairs:
        for mine, theirs in ((one, other), (other, one)):
            origin = mine.origin if type(mine) is GrownList else None
            same = theirs is origin or (type(theirs) is GrownList and theirs.origin is origin)
            if mine is not theirs and origin is not None and same and holds(base, origin):
                return origin
    return None


def holds(base: State, owner: list[Any]) -> bool:
    """Whether a variable or the stack of a state holds a list."""
    return any(value is owner for value in (*base.locals, *base.stack))


def make_grown(tracer: Forking, base: State, owner: list[Any]) -> None:
    """Put a GrownList into `base` in the place of a list."""
    replace(base, {id(owner): GrownList(tracer, list(owner), owner)})
