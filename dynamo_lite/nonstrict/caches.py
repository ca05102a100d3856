"""functools.lru_cache: entries that a run in CPython adds to the program's caches are removed again.

A cache may hold objects of the run (FakeTensors). Its statistics cannot be set, only reset by emptying it.
Checked against CPython 3.11, 3.12 and 3.13, as features/caches/lru_cache.py.
"""

from __future__ import annotations

import gc
from typing import Any


class Cache:
    """A cached function and what its cache holds before the run."""

    def __init__(self, wrapper: Any) -> None:
        self._wrapper = wrapper
        self._before = wrapper.cache_info()
        self._keys = set(self._entries()) if self._before.maxsize is None and self._before.currsize else set()

    def _entries(self) -> dict[Any, Any]:
        found: dict[Any, Any] = gc.get_referents(self._wrapper)[-6]
        return found

    def put_back(self) -> str | None:
        """Remove the entries that the run has added. Returns the text of the note, if one is needed."""
        now, before = self._wrapper.cache_info(), self._before
        if now == before:
            return None
        name = getattr(self._wrapper, "__qualname__", "a function")
        if now.misses != before.misses or now.currsize != before.currsize:
            if before.maxsize is None and before.currsize:
                entries = self._entries()
                for key in [key for key in entries if key not in self._keys]:
                    del entries[key]
            else:
                self._wrapper.cache_clear()
                return f"the lru_cache of {name} is emptied: the run has put results of its own into it"
        return f"the statistics of the lru_cache of {name} count the calls of the run"
