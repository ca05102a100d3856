"""Objects of C types whose parts Python cannot walk: arrays, dates, patterns."""

from __future__ import annotations

import ctypes
import datetime
import decimal
import re
from collections.abc import Callable
from typing import Any

import torch

from dynamo_lite.guards.values import same_atom
from dynamo_lite.value_types import NUMBERS_AND_TEXT

_BY_VALUE: tuple[type, ...] = (
    torch.device, torch.Size, datetime.date, datetime.time, datetime.timedelta, datetime.timezone, re.Pattern,
)  # fmt: skip
"""Immutable C types with a `==` of their own."""


CTYPES: type = ctypes.Structure.__base__  # type: ignore[assignment]
"""The base of all ctypes data."""


def same_contents(value: Any) -> Callable[[Any], bool] | None:
    """Return a function that compares an object (of the same type) to `value` as it is now; None: unknown."""
    if isinstance(value, NUMBERS_AND_TEXT):
        plain = _plain(value)
        return lambda found: same_atom(_plain(found), plain)
    if isinstance(value, decimal.Decimal):
        digits = decimal.Decimal.as_tuple(value)  # 2.0 and 2.00 are equal, but print differently; NaN is not itself
        return lambda found: decimal.Decimal.as_tuple(found) == digits
    if isinstance(value, _BY_VALUE):
        return lambda found: bool(found == value)
    snapshot = _buffer(value)
    return None if snapshot is None else lambda found: _buffer(found) == snapshot


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
    if "O" in view.format:
        return None
    target = _target(value) if isinstance(value, CTYPES) else None
    return view.format, view.shape, view.tobytes(), target


def _target(value: Any) -> bytes | None:
    """The bytes that a ctypes pointer points at."""
    is_pointer = isinstance(value, ctypes._Pointer)
    return bytes(value.contents) if is_pointer and value else None
