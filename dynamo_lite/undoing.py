"""Changes of a trace to its process, and their restoration if the trace is interrupted.

KeyboardInterrupt, and exceptions of signal handlers, come between any two instructions: before a `try` is entered,
within a `finally`. So each change of state that outlives the trace is registered before it is made (`changing`), and
removed when it is undone (`undone`). Changes left by an interruption are undone at the front (exclusive.py), whole:
each undo may be called before its change is made, and more than once.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final, NoReturn

Undo = Callable[[], None]


class _Changes(threading.local):
    def __init__(self) -> None:
        self.pending: list[Undo] = []  # innermost last
        self.handled: BaseException | None = None  # what the caller of the trace is handling


_changes = _Changes()
_MISSING: Any = object()


def changing(undo: Undo) -> Undo:
    """Register `undo` before the change that it undoes."""
    _changes.pending.append(undo)
    return undo


def undone(undo: Undo) -> None:
    """Undo a change. Does nothing if that has been done already: a generator may be closed late."""
    pending = _changes.pending
    if undo in pending:
        undo()
        pending.remove(undo)


def undo_all() -> None:
    """Undo the changes of an interrupted trace of this thread, the last change first."""
    pending = _changes.pending
    while pending:
        with suppress(Exception):  # the others are undone all the same
            pending[-1]()
        pending.pop()


class Interrupted(BaseException):
    """Carries an exception of a signal handler through a trace."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


class Waiting:
    """The exception of a signal handler during the main thread's trace (signals.py)."""

    error: BaseException | None = None
    is_due = False
    """Whether it is still to be raised. Read at each call of the program."""

    def raise_it(self) -> NoReturn:
        """At a safe point."""
        self.is_due = False
        assert self.error is not None
        raise Interrupted(self.error)


WAITING: Final = Waiting()


def begin() -> None:
    """A trace begins in this thread."""
    _changes.handled = sys.exception()
    WAITING.error, WAITING.is_due = None, False


def end() -> BaseException | None:
    """The trace has ended: the exception of a signal handler that it has met, if any."""
    error, WAITING.error, WAITING.is_due = WAITING.error, None, False
    _changes.handled = None
    return error


def in_flight(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those that were being handled when it was raised, but not those of the trace's caller."""
    while error is not None and error is not _changes.handled:
        yield error
        error = error.__context__


def interruption(error: BaseException) -> BaseException | None:
    """Return the exception that interrupted the trace, if any: `error`, or one before a failure at a block's end."""
    if WAITING.error is not None:
        return WAITING.error
    for found in in_flight(error):
        if isinstance(found, Interrupted):
            return found.error
        if not isinstance(found, (Exception, GeneratorExit)) and not type(found).__module__.startswith(_PACKAGE):
            return found
    return None


def pass_on(error: Exception | None = None) -> None:
    """Raise the exception that interrupted the trace, if `error` only follows from it or C code has dropped it."""
    found = WAITING.error if error is None else interruption(error)
    if found is not None:
        raise found


_PACKAGE = "dynamo_lite."


class changed:
    """A block in which something is changed that `undo` puts back."""

    __slots__ = ("_undo",)

    def __init__(self, undo: Undo) -> None:
        self._undo = undo

    def __enter__(self) -> None:
        _changes.pending.append(self._undo)

    def __exit__(self, *_: object) -> None:
        if self._undo in (pending := _changes.pending):
            self._undo()
            pending.remove(self._undo)


def attributes(owner: Any, *names: str) -> Undo:
    """An undo for attributes of a module or a class: they are as they are now."""
    before = {name: vars(owner).get(name, _MISSING) for name in names}

    def put_back() -> None:
        for name, value in before.items():
            if value is not _MISSING:
                setattr(owner, name, value)
            elif name in vars(owner):
                delattr(owner, name)

    return put_back
