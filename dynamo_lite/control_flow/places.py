"""The variables, the stack and the heap places that two states leave different, merged and written."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any, NamedTuple, NoReturn

from dynamo_lite.control_flow.differences.constants import are_same
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.merge import Differs, Merge, Plan, describe, has_one_on_one_side
from dynamo_lite.control_flow.states import FrameState, Side, SizesDiffer, cannot_merge
from dynamo_lite.interpreter.code.sentinels import UNBOUND
from dynamo_lite.interpreter.flow import flow_of
from dynamo_lite.tracing.effects import descriptions
from dynamo_lite.tracing.effects.classify import is_bookkeeping
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.heap.snapshots import MISSING, Snapshot


class FramePlan(NamedTuple):
    """How the frame is filled when the results are there; the variables in use that could not be merged."""

    put: Callable[[], None]
    unmergeable: list[int]


def plan_frame(
    frame: Any,
    merge: Merge,
    left: FrameState,
    right: FrameState,
    at: int,
    live: int | None = None,
    where: str = "",
) -> FramePlan:
    """Plan the merge of two states of `frame`, which continues at `at`. live: the variables in use there. where: the
    lines of the sides, for an error message."""
    names = frame.info.names
    live = flow_of(frame.info).live(at) if live is None else live
    variables: list[Plan] = []
    unmerged: dict[int, str] = {**(left.unmerged or {}), **(right.unmerged or {})}
    unmergeable: list[int] = []
    for index, (a, b) in enumerate(zip(left.locals, right.locals)):
        if a is b:
            variables.append(lambda a=a: a)  # type: ignore[misc]
            continue
        why = "it is not used afterwards"
        if live >> index & 1:
            if a is UNBOUND or b is UNBOUND:
                why = f"{describe(a)} on one side, {describe(b)} on the other{where}"
            else:
                merge.place = names[index]
                try:
                    variables.append(merge.plan(a, b))
                    unmerged.pop(index, None)
                    if merge.carries_sizes and has_one_on_one_side(a, b):
                        unmergeable.append(index)
                    continue
                except Differs as error:
                    why = (f"{names[index]}{error.what}: {error.why}" if error.what else error.why) + where
            unmergeable.append(index)
        unmerged[index] = why
        variables.append(lambda: UNBOUND)
    stack = _plan_stack(merge, left, right)
    if left.handled is not right.handled:
        cannot_merge("branch-differs", what="the exception that is being handled", why="only one side handles it")

    def put() -> None:
        frame.locals[:] = [part() for part in variables]
        frame.stack[:] = [part() for part in stack]
        frame.unmerged = unmerged or None
        frame.vm.handled.value = left.handled
        frame.pc = at

    return FramePlan(put, unmergeable)


def _plan_stack(merge: Merge, left: FrameState, right: FrameState) -> list[Plan]:
    if len(left.stack) != len(right.stack):
        cannot_merge("branch-unsupported", why="its sides leave stacks of different depth")
    parts = []
    merge.place = "the value of an expression"
    for a, b in zip(left.stack, right.stack):
        if merge.carries_sizes and has_one_on_one_side(a, b):
            raise SizesDiffer("branch-differs", on_stack=True)
        try:
            parts.append(merge.plan(a, b))
        except Differs as error:
            what = f"the value of an expression{error.what} different"
            cannot_merge("branch-differs", on_stack=True, what=what, why=error.why)
    return parts


# -- the heap ----------------------------------------------------------------------------------------------------------


class HeapPlan(NamedTuple):
    """The merge of one changed object: of each entry that differs (`parts` is a dict), or of all its contents."""

    snapshot: Snapshot
    parts: dict[Any, Plan] | Plan


def plan_heap(
    tracer: Forking,
    merge: Merge,
    left: Side,
    right: Side,
    of_list: Callable[[Snapshot], HeapPlan | None],
    used: Sequence[Container[Any]],
) -> list[HeapPlan]:
    """Plan the merge of the two sides' writes to objects that are older than they. of_list: for a list to which they
    have added different numbers of items; None otherwise. used: the new objects that are reachable after each side."""
    _check_owned_dicts(left, right)
    rows = []
    old = tracer.writes.old_among(row[0].owner for side in (left, right) for row in side.heap.values())
    for key in dict.fromkeys([*left.heap, *right.heap]):
        snapshot = (left.heap.get(key) or right.heap[key])[0]
        a, b = (side.heap[key][1] if key in side.heap else snapshot.contents for side in (left, right))
        if id(snapshot.owner) not in old and all(snapshot.owner not in objects for objects in used):
            continue
        if id(snapshot.owner) in merge.replaced.ids:
            continue
        plan = of_list(snapshot)
        rows.append(plan_place(tracer, merge, snapshot, a, b) if plan is None else plan)
    return rows


def _check_owned_dicts(left: Side, right: Side) -> None:
    """Refuses an attribute of an object on one side and an entry of its `__dict__` on the other: they are one place."""
    snapshots = [row[0] for side in (left, right) for row in side.heap.values()]
    dicts = {id(snapshot.owner) for snapshot in snapshots if type(snapshot.owner) is dict}
    for snapshot in snapshots if dicts else ():
        owned = id(_dict_of(snapshot.owner))
        keys = {(id(snapshot.owner), "attributes"), (owned, "items")}
        if owned in dicts and any(len(keys & side.heap.keys()) == 1 for side in (left, right)):
            what = f"{descriptions.describe(snapshot.owner)} different"
            cannot_merge("branch-differs", what=what, why="its attributes are set, and entries of its __dict__")


def _dict_of(owner: Any) -> Any:
    try:
        return object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return None


def plan_place(tracer: Forking, merge: Merge, snapshot: Snapshot, a: Any, b: Any) -> HeapPlan:
    """Plan the merge of the contents of one object in two states; `snapshot` is from before both."""
    if not isinstance(a, dict):
        merge.place = f"in {descriptions.describe(snapshot.owner)}"
        try:
            return HeapPlan(snapshot, merge.contents(a, b))
        except Differs as error:
            _refuse(tracer, snapshot, None, a, b, error)
    parts: dict[Any, Plan] = {}
    merge.place = f"in {descriptions.describe(snapshot.owner)}"
    for key in dict.fromkeys([*a, *b]):
        one, other = a.get(key, MISSING), b.get(key, MISSING)
        if one is other and one is snapshot.contents.get(key, MISSING):
            continue
        try:
            if (one is MISSING) != (other is MISSING):
                raise Differs("it is there on one side only")
            parts[key] = merge.plan(one, other)
        except Differs as error:
            if not is_bookkeeping(Change(snapshot.owner, snapshot.part, key, one, other, None)):
                _refuse(tracer, snapshot, key, one, other, error)
            parts[key] = lambda one=one: one  # type: ignore[misc]
    if snapshot.part == "items" and not are_same([k for k in a if k in b], [k for k in b if k in a]):
        _refuse(tracer, snapshot, None, a, b, Differs("its keys, or their order, differ"))
    return HeapPlan(snapshot, parts)


def _refuse(tracer: Forking, snapshot: Snapshot, key: Any, old: Any, new: Any, error: Differs) -> NoReturn:
    change = Change(snapshot.owner, snapshot.part, key, old, new, None)
    target = descriptions.describe_target(tracer, change)
    cannot_merge("branch-differs", what=f"{target}{error.what} different", why=error.why)


def write_heap(tracer: Forking, rows: list[HeapPlan]) -> None:
    """Write the merged values, as writes of the enclosing program."""
    for snapshot, parts in rows:
        if not isinstance(parts, dict):
            _keep_before(tracer, snapshot)
            snapshot.restore(parts())
            continue
        if not parts:
            continue
        _keep_before(tracer, snapshot)
        values = {key: part() for key, part in parts.items()}
        if snapshot.part == "items" and type(snapshot.owner) is dict:
            _write_entries(snapshot.owner, values)  # in place: an iterator may be looking at it
        else:
            contents = snapshot.current()
            _write_entries(contents, values)
            snapshot.restore(contents)
        for key in parts:
            if type(key) in (str, int):
                tracer.journal.site(snapshot.owner, snapshot.part, key)


def _write_entries(contents: dict[Any, Any], values: dict[Any, Any]) -> None:
    for key, value in values.items():
        if value is MISSING:
            contents.pop(key, None)
        else:
            contents[key] = value


def _keep_before(tracer: Forking, snapshot: Snapshot) -> None:
    if (id(snapshot.owner), snapshot.part) not in tracer.journal._snapshots:
        tracer.journal._keep(snapshot)
