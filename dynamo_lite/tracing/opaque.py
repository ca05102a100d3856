"""Objects of C types whose parts Python cannot walk: arrays, dates, patterns."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable
from typing import Any

import torch

from guards.values import same_atom

_BY_VALUE: tuple[type, ...] = (
    torch.device, torch.Size, datetime.date, datetime.time, datetime.timedelta, datetime.timezone, decimal.Decimal,
    re.Pattern,
)  # fmt: skip
"""Immutable C types with a `==` of their own."""


ATOM_BASES: tuple[type, ...] = (int, float, complex, str, bytes)


def same_contents(value: Any) -> Callable[[Any], bool] | None:
    """A function that tells whether an object (of the same type) holds what `value` holds now; None: nobody knows."""
    if isinstance(value, ATOM_BASES):
        plain = _plain(value)
        return lambda found: same_atom(_plain(found), plain)
    if isinstance(value, _BY_VALUE):
        return lambda found: bool(found == value)
    if type(value) is dict:  # a class's namespace
        return lambda found: len(found) == len(value) and all(found.get(k, _MISSING) is v for k, v in value.items())
    snapshot = _buffer(value)
    return None if snapshot is None else lambda found: _buffer(found) == snapshot


_MISSING = object()


def _plain(value: Any) -> Any:
    """The number or text that an instance of a subclass of int, str, ... is, past any override."""
    for base, convert in _PLAIN:
        if isinstance(value, base):
            return convert(value)
    raise TypeError(type(value))


_PLAIN: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (int, lambda v: int.__add__(v, 0)),
    (float, float.hex),
    (complex, complex.__repr__),
    (str, str.__str__),
    (bytes, lambda v: bytes.__getitem__(v, slice(None))),
)


def _buffer(value: Any) -> tuple[Any, ...] | None:
    """Form and bytes of an object with the buffer protocol (numpy arrays, bytearray, array.array)."""
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):
        return None
    return None if "O" in view.format else (view.format, view.shape, view.tobytes())
