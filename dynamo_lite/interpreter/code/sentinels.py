"""Sentinels for CPython's NULL pointers: values that no program can hold, compared by identity.

Plain objects, because the garbage collector tracks the instances of any class that is written in Python, and
gc.get_objects() must not show these to the program.
"""

from __future__ import annotations

from types import CellType
from typing import Any, Final

UNBOUND: Final[Any] = object()
"""The value of a local variable that has none."""

NULL: Final[Any] = object()
"""On the value stack, beside a callable that has no `self`."""

MISSING: Final[Any] = object()
"""The default of a lookup that found nothing."""

STUB: Final[Any] = object()
"""The last constant of a code object that has the program's names but not its body (tracebacks.py, binding.py)."""


def cell_value(cell: CellType) -> Any:
    """The contents of a cell; UNBOUND if it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND
