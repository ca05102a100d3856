"""Guards that differ in the numbers of their paths only, as one row: `layers[0].eps == 1`, `layers[1].eps == 1`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from dynamo_lite.guards.guard import Guard

_NUMBER = re.compile(r"\[\d+\]|(?<=\.)\d+(?=[.\[])")


def alike(guards: Iterable[Guard], line: Callable[[Guard], str]) -> list[list[Guard]]:
    """The guards in lists of those that differ in indices only and that the same `line` of the program needed."""
    found: dict[tuple[str, str], list[Guard]] = {}
    for guard in guards:
        found.setdefault((_NUMBER.sub("[*]", guard.text), line(guard)), []).append(guard)
    return [*found.values()]


def row_of(guards: list[Guard]) -> str:
    """The text of the first of such a list, with the number of the others."""
    more = len(guards) - 1
    return guards[0].text + (f" (and {more} like it)" if more else "")
