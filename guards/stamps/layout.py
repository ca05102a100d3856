"""Where this CPython keeps what a stamp reads: found out and tried on the interpreter that runs, never assumed.

Dicts have a version tag (PEP 509) up to CPython 3.12: a number that no other state of any dict has. It was removed in
3.13, where the word at its place does not change with writes; the trial finds that, and there are no stamps.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import sys
import sysconfig
from collections.abc import Callable, Mapping
from types import CellType, FunctionType
from typing import Any, NamedTuple, cast

WORD = 8
TYPE = 8
"""Of an object: the word that names its type."""
_VERSION = 24  # of a dict, after its reference count, type and number of items
_SIZE, _ITEMS = 16, 24  # of a list: its length, the address of its items
_CONTENTS = 16  # of a cell

IS_HEAP_TYPE = 1 << 9
HAS_MANAGED_DICT = 1 << 4
"""Flags of a type (Include/object.h)."""
_MANAGED_DICT = -24

FUNCTION_PARTS = ("__code__", "__defaults__", "__kwdefaults__", "__closure__", "__globals__")

_read = ctypes.c_uint64.from_address


def word(address: int) -> int:
    """The machine word at an address."""
    return _read(address).value


class Layout(NamedTuple):
    """Offsets in bytes. `mro` is that of the method resolution order in a type, `function` those of FUNCTION_PARTS."""

    version: int
    list_size: int
    list_items: int
    cell: int
    mro: int
    function: tuple[int, ...]

    def dict_slot(self, owner: Any) -> int | None:
        """The address of the word that names the `__dict__` of an instance, if there is one."""
        kind = type(owner)
        if kind.__flags__ & HAS_MANAGED_DICT:
            return id(owner) + _MANAGED_DICT
        return id(owner) + kind.__dictoffset__ if kind.__dictoffset__ > 0 else None


@functools.cache
def layout() -> Layout | None:
    """None where no stamp can be made: no version tags, another interpreter, no global lock."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != WORD:
        return None
    if sysconfig.get_config_var("Py_GIL_DISABLED") or sys.version_info >= (3, 13):
        return None
    mro, parts = _offset_of_mro(), _offsets_of_parts()
    if not mro or not parts:
        return None
    found = Layout(_VERSION, _SIZE, _ITEMS, _CONTENTS, mro, parts)
    if word(id(found) + TYPE) != id(Layout):
        return None
    return found if all(trial(found) for trial in (_tags_tell, _lists_tell, _cells_tell, _functions_tell)) else None


class _Base:
    pass


class _Probe(_Base):
    """What is written to in the trials."""


class _OfUser(dict[str, Any]):
    pass


def _offset_of_mro() -> int | None:
    size: int = cast(Any, type).__basicsize__  # of a class's own object: a member of `type` as its instance
    words = range(0, size - WORD, WORD)
    places = [offset for offset in words if word(id(_Probe) + offset) == id(_Probe.__mro__)]
    return places[0] if len(places) == 1 and word(id(_Base) + places[0]) == id(_Base.__mro__) else None


def _assign(probe: Any) -> None:
    for number in range(100):  # often enough for CPython to specialise the instruction
        probe.value = number


WRITES: Mapping[str, Callable[[Any], Any]] = {
    "a new item": lambda d: d.__setitem__("new", 1),
    "another value": lambda d: d.__setitem__("value", object()),
    "del": lambda d: d.__delitem__("value"),
    "pop": lambda d: d.pop("value"),
    "popitem": lambda d: d.popitem(),
    "clear": lambda d: d.clear(),
    "update": lambda d: d.update(value=object()),
    "|=": lambda d: d.__ior__({"value": object()}),
    "setdefault": lambda d: d.setdefault("new"),
    "__init__": lambda d: d.__init__(value=object()),
    "global": lambda d: exec("global value\nvalue = 7", d),
}
"""Ways to change a dict that has "value"."""

OBJECT_WRITES: Mapping[str, Callable[[Any], Any]] = {
    "setattr": lambda probe: setattr(probe, "value", object()),
    "a new attribute": lambda probe: setattr(probe, "new", object()),
    "delattr": lambda probe: delattr(probe, "value"),
    "object.__setattr__": lambda probe: object.__setattr__(probe, "value", object()),
    "object.__delattr__": lambda probe: object.__delattr__(probe, "value"),
    "assignments": _assign,
}
"""Ways to change an object that has `value`."""


def _tags_tell(found: Layout) -> bool:
    """Whether each write gives a dict a tag that no dict had before, and reading leaves the tag alone."""
    seen: set[int] = set()
    kinds: tuple[Any, ...] = (dict, _OfUser)
    for kind, write in itertools.product(kinds, WRITES.values()):
        values = kind(value=1, other=2)
        if not _is_told(values, lambda: write(values), found, seen):  # noqa: B023
            return False
    for write in (*WRITES.values(), *OBJECT_WRITES.values()):
        probe: Any = _Probe()
        probe.value, probe.other = 1, 2
        values = probe.__dict__
        target = probe if write in OBJECT_WRITES.values() else values
        slot = found.dict_slot(probe)
        if not _is_told(values, lambda: write(target), found, seen) or word(slot or id(0)) != id(values):  # noqa: B023
            return False
    return True


def _is_told(values: dict[str, Any], write: Callable[[], Any], found: Layout, seen: set[int]) -> bool:
    before = word(id(values) + found.version)
    _ = (values.get("value"), len(values), [*values.items()], "new" in values, values == {}, repr(values))
    if word(id(values) + found.version) != before:
        return False
    write()
    after = word(id(values) + found.version)
    is_new = after != before and after not in seen
    seen |= {before, after}
    return is_new


def _lists_tell(found: Layout) -> bool:
    items = [object(), object()]
    at = word(id(items) + found.list_items)
    if word(id(items) + found.list_size) != 2 or [word(at), word(at + WORD)] != [*map(id, items)]:
        return False
    items[1] = items
    return word(at + WORD) == id(items)


def _cells_tell(found: Layout) -> bool:
    cell = CellType(found)
    return word(id(cell) + found.cell) == id(found)


def _offsets_of_parts() -> tuple[int, ...]:
    """Empty if a part was not found, or is found twice."""
    filled = layout

    def probe(a: Any = 1, *, b: Any = 2) -> Any:
        return filled

    offsets = range(2 * WORD, FunctionType.__basicsize__, WORD)
    found = [[at for at in offsets if word(id(probe) + at) == id(getattr(probe, part))] for part in FUNCTION_PARTS]
    return tuple(places[0] for places in found) if all(len(places) == 1 for places in found) else ()


def _functions_tell(found: Layout) -> bool:
    def probe(a: Any = 1, *, b: Any = 2) -> Any:
        return found

    def other(a: Any = 3) -> Any:
        return found, a

    now: Any = probe
    for part, value in (("__code__", other.__code__), ("__defaults__", (3,)), ("__kwdefaults__", {"b": 3})):
        setattr(now, part, value)
        if word(id(now) + found.function[FUNCTION_PARTS.index(part)]) != id(value):
            return False
    del now.__defaults__
    return word(id(now) + found.function[FUNCTION_PARTS.index("__defaults__")]) == 0
