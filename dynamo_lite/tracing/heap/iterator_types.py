"""The types of iterators written in C (and the generator): their position is in no snapshot.

Advancing one that lives on from call to call cannot be undone, and the program would replay the items of the export.
The tracer refuses an older one where the program reads it.
"""

from __future__ import annotations

import gc
import itertools
import warnings
from types import FunctionType, GeneratorType
from typing import Any

from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.interpreter.code.type_members import mro_of

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

known_iterators: dict[type, bool] = dict.fromkeys(ITERATORS, True)
"""`is_c_iterator` of the types that live as long as the process."""


def is_c_iterator(kind: type) -> bool:
    """Whether instances are iterators whose `__next__` is written in C (the position is in no attribute)."""
    answer = known_iterators.get(kind)
    if answer is None:
        mro = mro_of(kind) or ()
        step = next((vars(base)["__next__"] for base in mro if "__next__" in vars(base)), None)
        answer = step is not None and type(step) is not FunctionType
        if not is_changeable(kind):  # the classes of the program are not kept alive
            known_iterators[kind] = answer
    return answer


def reduced(iterator: Any) -> tuple[Any, ...]:
    """`iterator.__reduce__()`. Raises TypeError if there is none.

    The iterators of itertools have none from Python 3.14 on. That of a count is made here, from its step and its next
    number, which is in its text where C has it as a machine number.
    """
    if type(iterator) is not itertools.count or itertools.count.__reduce__ is not object.__reduce__:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # itertools: deprecated since 3.12, there until 3.14
            made: tuple[Any, ...] = iterator.__reduce__()
            return made
    *number, step = (part for part in gc.get_referents(iterator) if part is not itertools.count)
    if not number:
        number = [int(repr(iterator).removeprefix("count(").rstrip(")").partition(",")[0])]
    return itertools.count, (*number, step)


def check_read(tracer: Any, owner: Any, key: Any, value: Any) -> None:
    """An iterator that lives on from call to call would be replayed from its state at export."""
    heap = tracer.heap
    if heap.is_new(value) or heap.is_new(owner) or heap.is_newest(value):  # by the last look: no age is lost
        return
    heap.refresh()
    if heap.is_new(value) or heap.is_new(owner):
        return
    touched = {id(o) for o in tracer.journal.owners()}
    if id(owner) not in touched or tracer.journal.held_before({id(owner)}, {id(value)}):
        tracer.refuse("outside-iterator", what=f"the {type(value).__name__} in {key!r}")
