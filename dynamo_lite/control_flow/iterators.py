"""Iterators in the variables of a frame that forks: each side moves a copy on, and an unmoved one stays itself."""

from __future__ import annotations

import copy
import gc
import types
from typing import Any

from dynamo_lite.interpreter.frames.frame import Frame
from dynamo_lite.interpreter.frames.generators import make_generator, suspended_frame

_SIMPLE = (*map(type, map(iter, ([], (), "", b"", range(0), range(1 << 70)))), type(reversed([])), reversed)
_COMPOUND = (enumerate, zip)
_DICTS = tuple(map(type, (iter({}), iter({}.values()), iter({}.items()), iter(set()))))
_COPIED = frozenset({*_SIMPLE, *_COMPOUND, *_DICTS})


def is_copied(value: Any) -> bool:
    """Whether a side gets a copy of this iterator, or of this generator of the program's."""
    if type(value) is types.GeneratorType:
        return suspended_frame(value) is not None
    if type(value) in _COMPOUND:
        return all(type(part) is int or is_copied(part) for part in value.__reduce__()[1])
    return type(value) in _COPIED


def copied(value: Any) -> Any:
    """A copy that moves on by itself."""
    if type(value) is types.GeneratorType:
        return _copied_generator(value)
    if type(value) in _COMPOUND:
        make, parts = value.__reduce__()[:2]
        return make(*[part if type(part) is int else copied(part) for part in parts])
    return copy.copy(value)


def _copied_generator(value: Any) -> Any:
    """A generator of the program's: its frame is ours, and a new driver goes on where the old one waits."""
    old = suspended_frame(value)
    assert old is not None
    new = Frame(old.vm, old.code, old.info, old.globals, old.builtins, list(old.locals))
    new.stack[:] = [copied(item) if is_copied(item) else item for item in old.stack]
    new.pc, new.state, new.namespace = old.pc, old.state, old.namespace
    return make_generator(new, value.__name__, value.__qualname__)


def position(value: Any) -> Any:
    """Another key after the iterator has been moved on; None for what is no iterator that a side copies."""
    if type(value) is types.GeneratorType:
        frame = suspended_frame(value)
        if frame is None:
            return None
        stack = [position(item) if is_copied(item) else id(item) for item in frame.stack]
        return frame.pc, tuple(map(id, frame.locals)), tuple(stack)
    if type(value) in _COMPOUND:
        make, parts = value.__reduce__()[:2]
        return make, tuple(part if type(part) is int else position(part) for part in parts)
    if type(value) in _DICTS:
        return type(value), value.__length_hint__(), [id(of) for of in gc.get_referents(value) if type(of) is not tuple]
    if type(value) in _SIMPLE:
        return _sequence_position(value.__reduce__())
    return None


def _sequence_position(reduced: Any) -> Any:
    """A key for what `__reduce__` gave: the sequence by identity (a range by value), the position by value."""
    make, (of, *_), *state = reduced
    sequence: Any = ("range", of.start, of.stop, of.step) if type(of) is range else id(of)
    if not state and type(of) in (tuple, list, str, bytes) and not of:
        sequence = "exhausted"
    return make, sequence, tuple(item for item in state if type(item) is int)
