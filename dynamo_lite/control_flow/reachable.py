"""Objects that the program, or its caller, can still reach: a tensor's memory (for capture/may_share.py), a list."""

from __future__ import annotations

import gc
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from dynamo_lite.capture.fakes.fake_mode import FakeTensorMode
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.control_flow.branches.calls import hold_unseen
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.states import Side
from dynamo_lite.interpreter.flow import END, flow_of
from dynamo_lite.interpreter.frames.frame import Frame
from dynamo_lite.interpreter.frames.generators import frame_of, suspended_frame
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_LEAVES = frozenset({int, float, bool, str, bytes, type(None), torch.dtype, torch.device, FakeTensorMode, *SYMBOLIC})
_PASSED = (type, types.ModuleType, types.CodeType)
_LIMIT = 50_000
"""Objects that are looked at; beyond that the answer is yes."""


class _TooMany(Exception):
    """More objects than are looked at."""


def reaches(tracer: Forking) -> Callable[[set[int]], bool]:
    """The question for memory with some keys (`storage_key`)."""

    def ask(keys: set[int]) -> bool:
        recorder = tracer.recorder
        if any(storage_key(fake) in keys for fake in recorder.from_outside()):
            return True
        if hold_unseen(tracer, frames_of(tracer)):
            return True
        try:
            return any(storage_key(recorder.known_fake(t)) in keys for t in _tensors(tracer))
        except _TooMany:
            return True

    return ask


def holders_of(tracer: Forking, value: Any) -> list[Any] | None:
    """The frames and objects of the program that hold a container which it has made, an object in the place of its own
    `__dict__`; None if there is too much to look at."""
    found: list[Any] = []
    owned: dict[int, Any] = {}  # id of a dict → the object whose it is
    try:
        for owner, parts in _walk(tracer, [*frames_of(tracer), *_changed(tracer)]):
            namespace = namespace_of(owner)
            if namespace is not None:
                owned[id(namespace)] = owner
            if any(part is value for part in parts):
                found.append(owner)
    except _TooMany:
        return None
    made = {id(holder): holder for holder in (owned.get(id(holder), holder) for holder in found)}
    return [*made.values()]


def held_frames(tracer: Forking, values: Sequence[Any], wanted: set[int]) -> set[int]:
    """Which of the frames of generators with the ids `wanted` the values lead to; all, if there is too much to see."""
    found: set[int] = set()
    try:
        for owner, _ in _walk(tracer, [*values]):
            frame = owner if isinstance(owner, Frame) else frame_of(owner)
            if id(frame) in wanted:
                found.add(id(frame))
                if found == wanted:
                    break
    except _TooMany:
        return wanted
    return found


def references_before(tracer: Forking, value: Any, frame: Any, roots: list[Any]) -> int:
    """Return how many references the program has to a container that it made. roots: the values in use in `frame`; 2 if
    there are too many objects."""
    others = [other for other in frames_of(tracer) if other is not frame]
    count = sum(root is value for root in roots)
    try:
        for _, parts in _walk(tracer, [*roots, *others, *_changed(tracer)]):
            count += sum(part is value for part in parts)
    except _TooMany:
        return 2
    return count


class Used:
    """The new objects that are reachable after a side of `frame`, which continues at `at`; the calls `over` have ended
    then. Computed on first use."""

    def __init__(self, tracer: Forking, frame: Any, side: Side, at: int, over: Sequence[Any] = ()) -> None:
        self.tracer, self.frame, self.side, self.at, self.over = tracer, frame, side, at, over
        self._ids: set[int] | None = None
        self._are_all = False

    def __contains__(self, value: Any) -> bool:
        if self._ids is None:
            self._ids = set()
            try:
                self._ids.update(id(owner) for owner, _ in _walk(self.tracer, self._roots(), self._now()))
            except _TooMany:
                self._are_all = True
        return self._are_all or id(value) in self._ids

    def references(self, value: Any) -> int:
        """Return how many references there are to an object after the side; 2 if there are too many objects."""
        roots, now = self._roots(), self._now()
        count, classes = sum(root is value for root in roots), []
        try:
            for owner, parts in _walk(self.tracer, roots, now):
                count += sum(part is value for part in (*parts, *now.get(id(owner), ())))
                if isinstance(owner, type):
                    classes.append(owner)
        except _TooMany:
            return 2
        is_hidden = len(self.tracer.writes.old_among(classes)) < len(classes)  # a new class may hold it
        return 2 if is_hidden else count

    def _roots(self) -> list[Any]:
        state, tracer = self.side.state, self.tracer
        assert state is not None
        live = flow_of(self.frame.info).live(self.at) if self.at != END else 0
        roots = [caller for caller in frames_of(tracer) if caller is not self.frame and caller not in self.over]
        changed = [*_changed(tracer)]
        old = tracer.writes.old_among(changed)
        roots += [owner for owner in changed if id(owner) in old]
        roots += [variable for index, variable in enumerate(state.locals) if live >> index & 1]
        return [*roots, *state.stack, self.side.result]

    def _now(self) -> dict[int, list[Any]]:
        """Return id of an object → the values that the side has put into it. (The side is undone.)"""
        found: dict[int, list[Any]] = {}
        for (owner, _), (_, contents) in self.side.heap.items():
            values = contents.values() if isinstance(contents, dict) else contents
            if not isinstance(values, bytes):
                found.setdefault(owner, []).extend(values)
        return found


def namespace_of(owner: Any) -> dict[str, Any] | None:
    """Return the `__dict__` of an object other than a frame or a class."""
    if isinstance(owner, (Frame, type)):
        return None
    try:
        namespace: Any = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return None
    return namespace if type(namespace) is dict else None


def _tensors(tracer: Forking) -> Iterator[torch.Tensor]:
    """Yield the tensors reachable from the program's frames and from older objects that it changed, through the
    attributes of new classes as well. (Globals hold objects that existed before the call, or those that the program
    stored there: these are in the journal.)"""
    changed = [*_changed(tracer)]
    old = tracer.writes.old_among(changed)
    todo: list[Any] = [*frames_of(tracer), *(owner for owner in changed if id(owner) in old)]
    walked: set[int] = set()
    while todo:
        classes: dict[int, type] = {}
        for owner, _ in _walk(tracer, todo):
            if is_tensor(owner):
                yield owner
            elif isinstance(owner, type):
                classes.update((id(one), one) for one in owner.__mro__ if id(one) not in walked)
        walked.update(classes)
        old = tracer.writes.old_among([*classes.values()])
        todo = [part for key, one in classes.items() if key not in old for part in vars(one).values()]


def frames_of(tracer: Forking) -> Iterator[Any]:
    """The frames of the program, the innermost first."""
    frame = tracer.vm.frame
    while frame is not None:
        yield frame
        frame = frame.back


def _changed(tracer: Forking) -> Iterator[Any]:
    for journal in (tracer.journal, *tracer.journals):
        yield from journal.owners()


def _walk(
    tracer: Forking, roots: list[Any], now: dict[int, list[Any]] | None = None
) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the objects reachable from `roots`: (object, its parts), each once. now: additional parts of objects.

    The tracer, which the iterators of loops hold, is skipped: everything in the process is reachable from it.
    """
    todo, seen = roots, {id(tracer), id(tracer.vm), id(tracer.recorder)}
    while todo:
        value = todo.pop()
        if id(value) in seen or type(value) in _LEAVES:
            continue
        seen.add(id(value))
        if len(seen) > _LIMIT:
            raise _TooMany
        if isinstance(value, Frame):
            parts = _in_frame(value)
        else:
            parts = parts_of(value)
        yield value, parts
        todo += parts
        if now and id(value) in now:
            todo += now[id(value)]


def parts_of(value: Any) -> list[Any]:
    """Return the parts of an object that is not a frame."""
    if is_tensor(value):
        return [*vars(value).values()] if type(value) is not torch.nn.Parameter else []
    if isinstance(value, types.GeneratorType):
        inner = suspended_frame(value)
        return _in_frame(inner) if inner is not None else gc.get_referents(value)
    if isinstance(value, types.FunctionType):
        defaults = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
        return [*(value.__closure__ or ()), *defaults, *vars(value).values()]
    return [] if isinstance(value, _PASSED) else gc.get_referents(value)


def _in_frame(frame: Any) -> list[Any]:
    """Return the values that a frame can still use. A generator in a variable runs its end when the variable goes."""
    live = flow_of(frame.info).live(frame.pc) if frame.pc < len(frame.info.ops) else 0
    cells = frame.cell_names()
    names = frame.info.names
    used = [
        value
        for index, value in enumerate(frame.locals)
        if live >> index & 1 or names[index] in cells or type(value) is types.GeneratorType
    ]
    return used + list(frame.stack)
