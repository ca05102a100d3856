"""Which classes Python code made or may change, by CPython's flags of the type (Include/object.h)."""

from __future__ import annotations

from typing import Final

from dynamo_lite.interpreter.code.type_members import flags_of

HEAP_TYPE: Final = 1 << 9
"""Py_TPFLAGS_HEAPTYPE: made while the process runs, by a class statement, by `type()`, or by C code."""
IMMUTABLE_TYPE: Final = 1 << 8
"""Py_TPFLAGS_IMMUTABLETYPE: its attributes cannot be set. C code makes such heap types (functools.partial; since
CPython 3.12 deque and the itertools too)."""
HEAP_OR_IMMUTABLE: Final = HEAP_TYPE | IMMUTABLE_TYPE


def is_changeable(cls: type) -> bool:
    """Whether Python code made the class or may change it.

    False for a fixed class written in C, whether the type is static or, as more are in each version of CPython, a heap
    type. A few C types may be changed (`_random.Random`, those of pybind11), and count as Python's.
    """
    changeable: bool = flags_of(cls) & HEAP_OR_IMMUTABLE == HEAP_TYPE
    return changeable
