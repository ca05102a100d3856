"""How a guard set is checked: the first times guard by guard, then by a stamp; where there is none, by one function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamo_lite.guards.compiler import Check, Compiler
from dynamo_lite.guards.guard import Guard
from dynamo_lite.guards.source import Source
from dynamo_lite.guards.stamps import Stamp, stamped
from dynamo_lite.guards.table import Table

FIRST = 12
"""So many checks go through the table: compiling the function costs as much as a dozen of them."""
LONGEST_WAIT = 1024


class Checks:
    """The guards, without those `left_out` by index. `run` says which does not hold.

    After a check that passed a stamp is made at the next one that passes. When it is broken before it has served, the
    next one is made later, each time after twice as many checks: a place that is written all the time does not cost a
    stamp each time.
    """

    def __init__(
        self,
        guards: Sequence[Guard],
        arguments: dict[str, Source],
        namespace: dict[str, Any],
        left_out: frozenset[int] = frozenset(),
    ) -> None:
        self._parts = guards, arguments, namespace
        self._left_out = left_out
        self._check: Check = Table(guards, arguments, namespace, left_out).check
        self._full = 0  # checks so far without a stamp
        self._known: tuple[Stamp, Check] | None = None  # a stamp, and the check of what it does not answer for
        self._rest: tuple[frozenset[int], Check] | None = None
        self._served = 0  # checks by the stamp
        self._passed = 0  # since there was a stamp
        self._wait = 1

    @property
    def stamp(self) -> Stamp | None:
        """What the next check looks at first."""
        return self._known[0] if self._known is not None else None

    def run(self, mod: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, Exception | None]:
        """(the index of the first guard that does not hold or -1, what reading its value raised)."""
        known = self._known
        if known is not None:
            stamp, rest = known
            if stamp.fits(mod) and stamp.holds():
                self._served += 1
                return rest(mod, args, kwargs)
            self._known = None
            self._wait = 1 if self._served > LONGEST_WAIT else min(2 * self._wait, LONGEST_WAIT)
        outcome = self._whole(mod, args, kwargs)
        if outcome[0] < 0:
            self._passed += 1
            if self._passed > self._wait:
                self._passed = 0
                self._make_stamp(mod, args, kwargs)
        return outcome

    def _whole(self, mod: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, Exception | None]:
        self._full += 1
        if self._full == FIRST + 1:
            self._check = Compiler(*self._parts, self._left_out).compile()
        return self._check(mod, args, kwargs)

    def _make_stamp(self, mod: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The guards are checked again between the making of the words and the first look at them: see `stamped`."""
        guards = self._parts[0]
        made = stamped(mod, guards, [index for index, _ in enumerate(guards) if index not in self._left_out])
        if made is None:
            self._wait = LONGEST_WAIT
            return
        rest = self._rest
        if rest is None or rest[0] != made.covered:
            self._rest = rest = made.covered, Compiler(*self._parts, self._left_out | made.covered).compile()
        if self._check(mod, args, kwargs)[0] < 0 and made.holds():
            self._known, self._served = (made, rest[1]), 0
