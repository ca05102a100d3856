"""Locks of the program: acquiring one is an effect unless it is released, and a wait that cannot end is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from dynamo_lite.tracing.vocabulary.program_points import Mark

_TAKES = frozenset({"acquire", "acquire_lock", "__enter__"})
_GIVES_BACK = frozenset({"release", "release_lock", "__exit__"})
PATIENCE: Final = 3.0
"""Seconds after which a lock that something else holds is taken for one that will not be released."""


class HeldLock(NamedTuple):
    """A lock, how often it was taken more than given back, and where the program began that.

    tried: something else held it when the program tried to take it
    """

    lock: Any
    taken: int
    mark: Mark
    tried: bool = False


class Locks:
    """How often each lock was taken more than given back. `refuse` ends the trace.

    A failed attempt to take a lock counts, since it may succeed in a later call; but not of a lock that the program
    itself holds (this is how threading.Condition tests whether its lock is taken).
    """

    def __init__(self, refuse: Callable[[str], Any], mark: Callable[[], Mark]) -> None:
        self._counts: dict[int, HeldLock] = {}
        self._refuse = refuse
        self._mark = mark

    def before_call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """`name` of the lock `args[0]` is about to be called."""
        step = 1 if name in _TAKES else -1 if name in _GIVES_BACK else 0
        if not args or not step:
            return
        known = self._counts.get(id(args[0]))
        lock, count, _, tried = known if known is not None else HeldLock(args[0], 0, self._mark())
        if step > 0 and hasattr(lock, "locked") and lock.locked() and not _is_reentrant(lock):
            blocking, timeout = _how(args, kwargs)
            if count > 0 and not blocking:
                return
            if blocking and timeout < 0:
                self._wait(lock, count > 0)
            else:
                tried = True
        mark = known.mark if known is not None and known.taken else self._mark()
        self._counts[id(lock)] = HeldLock(lock, count + step, mark, tried)

    def _wait(self, lock: Any, is_own: bool) -> None:
        """The program waits until the lock is free. For one that it holds itself the wait would never end."""
        if is_own:
            self._refuse("waits for a lock that it has taken itself")
        if not lock.acquire(timeout=PATIENCE):
            self._refuse("waits for a lock that is taken already, and was not released within some seconds")
        lock.release()

    def unbalanced(self) -> list[HeldLock]:
        """Each lock that is not as it was."""
        return [held for held in self._counts.values() if held.taken]

    def counts(self) -> dict[int, int]:
        """id of each lock that is not as it was → how often it was taken more than given back."""
        return {id(held.lock): held.taken for held in self.unbalanced()}

    def restore(self) -> None:
        """Release the locks that the program did not release, and take again those of others that it released."""
        for lock, count, _, _ in self.unbalanced():
            try:
                for _ in range(count):
                    lock.release()
                for _ in range(-count):
                    lock.acquire(False)
            except RuntimeError:
                continue  # the attempt to take it had failed
        self._counts.clear()


def describe(held: HeldLock) -> str:
    """Describe the effect of the program on a lock that it leaves in another state."""
    kind = "an RLock" if _is_reentrant(held.lock) else "a lock"
    if held.tried:
        return f"tries to take {kind} from before the call that something else may hold: whether it gets it varies"
    if held.taken > 0:
        return f"takes {kind} from before the call and does not release it, so that the next call finds it taken"
    return f"releases {kind} from before the call that it has not taken"


def _is_reentrant(lock: Any) -> bool:
    return type(lock).__name__ == "RLock"


def _how(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, float]:
    """`blocking` and `timeout` of a call of acquire(); `__enter__` has neither."""
    blocking = args[1] if len(args) == 2 or len(args) == 3 else kwargs.get("blocking", True)
    timeout = args[2] if len(args) == 3 else kwargs.get("timeout", -1)
    return bool(blocking), timeout
