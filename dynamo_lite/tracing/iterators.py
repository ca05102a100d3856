"""The types of iterators written in C (and the generator): their position is in no snapshot.

Advancing one that lives on from call to call cannot be undone, and the program would replay what it gave at export. The
tracer refuses one from outside where the program reads it.
"""

from __future__ import annotations

import itertools
from types import GeneratorType
from typing import Any

_ITERABLES: tuple[Any, ...] = (
    [],
    (),
    range(0),
    range(1 << 70),
    {},
    {}.values(),
    {}.items(),
    set(),
    "",
    "é",
    b"",
    bytearray(),
)
_REVERSIBLE: tuple[Any, ...] = ([], (), {}, {}.values(), {}.items())

ITERATORS: frozenset[type] = frozenset(
    [
        GeneratorType,
        map,
        filter,
        zip,
        enumerate,
        type(iter(int, 0)),
        *(type(iter(sample)) for sample in _ITERABLES),
        *(type(reversed(sample)) for sample in _REVERSIBLE),
        *(kind for kind in vars(itertools).values() if isinstance(kind, type)),
    ]
)
