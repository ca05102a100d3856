"""A weak reference that has the key of its table entry, so that its callback needs no closure.

There is one for each function, code object and tensor of a run; a closure beside each is four objects more for the
collector and for every search among the objects of a run.
"""

from __future__ import annotations

import weakref
from typing import Any


class KeyedRef(weakref.ref[Any]):
    """`KeyedRef(obj, callback)`, then `key` is set: the callback is a function of the module, called with this."""

    __slots__ = ("key",)
    key: int
