"""State that is in no attribute and no container: of random generators, iterators, buffers, C structures, classes.

`hidden(value)` gives the state as something to compare, and what puts it back. Reading it changes nothing that a
program sees.
"""

from __future__ import annotations

import _abc
import abc
import functools
import io
import pickle
import random
import sys
from collections.abc import Callable
from types import GeneratorType
from typing import Any, NamedTuple

from dynamo_lite.tracing.heap.iterator_types import is_c_iterator, reduced

UNKNOWN: Any = object()
"""The position of an iterator that does not provide it."""
_PROTOCOL = 4


class HiddenState(NamedTuple):
    """The result of `read(owner)` before the run. `write` restores it; None if it cannot be restored."""

    owner: Any
    before: Any
    read: Callable[[Any], Any]
    write: Callable[[Any, Any], None] | None

    def is_changed(self) -> bool:
        return self.before is not UNKNOWN and not bool(self.read(self.owner) == self.before)

    def restore(self) -> None:
        """Put the state back, as far as that is possible."""
        if self.write is not None:
            try:
                self.write(self.owner, self.before)
            except (AttributeError, TypeError, ValueError):
                return  # an array that cannot get its old shape in place, a stream that the program has closed


Row = tuple[Callable[[Any], Any], Callable[[Any, Any], None] | None]


def hidden(value: Any) -> HiddenState | None:
    """The hidden state of an object; None for one that has none."""
    row = row_of(type(value))
    return None if row is None else HiddenState(value, row[0](value), *row)


def row_of(kind: type) -> Row | None:
    """How the hidden state of objects of a type is read and written; None if they have none."""
    for base in kind.__mro__:
        if base in _TABLE:
            return _TABLE[base]
    if issubclass(kind, type):
        return _ABSTRACT if issubclass(kind, abc.ABCMeta) else _BASES
    if is_c_iterator(kind):
        return position, _move_back
    numpy, ctypes = sys.modules.get("numpy"), sys.modules.get("_ctypes")
    if numpy is not None and kind.__module__.startswith("numpy"):
        return _numpys(numpy, kind)
    if ctypes is not None and issubclass(kind, ctypes.Array.__base__):
        return bytes, _write_ctypes
    return None


# -- iterators -------------------------------------------------------------------------------------------------------


def position(iterator: Any) -> Any:
    """Another value after the iterator has been moved on; UNKNOWN where that cannot be seen without moving it."""
    if type(iterator) is GeneratorType:
        frame = iterator.gi_frame
        return None if frame is None else (frame.f_lasti, frame.f_lineno)
    if type(iterator) is _CALLS:
        return UNKNOWN  # its callable advances, not the iterator itself
    try:
        parts, again = reduced(iterator), reduced(iterator)
    except Exception:  # not every iterator provides it
        return UNKNOWN
    return _shown(parts[1:], again[1:])


_CALLS = type(iter(int, 0))


def _shown(part: Any, again: Any) -> Any:
    """The comparable form of a part of an iterator's state: a number by value, remaining items by their length, and an
    object by identity if it is the same in a second reading (`again`)."""
    if type(part) in (int, float, bool):
        return type(part), part
    if type(part) is range:
        return repr(part)
    if is_c_iterator(type(part)):
        return position(part)
    if type(part) is tuple:
        found = tuple(map(_shown, part, again))
        return UNKNOWN if UNKNOWN in found else found
    if type(part) is list:
        return len(part)
    return id(part) if part is again else type(part)


def _move_back(iterator: Any, before: Any) -> None:
    """Iterators over sequences can be set to an index; those that are used up cannot."""
    index = before[-1] if type(before) is tuple and len(before) > 1 else None
    if hasattr(iterator, "__setstate__") and type(index) is tuple and index[:1] == (int,):
        iterator.__setstate__(index[1])


# -- generators of random numbers, streams, partials -----------------------------------------------------------------


def _read_stream(stream: Any) -> Any:
    return None if stream.closed else (stream.getvalue(), stream.tell())


def _write_stream(stream: Any, before: Any) -> None:
    if before is not None and not stream.closed:
        stream.seek(0)
        stream.truncate()
        stream.write(before[0])
        stream.seek(before[1])


class _PartialParts:
    """The parts of a partial, compared by identity."""

    def __init__(self, state: tuple[Any, tuple[Any, ...], dict[str, Any], Any]) -> None:
        self.state = state
        fn, args, keywords, _ = state
        self._ids = [id(part) for part in (fn, *args, *keywords, *keywords.values())]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _PartialParts) and other._ids == self._ids


def _read_partial(value: Any) -> _PartialParts:
    parts: Any = functools.partial.__reduce__(value)
    return _PartialParts(parts[2])


def _write_partial(value: Any, before: _PartialParts) -> None:
    functools.partial.__setstate__(value, before.state)  # type: ignore[attr-defined]


# -- numpy, ctypes ---------------------------------------------------------------------------------------------------


def _numpys(numpy: Any, kind: type) -> Row | None:
    if issubclass(kind, numpy.ndarray):
        return _layout, _set_layout
    generators = sys.modules.get("numpy.random")
    if generators is not None and issubclass(kind, generators.Generator):
        return lambda o: pickle.dumps(o.bit_generator.state, _PROTOCOL), _set_bit_generator
    if generators is not None and issubclass(kind, generators.RandomState):
        return lambda o: pickle.dumps(o.get_state(legacy=False), _PROTOCOL), lambda o, s: o.set_state(pickle.loads(s))
    return None


def _set_bit_generator(generator: Any, state: bytes) -> None:
    generator.bit_generator.state = pickle.loads(state)


def _layout(array: Any) -> Any:
    return array.dtype, array.shape, array.strides, array.flags.writeable


def _set_layout(array: Any, before: Any) -> None:
    if array.dtype != before[0]:
        array.dtype = before[0]
    if array.shape != before[1]:
        array.shape = before[1]
    array.flags.writeable = before[3]


def _write_ctypes(value: Any, before: bytes) -> None:
    if value._objects is None:  # else it points to objects that may be gone
        sys.modules["ctypes"].memmove(sys.modules["ctypes"].addressof(value), before, len(before))


# -- classes ---------------------------------------------------------------------------------------------------------


def _set_bases(cls: Any, before: Any) -> None:
    cls.__bases__ = before[0]


def _registered(cls: Any) -> Any:
    """The classes that are registered with an abstract one. Checked against CPython 3.11 (Modules/_abc.c)."""
    return frozenset(_abc._get_dump(cls)[0])


def _register(cls: Any, before: Any) -> None:
    if cls.__bases__ != before[0]:
        cls.__bases__ = before[0]
    if _registered(cls) != before[1]:
        _abc._reset_registry(cls)
        for reference in before[1]:
            if reference() is not None:
                abc.ABCMeta.register(cls, reference())


_BASES: Row = (lambda cls: (cls.__bases__,), _set_bases)
_ABSTRACT: Row = (lambda cls: (cls.__bases__, _registered(cls)), _register)
_TABLE: dict[type, Row] = {
    random.Random: (random.Random.getstate, lambda o, state: random.Random.setstate(o, state)),
    io.StringIO: (_read_stream, _write_stream),
    io.BytesIO: (_read_stream, _write_stream),
    functools.partial: (_read_partial, _write_partial),
}


def note_of(state: HiddenState) -> str:
    """The note for hidden state that the run has changed."""
    owner, kind = state.owner, type(state.owner)
    if issubclass(kind, type):
        return (
            f"what class {owner.__qualname__} is derived from or stands for is changed; the program does not change it"
        )
    if is_c_iterator(kind):
        return f"a {kind.__name__} from before the call is advanced: its value is a constant of the program"
    return f"the state of a {kind.__name__} from before the call is changed; the program does not change it"
