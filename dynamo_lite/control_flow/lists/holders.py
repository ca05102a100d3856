"""Puts a `GrownList` wherever the program holds the list that it replaces."""

from __future__ import annotations

import collections
from collections.abc import Callable
from functools import partial
from types import CellType
from typing import Any

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.lists.grown import GrownList
from dynamo_lite.control_flow.reachable import holders_of
from dynamo_lite.control_flow.states import FrameState
from dynamo_lite.interpreter.frames.frame import Frame
from dynamo_lite.interpreter.frames.generators import frame_of
from dynamo_lite.tracing.heap import snapshots

_DICTS = (dict, collections.OrderedDict, collections.defaultdict)
_LISTS = (list, GrownList)
Put = Callable[[], None]


def can_replace(tracer: Forking, owner: list[Any]) -> bool:
    """Whether all that holds a list can be given another object in its place."""
    return _puts(tracer, owner, owner) is not None


def replace_everywhere(tracer: Forking, owner: list[Any], by: list[Any]) -> bool:
    """Replace `owner` in all objects that hold it; False if one of them cannot be changed. It is undone with the
    current side, except in variables of frames that are restored anyway."""
    puts = _puts(tracer, owner, by)
    if puts is None:
        return False
    for put in puts:
        put()
    for state in FrameState.living:
        _put_in_values(state.locals, owner, by)
        _put_in_values(state.stack, owner, by)
    return True


def _puts(tracer: Forking, owner: list[Any], by: Any) -> list[Put] | None:
    puts = []
    for holder in holders_of(tracer, owner) or (None,):
        put = _put_in(tracer, holder, owner, by)
        if put is None:
            return None
        puts.append(put)
    return puts


def _put_in(tracer: Forking, holder: Any, owner: list[Any], by: Any) -> Put | None:
    """Return a function that replaces the list in one holder; None if that is not supported."""
    frame = holder if isinstance(holder, Frame) else frame_of(holder)
    if frame is not None:
        return partial(_put_in_frame, tracer, frame, owner, by)
    kind = type(holder)
    part: str
    whole: snapshots.Snapshot | None
    if kind is CellType:
        part, whole = "cell", snapshots.cell(holder)
    elif kind in _LISTS or kind in _DICTS:
        part, whole = "items", snapshots.container(holder)
    else:
        part, whole = "attributes", snapshots.attributes(holder)
    if whole is None:
        return None
    contents = whole.contents
    if isinstance(contents, dict):
        made: Any = {name: by if value is owner else value for name, value in contents.items()}
        is_all = any(value is owner for value in contents.values())
    else:
        made = [by if value is owner else value for value in contents]
        is_all = True
    return partial(_put_in_object, tracer, whole, part, made) if is_all else None


def _put_in_object(tracer: Forking, whole: snapshots.Snapshot, part: str, contents: Any) -> None:
    tracer.journal.touch(whole.owner, part)
    whole.restore(contents)


def _put_in_frame(tracer: Forking, frame: Any, owner: list[Any], by: Any) -> None:
    before = list(frame.locals), list(frame.stack)

    def undo() -> None:
        frame.locals[:], frame.stack[:] = before

    if frame is not tracer.vm.frame:
        tracer.journal.on_rollback(undo)
    for values in (frame.locals, frame.stack):
        _put_in_values(values, owner, by)


def _put_in_values(values: list[Any], owner: list[Any], by: Any) -> None:
    for index, value in enumerate(list.__iter__(values)):
        if value is owner:
            list.__setitem__(values, index, by)
