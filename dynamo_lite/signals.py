"""Signals that arrive during a trace in the main thread: what their handlers raise waits for a safe point.

CPython calls a handler between any two instructions. An exception there may be within a callback of C code, which
replaces it (torch's argument parser makes it a TypeError), drops it (a weak reference's callback), or ends the process
(C++ that must not throw). So during a trace the handlers are wrapped: an exception of one is kept, and raised by the
next call of the program, the next operator, or at the latest at the trace's end. If none of these comes in time,
because the program sleeps or a proof is long, it is raised where the process is (`_PATIENCE`).
"""

from __future__ import annotations

import _signal
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, Final

from dynamo_lite.undoing import WAITING, Interrupted

_PATIENCE: Final = 1.0
"""Seconds that an exception waits for a safe point; doubled after each time that it was raised and was dropped."""
_NUMBERS: Final = sorted(map(int, _signal.valid_signals()))


class Signals:
    """The handlers of this process's signals during a trace."""

    def __init__(self) -> None:
        self._wrapped: dict[int, tuple[Any, Any]] = {}  # signal → its handler, and ours around it
        self._ended = threading.Event()
        self._overdue = False
        self._sending = threading.Lock()

    def begin(self) -> None:
        """Wrap the handlers. Only the main thread calls them, so another thread's trace has nothing to wrap."""
        if threading.get_ident() != threading.main_thread().ident:
            return
        for number in _NUMBERS:
            handler = _signal.getsignal(number)
            if callable(handler):
                self._wrapped[number] = handler, partial(self._handle, handler)
                _signal.signal(number, self._wrapped[number][1])

    def end(self) -> None:
        """Put the handlers back; those that the program set itself stay. It may be called again."""
        with self._sending:  # a signal that was sent has arrived
            self._ended.set()
        for number, (handler, ours) in self._wrapped.items():
            if _signal.getsignal(number) is ours:
                _signal.signal(number, handler)

    def _handle(self, handler: Callable[[int, FrameType | None], Any], number: int, frame: FrameType | None) -> Any:
        if self._overdue:
            self._overdue = False
            if not self._ended.is_set() and WAITING.error is not None:
                raise Interrupted(WAITING.error)
            return None
        try:
            return handler(number, frame)
        except BaseException as error:
            if WAITING.error is None:
                WAITING.error, WAITING.is_due = error, True
                threading.Thread(target=self._send_again, args=(number,), daemon=True).start()
            return None

    def _send_again(self, number: int) -> None:
        patience, main = _PATIENCE, threading.main_thread().ident
        while not self._ended.wait(patience):
            with self._sending:
                if self._ended.is_set() or main is None:
                    return
                self._overdue = True
                _signal.pthread_kill(main, number)
            patience *= 2
