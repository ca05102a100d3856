"""Locks of the program: taking one is an effect unless it is given back."""

from __future__ import annotations

from typing import Any

_TAKES = frozenset({"acquire", "acquire_lock", "__enter__"})
_GIVES_BACK = frozenset({"release", "release_lock", "__exit__"})


class Locks:
    """How often each lock was taken more than given back. A failed attempt to take one counts: it may succeed later."""

    def __init__(self) -> None:
        self._counts: dict[int, tuple[Any, int]] = {}

    def before_call(self, name: str, args: tuple[Any, ...]) -> None:
        """`name` of the lock `args[0]` is about to be called."""
        step = 1 if name in _TAKES else -1 if name in _GIVES_BACK else 0
        if args and step:
            lock, count = self._counts.get(id(args[0]), (args[0], 0))
            self._counts[id(lock)] = lock, count + step

    def unbalanced(self) -> list[tuple[Any, int]]:
        """(lock, how often it was taken more than given back) for each that is not as it was."""
        return [row for row in self._counts.values() if row[1]]

    def restore(self) -> None:
        """Give back what the program did not, and take again what it gave back of others'."""
        for lock, count in self.unbalanced():
            try:
                for _ in range(count):
                    lock.release()
                for _ in range(-count):
                    lock.acquire(False)
            except RuntimeError:
                continue  # the attempt to take it had failed
        self._counts.clear()
