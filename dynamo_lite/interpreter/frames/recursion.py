"""Two recursion limits: the program's, which the interpreter counts, and CPython's, which must not be met first."""

from __future__ import annotations

import sys
from threading import RLock
from typing import Final

HOST_FRAMES_PER_CALL: Final = 6
"""Upper estimate of how many of CPython's frames one frame of the program takes."""

_LARGEST: Final = (1 << 31) - 1


class HostLimit:
    """CPython's limit while programs run: raised by the first running interpreter, put back by the last."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._running: set[int] = set()
        self.program_limit = self._raised = sys.getrecursionlimit()

    def enter(self, running: int) -> None:
        """An interpreter starts: its id."""
        with self._lock:
            self._running.add(running)
            if len(self._running) == 1:
                self._raise_to(sys.getrecursionlimit())

    def leave(self, running: int) -> None:
        """An interpreter ends. A limit set by the program (sys.setrecursionlimit) or another thread stays."""
        with self._lock:
            self._running.discard(running)
            if not self._running and sys.getrecursionlimit() == self._raised:
                sys.setrecursionlimit(self.program_limit)

    def set(self, limit: int) -> None:
        """The program calls sys.setrecursionlimit."""
        with self._lock:
            self._raise_to(limit)

    def _raise_to(self, limit: int) -> None:
        self.program_limit = limit
        sys.setrecursionlimit(min(limit * HOST_FRAMES_PER_CALL + 1000, _LARGEST))
        self._raised = sys.getrecursionlimit()


HOST_LIMIT: Final = HostLimit()
