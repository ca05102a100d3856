"""What a program holds at one place, and one way of it from a branch to a stop."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, NoReturn

from dynamo_lite.capture.graph.level import Level
from dynamo_lite.control_flow.undoing.first_reads import FirstReads
from dynamo_lite.control_flow.undoing.young_objects import Point
from dynamo_lite.interpreter.flow import END

DEPTH = 30
"""How deep sides may lie in one another."""


class CannotMerge(Exception):
    """Two states that are no one state: the refusal `id`, if there is no other way."""

    def __init__(self, id: str, on_stack: bool = False, **names: Any) -> None:
        super().__init__(id)
        self.id, self.names = id, names
        self.on_stack = on_stack  # it is the value of an expression that is being evaluated that differs


class NoJoin(CannotMerge):
    """The sides of a branch can be merged nowhere in a caller of its frame; nothing is recorded."""


class HeldElsewhere(CannotMerge):
    """A side moves an iterator on that is held elsewhere, too, as in a variable of the caller."""


class FirstRoundDiffers(CannotMerge):
    """The first round of a loop leaves variables with another kind of value than before, as `total = total + x` does to
    a `total` that was 0. Of the rounds behind it that may not be so."""


class FewRounds(CannotMerge):
    """A loop that has to be counted has so few rounds that it is unrolled."""


class ToBeCounted(CannotMerge):
    """It has to be known how many rounds a `while` loop makes (loops/counting.py). is_exact: not only at most."""

    def __init__(self, why: str, is_exact: bool) -> None:
        super().__init__("branch-unsupported", why=why)
        self.is_exact = is_exact


def cannot_merge(id: str, **names: Any) -> NoReturn:
    raise CannotMerge(id, **names)


class BeginsAgain(BaseException):
    """What was run is undone, and something around is run in another way. Handlers of the program let it pass."""


class JoinsLater(BeginsAgain):
    """A branch within a side joins behind the place that the side runs to: the branch around has to join there, too.

    frame, at: the frame of the branch around, and the instruction. in_caller: not in that frame, but in its caller.
    """

    def __init__(self, frame: Any, at: int, in_caller: bool = False) -> None:
        super().__init__()
        self.frame, self.at, self.in_caller = frame, at, in_caller


class LeftFromWithin(BeginsAgain):
    """A loop that is also left by `return`, or by another way than its test's."""


def reported(recorder: Any, capture: Callable[[], Any]) -> Any:
    """What `capture` returns. An exception that it raises is none of the program's, which would see it as raised by one
    side of a branch: it ends the export, but for CannotMerge."""
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
    """What a frame holds at one place: enough to go on from there. `living` are all states that are kept.

    `callees`: calls that are running, innermost first, and what their frames hold; the frame waits for their results.
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
        """What it holds, and what the frames of the calls hold."""
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
    """What current sides or rounds began with, and when."""

    frame: Any
    state: FrameState
    point: Point


@dataclass
class Side:
    """One way from a branch to a stop, after it was undone.

    Attributes:
        level: the sub-graph that it was recorded into.
        pc: the instruction that it stopped at; END for a return.
        error: what it raised, else None.
        problem: why no merge with this side is right, else None.
        heap: (id of an object, part) → (the snapshot from before, what it holds now), for objects older than the side.
        young: ids of the objects that the side made. (The id of one that is gone can only be a younger one's.)
        new_facts: the facts of sizes that it added, and the symbols of before, if it is not kept yet.
        checks: facts about sizes that hold on this side only.
        reads: what the program read or wrote first, after this side.
        left_at: where it goes on, if it has left the loop around.
        symbols: the symbols of sizes that there were before it.
        copies: the copies of iterators that it has moved on, or could have.
        assumed: the condition on the sizes of inputs under which it is taken, of a branch on these.
        over: ids of the frames of generators that waited within `try` or `with`, and wait there no more.
        grads: whether a tensor from around that it changes in place requires grad after it, by the tensor's id.
    """

    level: Level
    pc: int = END
    state: FrameState | None = None
    result: Any = None
    error: BaseException | None = None
    problem: CannotMerge | None = None
    heap: dict[tuple[int, str], tuple[Any, Any]] = field(default_factory=dict)
    young: set[int] = field(default_factory=set)
    new_facts: tuple[Any, Any] = ((), ())
    checks: list[Any] = field(default_factory=list)
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

    def let_go(self) -> None:
        """The sides are merged: what they held may die when the program drops it."""
        if self.state is not None:
            self.state.let_go()
        self.copies.clear()

    def requires_grad(self, tensor: Any) -> bool:
        """Whether a tensor from around requires grad after it."""
        return self.grads.get(id(tensor), tensor.requires_grad)


@dataclass
class OpenLoop:
    """A loop whose body is being captured: jumps of `frame` in it stop at its tests, or where it is left.

    `truth_on` tells for each test which truth goes round again; `next_test` gives the test of a counted loop. `exits`
    are the other ways out (interpreter/flow/loops.py), `height` is the depth of the stack behind the loop, and
    `iterators` how many iterators lie above that at each exit, where it was seen. `filled`: variables for which a side
    that left the loop has no value, since they are not used there. `begin` is where a round begins, and `bounds` what
    holds, by the test that says so, in each round behind which there is another (loops/counting.py). `going`: numbers
    that depend on whether the loop is left, and what they are if it is not.
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

    @property
    def stops(self) -> set[int]:
        return {*self.again, self.leave, self.beyond, *self.exits} - {END}

    def left_by(self, exit: int | None) -> tuple[bool, ...]:
        """One truth for each exit: whether it is this one."""
        return tuple(other == exit for other in self.exits)


class Goes:
    """The test of a loop, turned so that True goes round again: stands on the stack where a round ends. `left_by`: for
    each exit of the loop whether it is left by that."""

    def __init__(self, value: Any, left_by: tuple[Any, ...] = ()) -> None:
        self.value, self.left_by = value, left_by
