"""Running one side of a branch, or one iteration of a loop, and undoing it.

The running frame continues from the branch to a stop, in the same interpreter and on the same heap, under a journal of
its own and into a sub-graph of its own. Then its effects are saved as values (`Side`), and undone.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import torch
from torch import fx

from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.level import Level
from dynamo_lite.control_flow.facts import facts_undone
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.reachable import held_frames
from dynamo_lite.control_flow.states import Base, BeginsAgain, CannotMerge, FrameState, HeldElsewhere, Side
from dynamo_lite.control_flow.undoing import iterators
from dynamo_lite.control_flow.undoing.first_reads import FirstReads
from dynamo_lite.control_flow.undoing.iterators import Watch, is_held_elsewhere
from dynamo_lite.control_flow.undoing.new_objects import Point
from dynamo_lite.errors import InternalError
from dynamo_lite.interpreter.code.sentinels import UNBOUND
from dynamo_lite.interpreter.flow import END, flow_of
from dynamo_lite.interpreter.frames.exceptions import ContinueIn
from dynamo_lite.interpreter.frames.frame import RETURNED, RUNNING
from dynamo_lite.interpreter.frames.generators import give_up, suspended, waits_in_block
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction, _DisableTorchDispatch
from dynamo_lite.tracing.effects import descriptions
from dynamo_lite.tracing.feature_state import Saved, changes, left_all, restore_all, save_all
from dynamo_lite.tracing.heap.instance_dicts import OwnedDicts
from dynamo_lite.tracing.heap.journal import Journal, is_as_before
from dynamo_lite.tracing.tensors.side_differences import SideDifferences
from dynamo_lite.tracing.vocabulary.process_state import SWITCHES
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor
from dynamo_lite.undoing import changed

_FILLED_UNSEEN = (list, dict, set)
"""Containers that comprehensions fill by instructions without a hook (LIST_APPEND, MAP_ADD, SET_ADD)."""


def run_side(
    tracer: Forking,
    frame: Any,
    base: FrameState,
    begin: Callable[[Level], None],
    stops: set[int],
    assumed: Any = None,
    keeps: bool = True,
    merges: bool = False,
) -> Side:
    """Run `frame` from the state `base`, changed by `begin`, to one of `stops`, and put everything back.

    Before, the calls that the frame waits for (`base.callees`) are run to their ends. begin is called in the new
    sub-graph. assumed: a relation of sizes that holds on this side. keeps: the facts that it adds are kept at once
    (else by `keep_facts` of `side.new_facts`). merges: the states of features are merged with those of another side.
    """
    base.put(frame)
    side = Side(None)  # type: ignore[arg-type]
    with (
        _no_collection(tracer),
        _state_undone(tracer, frame, base, side) as saved,
        facts_undone(tracer, side, assumed, keeps),
        tracer.points.here() as beginning,
    ):
        watch = Watch(beginning.is_older)
        tracer.watches.append(watch)
        made, locks = set(tracer.made_dicts), tracer.writes.locks.counts()
        tracer.made_dicts.clear()
        try:
            with tracer.recorder.levels.entered(functional=True) as level:
                side.level, level.merges = level, merges
                _copy_iterators(tracer, watch, frame, base)
                begin(level)
                tracer.features.tell("fork", tracer)
                _run(tracer, frame, base, stops, side)
                tracer.features.tell("fork", tracer)
            side.copies = [*watch.copies()]
            side.over, unmoved = watch.settle()
            _check_iterators(tracer, watch, [part for part, _ in base.parts(frame)], side)
            side.switches = [switch.read() for switch in SWITCHES]
            side.features = left_all(tracer) if merges else ()
            for what in changes(saved, merges):
                tracer.refuse("branch-differs", what=what, why="one side sets it")
            if tracer.writes.locks.counts() != locks:
                tracer.refuse("branch-differs", what="a lock", why="one side takes or releases it")
            tracer.points.collect_if_due()
            _collect(tracer, side, beginning, made)
        finally:
            side.dicts = set(tracer.made_dicts)
            tracer.made_dicts |= made
    if any(weak() is not None for weak in unmoved):
        side.problem = CannotMerge("branch-unsupported", why=_LEFT)
    side.reads = FirstReads.of(tracer.reads)
    undo_layouts(tracer, side, side.level.captured)
    return side


def _run(tracer: Forking, frame: Any, base: FrameState, stops: set[int], side: Side) -> None:
    parts, flow = base.parts(frame), flow_of(frame.info)
    held = _frames_held(tracer, base.values())
    snapshots = [part.snapshot for part, _ in parts]
    tracer.caught = None
    try:
        with _calls_finished(tracer, frame, base):
            stop = None if frame.state == RETURNED else tracer.vm.run_until(frame, flow.places(stops))
        if tracer.caught is not None:
            tracer.refuse(
                "branch-unsupported", why="the program catches exceptions of all kinds, BaseException as well"
            )
    except BeginsAgain:
        tracer.caught = None  # no handler has kept it
        raise
    except Exception as error:
        if tracer.broken is not None:
            raise
        side.error = error
        return
    for (part, _), snapshot in zip(parts, snapshots):
        if part.snapshot is not snapshot or (snapshot is not None and part.code.co_flags & _FUNCTION):
            tracer.refuse("branch-unsupported", why="locals() is asked for in it")
    side.pc = END if stop is None else flow.at(stop)
    if stop is None and frame.state != RETURNED:
        side.problem = CannotMerge("branch-unsupported", why="a generator yields on one side of it")
    side.result = frame.result if stop is None else None
    if held and held - held_frames(tracer, [*frame.locals, *frame.stack, side.result], held):
        side.problem = CannotMerge("branch-unsupported", why="it drops a generator that waits within `try` or `with`")
    if stop is None and tracer.watches[-1].waits():  # what its variables hold dies with the call
        frame.locals[:] = [UNBOUND] * len(frame.locals)
        frame.stack.clear()
    side.state = state = FrameState.of(frame)
    for before, now in ((base.stack, state.stack), (base.locals, state.locals)):
        for index, value in enumerate(before[: len(now)]):  # an iterator that was not moved is itself
            if iterators.is_copied(value) and iterators.position(value) == iterators.position(now[index]):
                now[index] = value


_FUNCTION = 2  # CO_NEWLOCALS
_LEFT = "it leaves a generator within `try` or `with`"


def _frames_held(tracer: Forking, values: list[Any]) -> set[int]:
    """ids of the frames of generators that `values` lead to, that the side has no copies of, and that would run code if
    they died."""
    watch = tracer.watches[-1]
    waiting = {id(one) for one in suspended(tracer.vm) if waits_in_block(one) and not watch.is_copied(one)}
    return held_frames(tracer, values, waiting) if waiting else waiting


@contextmanager
def _calls_finished(tracer: Forking, frame: Any, base: FrameState) -> Iterator[None]:
    """Run the calls that `frame` waits for to their ends. Within, the program is in `frame`."""
    if not base.callees:
        yield
        return
    vm, modules = tracer.vm, tracer.modules
    outer, state = vm.frame, modules.state()
    goes_on = base.callees[0].frame
    callers = [*(callee.frame for callee in base.callees[1:]), frame]
    try:
        for callee, caller in zip(base.callees, callers):
            vm.frame = callee.frame
            if goes_on is callee.frame:
                try:
                    if callee.frame.state != RETURNED:
                        vm.run_until(callee.frame, ())
                    caller.stack.append(callee.frame.result)
                    goes_on = caller
                except ContinueIn as further:  # a branch within has ended this call, and perhaps others
                    goes_on = further.frame
            callee.frame.locals[:] = [UNBOUND] * len(callee.frame.locals)  # as of a call that has ended
            callee.frame.stack.clear()
            modules.leave(callee.modules)
        vm.frame = frame
        if goes_on is not frame:
            raise InternalError("a branch within a side goes on behind the side")
        yield
    finally:
        vm.frame = outer
        modules.put(state)


# -- around a side -----------------------------------------------------------------------------------------------------


@contextmanager
def opened(tracer: Forking, frame: Any, state: FrameState) -> Iterator[Base]:
    """Open a context in which sides or iterations that begin with `state` are run and merged."""
    with _no_collection(tracer), tracer.points.here() as point:
        base = Base(frame, state, point)
        tracer.bases.append(base)
        may_share = tracer.recorder.may_share
        assert may_share is not None
        mark = may_share.mark()
        try:
            yield base
        except BaseException:  # nothing of what was run stays
            may_share.forget_since(mark)
            raise
        finally:
            tracer.bases.pop()


@contextmanager
def _no_collection(tracer: Forking) -> Iterator[None]:
    """Prevent garbage collection: it changes the collector's order of objects, which identifies new objects."""
    with changed(gc.enable if gc.isenabled() else gc.disable):
        gc.disable()
        before = _collections(tracer)
        yield
        if _collections(tracer) != before:
            tracer.refuse("branch-unsupported", why="the program collects garbage on one side of it")


def _collections(tracer: Forking) -> int:
    """Return the number of collections, except for ours."""
    return sum(row["collections"] for row in gc.get_stats()) - tracer.points.collections


@contextmanager
def _state_undone(tracer: Forking, frame: Any, base: FrameState, side: Side) -> Iterator[Saved]:
    """The heap, the switches, the features' state and the frame are as before afterwards."""
    outer = tracer.journal
    tracer.journals.append(outer)
    tracer.journal = Journal(tracer.mark)
    saved = save_all(tracer)
    switches = [switch.read() for switch in SWITCHES]
    loops, watches = len(tracer.loops), len(tracer.watches)
    waiting = WeakSet(suspended(tracer.vm))
    tracer.depth += 1
    try:
        yield saved
    except BaseException:
        for made in suspended(tracer.vm):
            if made not in waiting:
                give_up(made)  # its generator dies
        raise
    finally:
        tracer.depth -= 1
        inner = tracer.journal
        inner.rollback(side.new)
        tracer.journal = outer
        tracer.journals.pop()
        outer.untracked |= inner.untracked
        outer.touched |= inner.touched
        restore_all(saved)
        for watch in tracer.watches[watches:]:
            tracer.moved += watch.shared
            watch.forget()
        del tracer.loops[loops:], tracer.watches[watches:]
        for switch, value in zip(SWITCHES, switches):
            if switch.read() != value:
                switch.write(value)
        if side.level is not None:
            side.level.put_back_memos()
            tracer.own(SideDifferences).tangled |= side.level.put_back_versions()
        for part, _ in base.parts(frame):
            part.state, part.result = RUNNING, None
        base.put(frame)


def _copy_iterators(tracer: Forking, watch: Watch, frame: Any, base: FrameState) -> None:
    parts = base.parts(frame)
    watch.copy_all([pair for part, at in parts for pair in ((part.locals, at.locals), (part.stack, at.stack))])
    for original, made in watch.pairs():  # the collector does not track the iterator of a range
        if not gc.is_tracked(made) and not tracer.writes.is_old(original):
            tracer.writes.new_objects[id(made)] = made
    for value in (value for _, state in parts for value in state.stack):
        if isinstance(value, _FILLED_UNSEEN):
            tracer.journal.touch(value, "items")


def _check_iterators(tracer: Forking, watch: Watch, frames: list[Any], side: Side) -> None:
    """No merge is right of a side that has advanced the copy of an iterator that another object holds, too."""
    moved = watch.originals_moved()
    if not moved:
        return
    if len(tracer.watches) > 1:
        tracer.watches[-2].note_moved(moved)
    own = {id(values) for state in FrameState.living for values in (state.locals, state.stack)}
    own |= {
        id(moved),
        id(tracer.writes.new_objects),
        *(id(values) for frame in frames for values in (frame.locals, frame.stack)),
    }
    own = own.union(*(other.holders() for other in tracer.watches))
    owners = [owner for journal in (tracer.journal, *tracer.journals) for owner in journal.owners()]
    for value in moved:  # no generator expression, which would hold it
        if is_held_elsewhere(value, own, owners):
            why = "it moves an iterator on that is held elsewhere, too"
            side.problem = HeldElsewhere("branch-unsupported", why=why)


# -- what a side leaves ------------------------------------------------------------------------------------------------


def _collect(tracer: Forking, side: Side, beginning: Point, made: set[int]) -> None:
    """Separate the objects that the side made from those that it changed."""
    new = side.new
    made_here = beginning.younger()
    new.update(map(id, made_here))
    new |= tracer.made_dicts
    if iterators.left_waiting(itertools.chain(made_here, tracer.watches[-1].copies())):
        side.problem = CannotMerge("branch-unsupported", why=_LEFT)
    for snapshot in tracer.journal.snapshots():
        owner = snapshot.owner
        holder = tracer.own(OwnedDicts).owner_of(owner)
        at = owner if holder is None else holder
        untracked = id(at) in tracer.journal.untracked and id(at) not in tracer.made_dicts
        if id(at) in new and id(at) not in made and not untracked:
            side.keep.append(owner)
            continue
        new.discard(id(owner))
        side.heap[id(owner), snapshot.part] = (snapshot, snapshot.current())


def lasting_change(tracer: Forking, side: Side) -> str:
    """Return a description of a change that outlives the call; "" if there is none."""
    for snapshot, contents in side.heap.values():
        if tracer.writes.is_old(snapshot.owner) and not is_as_before(snapshot.contents, contents):
            return descriptions.describe(snapshot.owner)
    outside = {storage_key(fake): fake for fake in tracer.recorder.from_outside()}
    for _, value in side.level.captured:
        if is_tensor(value) and storage_key(value) in side.level.changed and storage_key(value) in outside:
            return "an input, a parameter or a buffer"
    return ""


def undo_layouts(tracer: Forking, side: Side, given: Iterable[tuple[fx.Node, Any]]) -> None:
    """Restore requires_grad of the tensors in `given` that the side has changed in place. Rejects another shape."""
    for node, value in given:
        if is_tensor(value) and storage_key(value) in side.level.changed:
            side.grads[id(value)] = value.requires_grad
            now = node.meta["val"]
            with DisableTorchFunction():  # it is not the program that asks
                layouts = [(tuple(tensor.shape), tuple(tensor.stride())) for tensor in (now, value)]
            if layouts[0] != layouts[1]:
                tracer.refuse("branch-unsupported", why="a side changes the shape of a tensor in place")
            if value.requires_grad and not now.requires_grad:
                tracer.own(SideDifferences).differ = True
                with torch.no_grad(), _DisableTorchDispatch():
                    value.detach_()
