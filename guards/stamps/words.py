"""Machine words at addresses, all compared at once.

Words come in levels: a word of level 0 lies in an object that the stamp keeps alive, one of a higher level where a word
of the level before points to. A level is read only when the ones before it are as expected.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

from dynamo_lite.guards.stamps.layout import WORD, word

LEVELS = 3


class Words:
    """Addresses with what has to be there."""

    def __init__(self) -> None:
        self._levels: list[dict[int, int]] = [{} for _ in range(LEVELS)]

    def __len__(self) -> int:
        return sum(map(len, self._levels))

    def keep(self, address: int, level: int = 0) -> int:
        """The word at an address has to stay what it is. Returns what it was when it was kept first."""
        known = self._levels[level].get(address)
        if known is None:
            known = self._levels[level][address] = word(address)
        return known

    def hold(self) -> bool:
        """Whether all words are as expected, one by one."""
        return all(word(address) == expected for level in self._levels for address, expected in level.items())

    def reader(self) -> Callable[[], bool]:
        """A function: whether all words are as expected. ImportError without numpy."""
        steps = [_gathered(level) for level in self._levels if level]

        def holds() -> bool:
            for take, at, expected in steps:  # noqa: SIM110  a generator would cost as much as a level
                if take(at, None, None, "clip").tobytes() != expected:  # no index is clipped; "raise" looks at each
                    return False
            return True

        return holds


def _gathered(words: dict[int, int]) -> tuple[Any, ...]:
    """(the function that gathers, its index, the bytes expected). Nothing of it is written: threads may share it."""
    import numpy as np

    addresses = np.array(sorted(words), np.int64)
    low, high = int(addresses[0]), int(addresses[-1])
    memory: Any = np.ctypeslib.as_array((ctypes.c_uint64 * ((high - low) // WORD + 1)).from_address(low))
    expected = b"".join(words[address].to_bytes(WORD, sys.byteorder) for address in sorted(words))
    return memory.take, (addresses - low) // WORD, expected
