"""Memory that several objects share: numpy arrays and their views, memoryviews, bytearrays, arrays.

Writing through one changes the others. The journal takes its snapshot of the object that owns the memory.
"""

from __future__ import annotations

import array
import ctypes
import gc
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, Protocol

from dynamo_lite.value_types import HOLD_NO_FUNCTIONS

PARTS = frozenset({"flat", "flags"})
"""Attributes of a numpy array that give a new object each time, through which the array can be changed."""
_DATA = frozenset({"flat", "real", "imag"})
"""Attributes of a numpy array whose assignment writes into its memory."""


class WatchesWrites(Protocol):
    """The part of a tracer that a write into shared memory concerns."""

    reads: Any
    writes: Any

    def refuse(self, id: str, **names: Any) -> NoReturn: ...


def writes_data(owner: Any, key: Any) -> bool:
    """Whether `owner.key = ...` writes into the memory of an array."""
    return key in _DATA and is_ndarray(owner)


def owners(value: Any) -> Iterator[Any]:
    """`value` and the objects whose memory it shows."""
    seen: set[int] = set()
    while value is not None and id(value) not in seen:
        seen.add(id(value))
        yield value
        if type(value) is memoryview:
            value = value.obj
        else:
            value = value.base if _is_numpys(value) else None


def root(value: Any) -> Any:
    """The object that owns the memory which `value` shows: itself, unless it is a view."""
    return [*owners(value)][-1]


def array_of_objects(value: Any) -> Any:
    """The numpy array of objects whose items `value` shows; None if it shows other memory."""
    owner = root(value)
    return owner if is_ndarray(owner) and owner.dtype.hasobject else None


def held_by(array: Any) -> set[int]:
    """Return the ids of items of an array of objects, also in tuples and dicts that the collector does not track."""
    todo, found = [_items(array)], set[int]()
    while todo:
        for item in todo.pop():
            if id(item) in found:
                continue
            found.add(id(item))
            if is_ndarray(item) and item.dtype.hasobject:
                todo.append(_items(item))
            elif type(item) is tuple:
                todo.append(item)
            elif type(item) is dict and not gc.is_tracked(item):
                todo.append(item.values())
    return found


def _items(array: Any) -> Any:
    """Return the items of an array, in one row; a record is a tuple."""
    import numpy

    return numpy.ndarray.tolist(numpy.ndarray.ravel(array))


def touch(tracer: WatchesWrites, value: Any) -> None:
    """The memory that `value` shows is about to change. Refuses what no snapshot can be taken of."""
    tracer.reads.memory_of(value)
    for owner in owners(value):
        if id(owner) in tracer.writes.observed_at:
            tracer.refuse("constant-mutated", target=f"a {type(owner).__name__} whose memory a tensor shows")
        if type(owner) is memoryview or (_is_numpys(owner) and not is_ndarray(owner)):
            continue  # it has no memory of its own
        tracer.writes.touch(owner, "items")


def is_ndarray(value: Any) -> bool:
    """Whether `value` is a numpy array (False while numpy is not loaded)."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and issubclass(type(value), getattr(numpy, "ndarray", ()))


def is_new_array(result: Any, operands: tuple[Any, ...]) -> bool:
    """Whether `result` of numpy's operator, or subscript, of `operands` is a numpy array with memory of its own.

    False for a view, an item of an array of objects, and the result of a Python class's own operator.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None or type(result) is not numpy.ndarray or result.base is not None:
        return False
    arrays = [operand for operand in operands if issubclass(type(operand), (numpy.ndarray, numpy.generic))]
    if any(array is result or array.dtype.hasobject for array in arrays):
        return False
    numbers = sum(type(operand) in (int, float, bool, complex) for operand in operands)
    return bool(arrays) and len(arrays) + numbers == len(operands)


def is_of_its_own(owner: Any, args: tuple[Any, ...]) -> bool:
    """Whether the array `owner`, of which a numpy function returned a view, shares no memory with its arguments.

    Checked only for arrays and numbers, and lists of them: False for other arguments, which may hold arrays.
    """
    parts = [part for arg in args for part in (arg if type(arg) in (list, tuple) else (arg,))]
    arrays = [part for part in parts if is_ndarray(part)]
    if any(type(part) not in HOLD_NO_FUNCTIONS and not _is_numpys(part) for part in parts):
        return False
    return is_ndarray(owner) and not any(root(array) is owner or array.dtype.hasobject for array in arrays)


def _is_numpys(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and issubclass(type(value), (numpy.ndarray, numpy.flatiter))


def is_memory(value: Any) -> bool:
    """Whether writing an item of `value` writes into memory that others may show."""
    return type(value) in (bytearray, memoryview, array.array) or _is_numpys(value)


class _Kinds(dict[type, bool]):
    """Whether instances of a class show memory that a tensor may show as well (`is_memory`)."""

    def __missing__(self, kind: type) -> bool:
        numpy = sys.modules.get("numpy")
        shows = kind in (bytearray, memoryview, array.array) or (
            numpy is not None and issubclass(kind, (numpy.ndarray, numpy.flatiter))
        )
        if kind.__module__ != "numpy" or numpy is not None:
            self[kind] = shows
        return shows


KINDS = _Kinds()


def extent(value: Any) -> tuple[int, int] | None:
    """The addresses of the first byte that `value` shows and of the end of the last; None if it shows none."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.flatiter):
        value = value.base
    if type(value) is memoryview and not value.c_contiguous:
        return extent(value.obj)
    if is_ndarray(value):
        interface = value.__array_interface__
        start, used = interface["data"][0], value.itemsize
        steps = [(n - 1) * s for n, s in zip(value.shape, value.strides)]
        low, high = sum(s for s in steps if s < 0), sum(s for s in steps if s > 0)
        return (start + low, start + high + used) if value.size else None
    with memoryview(value) as shown:
        size = shown.nbytes
        if not size:
            return None
        if not shown.readonly:
            start = ctypes.addressof(ctypes.c_char.from_buffer(shown.cast("B")))
        elif numpy is not None:
            start = numpy.frombuffer(shown, dtype=numpy.uint8).__array_interface__["data"][0]
        else:
            return None
    return start, start + size


def read_array(owner: array.array[Any]) -> bytes:
    return owner.tobytes()


def restore_array(owner: array.array[Any], contents: bytes) -> None:
    """Put the bytes back; in place, where the length is the same (there may be views of it)."""
    if len(owner) * owner.itemsize == len(contents):
        if contents:
            memoryview(owner).cast("B")[:] = contents
        return
    del owner[:]
    owner.frombytes(contents)


def touch_arrays(tracer: WatchesWrites, args: Iterable[Any]) -> None:
    """A function of numpy is given `args`, and may write into the arrays among them."""
    for arg in args:
        for part in arg if type(arg) in (tuple, list) else (arg,):
            if is_ndarray(part):
                for owner in owners(part):
                    if is_ndarray(owner):
                        tracer.writes.touch(owner, "items")


def read_ndarray(owner: Any) -> Any:
    """The items: bytes, or a list of objects."""
    import numpy

    array: Any = numpy.ndarray  # past the overrides of subclasses (numpy.ma's tobytes() fills in what is masked)
    return list(array.flat.__get__(owner)) if owner.dtype.hasobject else array.tobytes(owner)


def restore_ndarray(owner: Any, contents: Any) -> None:
    import numpy

    if isinstance(contents, list):
        flat = numpy.empty(len(contents), dtype=object)
        flat[:] = contents
    else:
        flat = numpy.frombuffer(contents, dtype=owner.dtype)
    array: Any = numpy.ndarray
    if not array.flags.__get__(owner).writeable:
        return  # it cannot have been written
    array.__setitem__(owner, ..., flat.reshape(owner.shape))
