"""What a C callable reads of the objects that it is given: data only.

A callable that is in no row may read everything that its arguments hold, at any depth (`PARTS`): the safe answer. The
rows say where it is less, so that an assumption is no wider than what the program really depends on.
"""

from __future__ import annotations

import builtins
import collections
import copy
import itertools
import operator
import weakref
from contextvars import ContextVar
from typing import Any, Final

import torch

NOTHING: Final = "nothing"
"""Types and identity only (or what it reads is told by the interpreter's own hooks)."""
KEY: Final = "item"
"""The item of the first argument whose key is the second argument, if it is there."""
LENGTH: Final = "length"
KEYS: Final = "keys"
"""The keys of arguments that are dicts, the items of others."""
ITEMS: Final = "items"
"""The items of the arguments, not what those hold."""
STATE: Final = "state"
"""The attributes of the first argument, and their attributes."""
PARTS: Final = "parts"

_ROWS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    (
        NOTHING,
        (
            type, id, isinstance, issubclass, callable, getattr, setattr, delattr, hasattr, print, super,
            object.__new__, object.__init__, object.__init_subclass__, object.__setattr__, object.__delattr__,
            object.__getattribute__, type.__getattribute__, type.__setattr__, type.__delattr__, type.__call__,
            operator.getitem, operator.setitem, operator.delitem, operator.is_, operator.is_not,
            operator.attrgetter.__call__, operator.itemgetter.__call__, operator.methodcaller.__call__,
            list.append, list.clear, list.__setitem__, list.__delitem__, list.__init__,
            dict.__setitem__, dict.clear, dict.__init__, set.add, set.discard, set.clear, set.__init__,
            collections.deque.append, collections.deque.appendleft, collections.deque.clear,
            property, staticmethod, classmethod, range, slice, next, weakref.ref,
            builtins.__import__, globals, locals,
        ),
    ),
    (KEY, (dict.get, dict.__getitem__, dict.__contains__, dict.pop, dict.setdefault)),
    (LENGTH, (len, *(kind.__len__ for kind in (list, tuple, dict, set, frozenset, collections.deque)))),
    (
        ITEMS,
        (
            dict.values, dict.items, dict.copy, dict.update, dict.popitem, dict.__or__, dict, copy.copy,
            list.__iter__, list.copy, list.extend, list.pop, list.insert, list.reverse,
            list.__reversed__, list.__getitem__, list.__add__, list.__mul__, tuple.__iter__, tuple.__getitem__,
            tuple.__add__, set.__iter__, set.copy, set.pop, frozenset.__iter__, collections.deque.__iter__,
            collections.deque.pop, collections.deque.popleft, collections.deque.extend, collections.deque.rotate,
            collections.OrderedDict.values, collections.OrderedDict.items, collections.OrderedDict.copy,
        ),
    ),
    (
        KEYS,
        (
            dict.keys, dict.__iter__, dict.__reversed__, dict.fromkeys, collections.OrderedDict.keys,
            collections.OrderedDict.__iter__, iter, list, tuple, enumerate, zip, map, filter, reversed,
            collections.deque, itertools.chain, itertools.islice, itertools.repeat, itertools.product,
            itertools.zip_longest, itertools.accumulate, itertools.starmap,
        ),
    ),
    (STATE, (vars, dir, object.__reduce_ex__, object.__dir__, object.__reduce__)),
    ("context", (ContextVar.get,)),
)  # fmt: skip

FORMATS = frozenset(map(id, (str.format, str.format_map)))
"""`"{0.n}".format(box)` reads attributes of its arguments."""

SHOWING = frozenset(map(id, (torch.from_numpy, torch.frombuffer, torch.asarray, torch.as_tensor)))
"""Functions that make a tensor on the memory of their first argument, or a copy of it (shared_memory.py)."""

LOOKS: dict[int, str] = {id(fn): how for how, callables in _ROWS for fn in callables}
"""id(callable) → what it reads. The callables live as long as the process."""
