"""One trace at a time in a process; and a process that is as before if it is interrupted.

A trace changes state that all threads share: classes of torch, the collector, the limit of recursion. So another
thread's trace waits for its end, and so does torch.export, which changes settings of the process that a trace reads.

KeyboardInterrupt, and exceptions of signal handlers, wait for a safe point (signals.py). One that has waited for long
is raised at any instruction, so that a block is left without its end; the changes left then are undone here:
registered ones (undoing.py), and torch's state of the thread. What a signal handler raises reaches neither the handlers
of the program nor those of this package, which would take it for an error of their own calls: it passes as
`Interrupted`.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, TypeVar

import torch

from dynamo_lite import undoing
from dynamo_lite.folders import OWN
from dynamo_lite.signals import Signals
from dynamo_lite.torch_internals._torch_dispatch import OtherExports, never_compiled
from dynamo_lite.torch_internals._torch_state import ThreadState

_F = TypeVar("_F", bound=Callable[..., Any])
_lock = threading.RLock()
_others = OtherExports(_lock)
os.register_at_fork(after_in_child=_lock._at_fork_reinit)  # type: ignore[attr-defined]


def exclusive(fn: _F) -> _F:
    """Decorates a tracing function: it runs alone, unseen by TorchDynamo, and an interruption leaves no changes."""

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if _lock._is_owned():  # type: ignore[attr-defined]  # a part of a trace
            return fn(*args, **kwargs)
        alone = _Alone()
        try:
            try:
                alone.begin()
                result = fn(*args, **kwargs)
                undoing.pass_on()
            except BaseException as error:
                alone.put_back(error)
                raise
        except BaseException as error:  # another one has come meanwhile
            alone.put_back(error)
            cause = undoing.interruption(error)
            if cause is None or cause is error:
                raise
            raise cause from None
        finally:
            try:
                alone.end()
            finally:
                alone.end()
            late, alone.late = alone.late, None
            if late is not None and late is not sys.exception():
                raise late from None
        return result

    return never_compiled(wrapper)


class _Alone:
    """The time in which this thread has the lock."""

    _thread: ThreadState | None = None
    _freezes = False
    """Whether the user has called gc.freeze(), which a trace undoes."""
    late: BaseException | None = None
    """What a signal handler has raised."""

    def __init__(self) -> None:
        self._signals = Signals()

    def begin(self) -> None:
        """Waits for the traces of other threads."""
        _lock.acquire()
        _others.stop()
        undoing.begin()
        self._freezes = gc.get_freeze_count() > 0
        self._thread = ThreadState()
        self._signals.begin()

    def put_back(self, error: BaseException) -> None:
        """Undo the changes of an interrupted trace."""
        if self._thread is None:
            return
        is_interrupted = undoing.interruption(error) is not None
        if is_interrupted:
            _clear_frames(undoing.in_flight(error))
        undoing.undo_all()
        if is_interrupted:
            self._thread.restore()

    def end(self) -> None:
        """Lets the next trace begin. It may be called again."""
        self._signals.end()
        if self._freezes and not gc.get_freeze_count():
            gc.collect()  # what the trace has left is not to be kept for good
            gc.freeze()
        if _lock._is_owned():  # type: ignore[attr-defined]
            self.late = undoing.end()
            _others.let()
        while _lock._is_owned():  # type: ignore[attr-defined]
            _lock.release()


_CLEARED = (*OWN, os.path.dirname(torch.__file__) + os.sep, contextlib.__file__)


def _clear_frames(errors: Iterator[BaseException]) -> None:
    """Clear the frames that were left: the ends of blocks that have not run yet run now, and not when the traceback
    dies."""
    frames = []
    for error in errors:
        traceback: TracebackType | None = error.__traceback__
        while traceback is not None:
            frames.append(traceback.tb_frame)
            traceback = traceback.tb_next
    for frame in reversed(frames):
        if frame.f_code.co_filename.startswith(_CLEARED):
            with contextlib.suppress(RuntimeError):  # one that goes on
                frame.clear()
