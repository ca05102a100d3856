"""The vocabulary: the effects of C callables that a trace has to know."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class CallKind(Enum):
    """The effect of a call on a trace.

    PURE       its result depends on its arguments (and their contents) alone, and it changes nothing
    CALLS_BACK pure except for the Python functions that it calls, which are interpreted
    OPERATOR   torch's: recorded, or a query of a tensor that a fake tensor answers
    MUTATES    changes arguments of which the journal takes a snapshot first
    OPAQUE     reads or moves the state of arguments of which no snapshot can be taken: those must be the program's own
    ARRAYS     numpy's: pure, except for the arrays among its arguments that it may write into
    LOCK       takes or gives back a lock: every lock must be given back by the end
    EFFECT     writes output and returns nothing of use: skipped, with a note
    UNRECORDABLE  gives another answer in each call (an address, the clock, a random number)
    RNG        advances a random number generator that existed before the call
    PROCESS    changes a setting of the whole process
    WORLD      files, the network, other processes
    UNKNOWN    in no table
    """

    PURE = "pure"
    CALLS_BACK = "calls back"
    OPERATOR = "torch operator"
    MUTATES = "mutates"
    OPAQUE = "opaque state"
    ARRAYS = "pure except for arrays"
    LOCK = "lock"
    EFFECT = "effect"
    UNRECORDABLE = "unrecordable"
    RNG = "random number generator"
    PROCESS = "process state"
    WORLD = "outside world"
    UNKNOWN = "unknown"


class ArgumentPosition(NamedTuple):
    """An argument: its position, and its name where it may be passed by keyword."""

    position: int
    name: str | None = None


class CallVerdict(NamedTuple):
    """A callable's kind; which arguments it changes (MUTATES, OPAQUE, LOCK), and which part of them.

    `part` is "items" (a container's), "attributes", "memory" (that of a buffer) or "members" (the attribute of a C
    descriptor: argument `where[0]` of the descriptor's own method).
    """

    kind: CallKind
    where: tuple[ArgumentPosition, ...] = ()
    part: str = "items"


PURE = CallVerdict(CallKind.PURE)
PYTHON = CallVerdict(CallKind.PURE, part="none")  # no C callable: what it does is what its own code does
ARRAYS = CallVerdict(CallKind.ARRAYS)
CALLS_BACK = CallVerdict(CallKind.CALLS_BACK)
OPERATOR = CallVerdict(CallKind.OPERATOR)
EFFECT = CallVerdict(CallKind.EFFECT)
UNRECORDABLE = CallVerdict(CallKind.UNRECORDABLE)
RNG = CallVerdict(CallKind.RNG)
PROCESS = CallVerdict(CallKind.PROCESS)
WORLD = CallVerdict(CallKind.WORLD)
UNKNOWN = CallVerdict(CallKind.UNKNOWN)
LOCK = CallVerdict(CallKind.LOCK, (ArgumentPosition(0),))


def mutates(position: int = 0, name: str | None = None, part: str = "items") -> CallVerdict:
    """Changes one argument."""
    return CallVerdict(CallKind.MUTATES, (ArgumentPosition(position, name),), part)


def opaque(position: int = 0, name: str | None = None) -> CallVerdict:
    """Uses the state of one argument, of which no snapshot can be taken."""
    return CallVerdict(CallKind.OPAQUE, (ArgumentPosition(position, name),))
