"""Flags among the results of a branch: which other results, or outer tensors, each of its tensors is in eager.

    if p:                               # the results of torch.cond have memory of their own
        y = a if q else b               # within: y is `a` where q
    else:
        y = x * 3
    y.add_(1)                           # changes a, b or neither

What a result is depends on the predicates of both branches, and behind the outer one nothing has `q`. So a side also
returns, as a number, whether its tensor is `a`; the other side, that its is not. Where each side knows the answer
(two results that are one new tensor on one side alone), the predicate of the branch is the flag.

This is done in a run that has been shown to need it: a tensor was changed in place that might be another one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.remade_views import RemadeView, remade_view
from dynamo_lite.capture.may_share import SharedPair
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.states import Side
from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.tracing.diagnostics import RunAgain


class ToBeTold(RunAgain):
    """A tensor is changed in place that is another one, or not: the run is made again, with flags."""

    def __init__(self) -> None:
        super().__init__("a tensor is changed in place that is another one, as branches go")

    def changed(self, request: Any) -> Any:
        return replace(request, has_flags=True)


Way = tuple[SharedPair, ...]
"""Pairs all of which have to be one tensor."""
_Pairs = Sequence[tuple[str, Any, Any]]


@dataclass
class _Origins:
    """What a tensor of a side may be in eager: outer tensors, tensors that the side made, each with the ways to it;
    `open`: tensors behind which the conditions are not known."""

    outer: list[tuple[torch.Tensor, Way]] = field(default_factory=list)
    own: list[tuple[torch.Tensor, Way]] = field(default_factory=list)
    open: list[torch.Tensor] = field(default_factory=list)


@dataclass
class Flag:
    """Whether a result is another tensor. other: the number of a result, or an outer tensor. if_all: for each side,
    lists of pairs that make it so if they all are one; any of the lists is enough."""

    result: int
    other: Any
    if_all: tuple[list[Way], list[Way]]

    def answers(self) -> list[bool | None]:
        """The answer on each side; None where it depends on a predicate of the side."""
        return [True if () in ways else None if ways else False for ways in self.if_all]


@dataclass
class Told:
    """The flags of all results, and (result, another one or a tensor) of which the condition is not known. views:
    (result, the view that a side has made of an outer tensor, the truth of that side)."""

    flags: list[Flag]
    open: list[tuple[int, Any]]
    views: list[tuple[int, RemadeView, bool]]

    def returned(self) -> list[Flag]:
        """The flags that the sides have to return."""
        return [flag for flag in self.flags if None in flag.answers()]


def told(tracer: Forking, pairs: _Pairs, sides: tuple[Side, Side]) -> Told:
    """Find what the tensors among `pairs`, the results of two sides, may be."""
    rows = [index for index, (kind, *_) in enumerate(pairs) if kind == "tensor"]
    found = [
        {index: _origins(tracer, side, pairs[index][1 + which]) for index in rows} for which, side in enumerate(sides)
    ]
    flags: list[Flag] = []
    still_open: list[tuple[int, Any]] = []
    views: list[tuple[int, RemadeView, bool]] = []
    for index in rows:
        both = [side[index] for side in found]
        for truth, side, origins, own in zip((True, False), sides, both, pairs[index][1:]):
            for tensor in origins.open:
                is_own = tensor is tracer.recorder.known_fake(own)
                view = remade_view(side.level, tensor) if is_own else None
                if view is None:
                    still_open.append((index, tensor))
                else:
                    views.append((index, view, truth))
        for outer in {id(tensor): tensor for origins in both for tensor, _ in origins.outer}.values():
            one, other = ([way for tensor, way in origins.outer if tensor is outer] for origins in both)
            flags.append(Flag(index, outer, (one, other)))
    for index, later in itertools.combinations(rows, 2):
        shared = [_same(side[index], side[later]) for side in found]
        if any(ways is None for ways in shared):
            still_open.append((index, later))
        elif any(shared):
            flags.append(Flag(index, later, (shared[0] or [], shared[1] or [])))
    return Told(flags, still_open, views)


def _origins(tracer: Forking, side: Side, tensor: Any, before: Sequence[torch.Tensor] = ()) -> _Origins:
    """before: the fake tensors for what an iteration of a loop begins with, which count as outer ones."""
    may_share, levels = tracer.recorder.may_share, tracer.recorder.levels
    assert may_share is not None
    found = _Origins()
    todo: list[tuple[torch.Tensor, Way]] = [(tracer.recorder.known_fake(tensor), ())]
    while todo:
        fake, way = todo.pop()
        pairs = may_share.counterparts(fake)
        if levels.sees(fake) or any(fake is one for one in before):
            found.outer.append((fake, way))
        elif fake.layout is torch.strided and storage_key(fake) in side.level.storages:
            found.open.append(fake)  # a view of an outer tensor, that the side has made
        elif not pairs:
            found.own.append((fake, way))
        else:
            with levels.resumed(side.level):
                known = all(may_share.is_known(pair) and _is_alike(pair.result, fake) for pair in pairs)
            if known:
                todo += [(pair.other, (*way, pair)) for pair in pairs]
            else:
                found.open.append(fake)
    return found


def _same(one: _Origins, other: _Origins) -> list[Way] | None:
    """The ways that make two results one tensor which the side made; None if they may be views of one."""
    ways: list[Way] = []
    for (a, way), (b, further) in itertools.product(one.own, other.own):
        if storage_key(a) == storage_key(b):
            if not _is_alike(a, b):
                return None
            ways.append((*way, *further))
    return ways


def _is_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors of one memory are the same part of it."""
    if one is other:
        return True
    sizes = [(tuple(t.shape), tuple(t.stride()), t.storage_offset(), t.dtype) for t in (one, other)]
    return not any(type(n) is torch.SymInt for t in sizes for part in t[:2] for n in part) and sizes[0] == sizes[1]


def as_results(tracer: Forking, flags: Sequence[Flag], sides: tuple[Side, Side]) -> list[tuple[str, Any, Any]]:
    """The flags as values of both sides."""
    columns = []
    for which, side in enumerate(sides):
        with tracer.recorder.levels.resumed(side.level):
            columns.append([_holds(tracer, flag.if_all[which]) for flag in flags])
    return [("tensor", one, other) for one, other in zip(*columns)]


def _holds(tracer: Forking, ways: list[Way]) -> torch.Tensor:
    """Whether one of the ways holds, in the current level. A float, since torch's cond has a gradient where all that it
    gives has."""
    may_share = tracer.recorder.may_share
    assert may_share is not None
    if not ways or () in ways:
        return torch.full((), float(bool(ways)), dtype=torch.float32, device="cpu")
    whole, *rest = (may_share.all_hold(way) for way in ways)
    for part in rest:
        whole = torch.logical_or(whole, part)
    return whole.to("cpu", torch.float32)


def note(tracer: Forking, made: Told, predicate: Any, results: Sequence[Any], flags: Sequence[torch.Tensor]) -> None:
    """Record what the results of a branch are. flags: those that the sides have returned."""
    may_share = tracer.recorder.may_share
    assert may_share is not None
    returned = iter(flags)

    def tensor(which: Any) -> torch.Tensor:
        return tracer.recorder.known_fake(results[which]) if type(which) is int else which

    for flag in made.flags:
        pair, known = (tensor(flag.result), tensor(flag.other)), flag.answers()
        if None in known:
            may_share.note_told(*pair, tracer.recorder.known_fake(next(returned) > 0.5))
        elif known[0] is known[1]:
            may_share.note_told(*pair, tracer.recorder.known_fake(torch.full((), True)))
        else:
            may_share.note_told(*pair, predicate, truth=bool(known[0]))
    for result, other in made.open:
        may_share.note(tensor(result), [tensor(other)])
    for result, view, truth in made.views:
        may_share.note_told(tensor(result), view.view, predicate, truth, view)


def are_one(tracer: Forking, one: torch.Tensor, other: torch.Tensor) -> Any:
    """The answer of `is` for two tensors that may be one: a bool, or a symbolic one for that instruction itself."""
    may_share, frame = tracer.recorder.may_share, tracer.vm.frame
    assert may_share is not None
    ways = may_share.conditions_of(one, other)
    if ways is None and may_share.left_open:
        tracer.abort(ToBeTold())
    is_asked = frame is not None and frame.info.ops[frame.pc - 1][0] is HANDLERS["IS_OP"]
    if ways is None or not is_asked:
        tracer.refuse("branch-unsupported", why="whether two tensors are one depends on which side was taken")
    if not ways:
        return False
    holds, *rest = (may_share.all_hold(way) for way in ways)
    for part in rest:
        holds = torch.logical_or(holds, part)
    return tracer.predicates.truth(holds)


def kept_by_iteration(
    tracer: Forking, side: Side, pairs: Sequence[tuple[Any, Any]]
) -> list[tuple[torch.Tensor, list[Way]] | None]:
    """For each tensor that an iteration changes, (before it, after it): that before it, and the ways to be that yet.
    None if it may be anything else but a new tensor under this name alone."""
    before = [tracer.recorder.known_fake(left) for left, _ in pairs]
    found = [_origins(tracer, side, right, before) for _, right in pairs]
    answers: list[tuple[torch.Tensor, list[Way]] | None] = []
    for index, (own, origins) in enumerate(zip(before, found)):
        others = [one for at, one in enumerate(found) if at != index]
        held = {storage_key(t) for one in others for t in (*one.open, *(t for t, _ in (*one.own, *one.outer)))}
        is_simple = not origins.open and all(tensor is own for tensor, _ in origins.outer)
        is_alone = not held & {storage_key(own), *(storage_key(tensor) for tensor, _ in origins.own)}
        answers.append((own, [way for _, way in origins.outer]) if is_simple and is_alone else None)
    return answers


def is_kept(tracer: Forking, side: Side, ways: list[Way], before: Any) -> Any:
    """Whether a tensor is yet the one from before the loop, after an iteration. before: whether it is before the
    iteration."""
    with tracer.recorder.levels.resumed(side.level):
        holds = _holds(tracer, ways) > 0.5
        return holds if before is True else torch.logical_and(holds, before)


def note_kept(tracer: Forking, value: torch.Tensor, before: torch.Tensor, holds: torch.Tensor) -> None:
    """A carried value, or its last one, is the value from before the loop if `holds`."""
    may_share, fake = tracer.recorder.may_share, tracer.recorder.known_fake
    assert may_share is not None
    may_share.note_told(fake(value), fake(before), fake(holds))
