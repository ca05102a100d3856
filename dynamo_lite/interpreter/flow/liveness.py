"""Which variables may be read before they are set: the usual backward analysis, with a bit for each variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamo_lite.interpreter.code.decode import ExceptionHandler

_READS = frozenset(
    {"LOAD_FAST", "LOAD_FAST_AND_CLEAR", "DELETE_FAST", "MAKE_CELL",
     "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_FROM_DICT_OR_DEREF"}
)  # fmt: skip
"""Instructions that need the contents of a variable's place: its value, or its cell."""


def live_variables(
    names: Sequence[str],
    args: Sequence[Any],
    successors: Sequence[tuple[int, ...]],
    handlers: Sequence[ExceptionHandler | None],
    end: int,
) -> list[int]:
    """For each instruction the variables that are live before it. An exception may lead from each to its handler."""
    count = len(names)
    live = [0] * count
    changed = True
    while changed:
        changed = False
        for index in range(count - 1, -1, -1):
            found = 0
            for other in successors[index]:
                if other != end:
                    found |= live[other]
            if names[index] == "STORE_FAST":
                found &= ~(1 << args[index])
            elif names[index] in _READS:
                found |= 1 << args[index]
            handler = handlers[index]
            if handler is not None:
                found |= live[handler.target]
            if found != live[index]:
                live[index] = found
                changed = True
    return live
