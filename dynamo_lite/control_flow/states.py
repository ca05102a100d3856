"""The state of a program at one instruction, and one side of a branch up to a stop."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, NoReturn

from dynamo_lite.capture.graph.level import Level
from dynamo_lite.control_flow.undoing.first_reads import FirstReads
from dynamo_lite.control_flow.undoing.new_objects import Point
from dynamo_lite.interpreter.flow import END
from dynamo_lite.tracing.feature_state import FeatureState

DEPTH = 30
"""The greatest nesting depth of sides."""


class CannotMerge(Exception):
    """Two program states cannot be merged. `id` is the error to report if no other strategy applies."""

    def __init__(self, id: str, on_stack: bool = False, **names: Any) -> None:
        super().__init__(id)
        self.id, self.names = id, names
        self.on_stack = on_stack  # it is the value of an expression that is being evaluated that differs


class StateDiffers(CannotMerge):
    """One side alone has set a part of a feature's state. It stays unmerged if no later join helps, and may not be
    read."""


class NoJoin(CannotMerge):
    """The sides of a branch can be merged nowhere in a caller of its frame; nothing is recorded."""


class SizesDiffer(CannotMerge):
    """The value of an expression has a size of 1 on one side only. It can be merged if no later join helps."""


class HeldElsewhere(CannotMerge):
    """A side moves an iterator on that is held elsewhere, too, as in a variable of the caller."""


class FirstIterationDiffers(CannotMerge):
    """The first iteration of a loop leaves variables with another kind of value than before, as `total = total + x`
    does to a `total` that was 0. Later iterations may not do this."""


class FewIterations(CannotMerge):
    """A loop that has to be counted has so few iterations that it is unrolled."""


class ToBeCounted(CannotMerge):
    """The iteration count of a `while` loop is needed (loops/counting.py). is_exact: an upper bound is not enough."""

    def __init__(self, why: str, is_exact: bool) -> None:
        super().__init__("branch-unsupported", why=why)
        self.is_exact = is_exact


def cannot_merge(id: str, **names: Any) -> NoReturn:
    raise CannotMerge(id, **names)


class BeginsAgain(BaseException):
    """Raised to undo the current attempt and retry an enclosing construct differently. A BaseException, so that the
    traced program cannot catch it."""


class JoinsLater(BeginsAgain):
    """A branch within a side joins after the end of the side: the enclosing branch has to join there, too.

    frame, at: the frame of the enclosing branch, and the instruction. in_caller: not in that frame, but in its caller.
    """

    def __init__(self, frame: Any, at: int, in_caller: bool = False) -> None:
        super().__init__()
        self.frame, self.at, self.in_caller = frame, at, in_caller


class LeftFromWithin(BeginsAgain):
    """A loop that is also left by `return`, or by another way than its test's."""


def reported(recorder: Any, capture: Callable[[], Any]) -> Any:
    """Return the result of `capture`. An exception other than CannotMerge ends the export: it is not the program's,
    which would see it as raised by one side of a branch."""
    try:
        return capture()
    except CannotMerge:
        raise
    except Exception as error:
        return recorder.guarded(_raise, error)


def _raise(error: Exception) -> NoReturn:
    raise error


class Callee(NamedTuple):
    """A call that another frame waits for. modules: how many calls of modules end with it."""

    frame: Any
    state: FrameState
    modules: int


@dataclass(eq=False)
class FrameState:
    """The state of a frame at one instruction: enough to continue from there. `living` are all states that are kept.

    `callees`: calls that are running, innermost first, with the state of their frames; the frame waits for them.
    """

    living: ClassVar[weakref.WeakSet[FrameState]] = weakref.WeakSet()

    locals: list[Any]
    stack: list[Any]
    pc: int = 0
    handled: Any = None
    unmerged: dict[int, str] | None = None
    callees: tuple[Callee, ...] = ()

    def __post_init__(self) -> None:
        FrameState.living.add(self)

    @staticmethod
    def of(frame: Any, callees: Sequence[tuple[Any, int]] = ()) -> FrameState:
        """callees: (frame, modules) of each (`Callee`)."""
        inner = tuple(Callee(callee, FrameState.of(callee), modules) for callee, modules in callees)
        handled = frame.vm.handled.value
        return FrameState(list(frame.locals), list(frame.stack), frame.pc, handled, frame.unmerged, inner)

    def parts(self, frame: Any) -> list[tuple[Any, FrameState]]:
        """(frame, its state), the innermost first."""
        return [*((callee.frame, callee.state) for callee in self.callees), (frame, self)]

    def values(self) -> list[Any]:
        """Return the values that the frame and the frames of the calls hold."""
        return [value for _, at in self.parts(None) for value in (*at.locals, *at.stack)]

    def put(self, frame: Any) -> None:
        for callee in self.callees:
            callee.state.put(callee.frame)
        frame.locals[:] = self.locals
        frame.stack[:] = self.stack
        frame.pc = self.pc
        frame.vm.handled.value = self.handled
        frame.unmerged = self.unmerged

    def let_go(self) -> None:
        """Releases the references: no frame is set to this state again."""
        self.locals.clear()
        self.stack.clear()
        for callee in self.callees:
            callee.state.let_go()


class Join(NamedTuple):
    """Where current sides run to: an instruction of a frame."""

    frame: Any
    at: int
    stays: bool = False
    """They cannot be run on in the frame's caller, or that did not help."""


class Base(NamedTuple):
    """The state in which current sides or iterations began, and when."""

    frame: Any
    state: FrameState
    point: Point


@dataclass
class Side:
    """One side of a branch up to a stop, after it was undone.

    Attributes:
        level: the sub-graph that it was recorded into.
        pc: the instruction that it stopped at; END for a return.
        error: the exception that it raised, else None.
        problem: why no merge with this side is right, else None.
        heap: (id of an object, part) → (the snapshot from before, its contents now), for objects older than the side.
        new: ids of the objects that the side made. (The id of a dead object can only be reused by a newer one.)
        new_facts: the facts of sizes that it added, and the symbols of before, if it is not kept yet.
        checks: facts about sizes that hold on this side only.
        all_facts: the facts about sizes that were known at its end, and not before it.
        reads: the first accesses (reads or writes) of the program, after this side.
        left_at: the instruction at which it continues, if it has left the enclosing loop.
        symbols: the symbols of sizes that existed before it.
        copies: the copies of iterators that it has advanced, or could have.
        assumed: the condition on the sizes of inputs under which it is taken, of a branch on these.
        over: ids of the frames of generators that waited within `try` or `with`, and wait there no more.
        features: what it leaves in the states of features that can be merged.
        grads: whether an outer tensor that it changes in place requires grad after it, by the tensor's id.
    """

    level: Level
    pc: int = END
    state: FrameState | None = None
    result: Any = None
    error: BaseException | None = None
    problem: CannotMerge | None = None
    heap: dict[tuple[int, str], tuple[Any, Any]] = field(default_factory=dict)
    new: set[int] = field(default_factory=set)
    new_facts: tuple[Any, Any] = ((), ())
    checks: list[Any] = field(default_factory=list)
    all_facts: Sequence[Any] = ()
    switches: list[Any] = field(default_factory=list)
    keep: list[Any] = field(default_factory=list)
    dicts: set[int] = field(default_factory=set)
    reads: FirstReads | None = None
    left_at: int | None = None
    symbols: set[Any] = field(default_factory=set)
    copies: list[Any] = field(default_factory=list)
    assumed: Any = None
    over: set[int] = field(default_factory=set)
    grads: dict[int, bool] = field(default_factory=dict)
    features: Sequence[tuple[FeatureState, Any]] = ()

    def let_go(self) -> None:
        """Release the state: the sides are merged, and objects that they held may die when the program drops them."""
        if self.state is not None:
            self.state.let_go()
        self.copies.clear()

    def requires_grad(self, tensor: Any) -> bool:
        """Whether an outer tensor requires grad after it."""
        return self.grads.get(id(tensor), tensor.requires_grad)


@dataclass
class OpenLoop:
    """A loop whose body is being captured: jumps of `frame` in it stop at its tests, or where it is left.

    `truth_on` maps each test to the truth that continues the loop; `next_test` returns the test of a counted loop.
    `exits` are the other exits (interpreter/flow/loops.py), `height` is the depth of the stack after the loop, and
    `iterators` the number of iterators above that at each exit that was seen. `filled`: variables for which a side that
    left the loop has no value, since they are dead there. `begin` is where an iteration begins, and `bounds` maps tests
    to the facts that hold in each iteration that is not the last (loops/counting.py). `going`: numbers that depend on
    whether the loop is left, with their values if it is not. `numbers`: the symbols of the number of an iteration,
    where it may not choose an item of a list. `unflagged`: places of tensors that may become others than new ones
    (differences/same_memory.py).
    """

    frame: Any
    again: frozenset[int]
    leave: int
    beyond: int
    truth_on: dict[int, bool] = field(default_factory=dict)
    next_test: Callable[[], Any] | None = None
    exits: tuple[int, ...] = ()
    height: int = 0
    iterators: dict[int, int] = field(default_factory=dict)
    filled: set[int] = field(default_factory=set)
    begin: int = END
    bounds: dict[int, list[Any]] = field(default_factory=dict)
    going: dict[Any, Any] = field(default_factory=dict)
    numbers: frozenset[Any] = frozenset()
    unflagged: set[str] = field(default_factory=set)

    @property
    def stops(self) -> set[int]:
        return {*self.again, self.leave, self.beyond, *self.exits} - {END}

    def left_by(self, exit: int | None) -> tuple[bool, ...]:
        """One truth for each exit: whether it is this one."""
        return tuple(other == exit for other in self.exits)


class LoopTest:
    """The test of a loop, turned so that True continues it; it is on the stack at the end of an iteration. `left_by`:
    for each exit of the loop whether the loop is left by it. `raw`: the value that the program tests; `goes_if`: its
    truth with which the loop continues."""

    def __init__(self, value: Any, left_by: tuple[Any, ...] = (), raw: Any = None, goes_if: bool | None = None) -> None:
        self.value, self.left_by, self.raw, self.goes_if = value, left_by, raw, goes_if
