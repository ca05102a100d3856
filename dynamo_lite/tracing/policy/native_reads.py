"""The reads of a C callable of its arguments: data only.

A callable without a row may read everything that its arguments hold, at any depth (`PARTS`): the safe answer. The rows
state where it is less, so that assumptions are limited to the program's real dependencies.
"""

from __future__ import annotations

import _abc
import builtins
import collections
import copy
import decimal
import gc
import itertools
import operator
import os
import pickle
import sys
import weakref
from contextvars import ContextVar
from types import MappingProxyType, ModuleType
from typing import Any, Final

import torch

NOTHING: Final = "nothing"
"""Types and identity only (or reads that the interpreter's own hooks report)."""
KEY: Final = "item"
"""The item of the first argument whose key is the second argument, if it is there."""
EMPTIES: Final = "empties"
"""Nothing; the former contents of the first argument have no consequence from now on."""
LENGTH: Final = "length"
KEYS: Final = "keys"
"""The keys of arguments that are dicts, the items of others."""
ITEMS: Final = "items"
"""The items of the arguments, not what those hold."""
STATE: Final = "state"
"""The attributes of the first argument, and their attributes."""
PARTS: Final = "parts"
NAMES: Final = "names"
"""The names of the attributes of the first argument."""
PROTOCOL: Final = "protocol"
"""Types and identity only, unless the second argument is a typing.Protocol: any attribute of the first one's class."""
MEMBER: Final = "member"
"""Whether the second argument is in the first one, a set."""
BOUNDED: Final = "bounded"
"""Whether a deque has a limit, and its contents if it has: an added item drops another, and moves the others."""
REFERENT: Final = "referent"
SWITCHES: Final = "switches"
"""A setting of the process, which the function returns when it is called without arguments."""

_ROWS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    (
        NOTHING,
        (
            type, id, callable, getattr, setattr, delattr, hasattr, print, super,
            object.__new__, object.__init__, object.__init_subclass__, object.__setattr__, object.__delattr__,
            object.__getattribute__, type.__getattribute__, type.__setattr__, type.__delattr__, type.__call__,
            operator.getitem, operator.setitem, operator.delitem, operator.is_, operator.is_not, gc.get_referents,
            operator.attrgetter.__call__, operator.itemgetter.__call__, operator.methodcaller.__call__,
            list.append, list.__setitem__, list.__delitem__, list.__init__,
            dict.__setitem__, dict.__init__, set.__init__,
            property, staticmethod, classmethod, range, slice, next, weakref.ref,
            builtins.__import__, globals, locals,
        ),
    ),
    (MEMBER, (set.add, set.discard, set.remove)),
    (
        BOUNDED,
        (
            collections.deque.append, collections.deque.appendleft, collections.deque.extend,
            collections.deque.extendleft, collections.deque.insert, collections.deque.copy, collections.deque.__iadd__,
            collections.deque.__copy__, collections.deque.__add__, collections.deque.__mul__,
            collections.deque.__imul__,
        ),
    ),
    (EMPTIES, (list.clear, dict.clear, collections.OrderedDict.clear, set.clear, collections.deque.clear)),
    (
        KEY,
        (
            dict.get, dict.__getitem__, dict.__contains__, dict.pop, dict.setdefault,
            MappingProxyType.get, MappingProxyType.__getitem__, MappingProxyType.__contains__,
        ),
    ),
    (
        LENGTH,
        (len, *(kind.__len__ for kind in (list, tuple, dict, set, frozenset, collections.deque, MappingProxyType))),
    ),
    (
        ITEMS,
        (
            dict.values, dict.items, dict.copy, dict.update, dict.popitem, dict.__or__, dict, copy.copy,
            list.__iter__, list.copy, list.extend, list.pop, list.insert, list.reverse,
            list.__reversed__, list.__getitem__, list.__add__, list.__mul__, tuple.__iter__, tuple.__getitem__,
            tuple.__add__, set.__iter__, set.copy, set.pop, frozenset.__iter__, collections.deque.__iter__,
            collections.deque.pop, collections.deque.popleft, collections.deque.rotate,
            collections.OrderedDict.values, collections.OrderedDict.items, collections.OrderedDict.copy,
            MappingProxyType.values, MappingProxyType.items, MappingProxyType.copy,
        ),
    ),
    (
        KEYS,
        (
            dict.keys, dict.__iter__, dict.__reversed__, dict.fromkeys, collections.OrderedDict.keys,
            MappingProxyType.keys, MappingProxyType.__iter__, MappingProxyType.__reversed__,
            collections.OrderedDict.__iter__, iter, list, tuple, enumerate, zip, map, filter, reversed,
            collections.deque, itertools.chain, itertools.islice, itertools.repeat, itertools.product,
            itertools.zip_longest, itertools.accumulate, itertools.starmap,
        ),
    ),
    (STATE, (vars, object.__reduce_ex__, object.__reduce__, pickle.dumps, pickle.dump)),
    (NAMES, (dir, object.__dir__, type.__dir__, ModuleType.__dir__)),
    ("context", (ContextVar.get,)),
    (REFERENT, (weakref.ref.__call__,)),
    ("registry", (_abc._abc_instancecheck, _abc._abc_subclasscheck)),
    ("subclasses", (type.__subclasses__,)),
    (PROTOCOL, (isinstance, issubclass)),
    (SWITCHES, (sys.getrecursionlimit, gc.isenabled, decimal.getcontext, decimal.localcontext, decimal.Decimal)),
    (SWITCHES, (torch.get_num_threads, torch.get_num_interop_threads)),
    (SWITCHES, (os.path.expandvars, os.path.expanduser)),
)  # fmt: skip


def decimal_context() -> tuple[Any, ...]:
    """Return the part of this thread's decimal context that affects results (not its flags, which operations set)."""
    now = decimal.getcontext()
    traps = tuple(signal.__name__ for signal, is_on in now.traps.items() if is_on)
    return now.prec, now.rounding, now.Emin, now.Emax, now.capitals, now.clamp, traps


def environment() -> dict[bytes, bytes]:
    return dict(os.environb)


SWITCH_OF: dict[int, Any] = {
    **dict.fromkeys(map(id, (decimal.getcontext, decimal.localcontext, decimal.Decimal)), decimal_context),
    **dict.fromkeys(map(id, (os.path.expandvars, os.path.expanduser)), environment),
}
"""id of a callable in the row SWITCHES → the function that returns the setting, if that is another one."""

LOOKS_INTO_CLASSES = frozenset({"inspect", "typing", "typing_extensions"})
"""Modules whose functions run natively and read any attribute of the classes of their arguments."""

FORMATS = frozenset(map(id, (str.format, str.format_map)))
"""`"{0.n}".format(box)` reads attributes of its arguments."""

SHOWING = frozenset(map(id, (torch.from_numpy, torch.frombuffer, torch.asarray, torch.as_tensor)))
"""Functions that make a tensor on the memory of their first argument, or a copy of it (shared_memory.py)."""

LOOKS: dict[int, str] = {id(fn): how for how, callables in _ROWS for fn in callables}
"""id(callable) → the kind of its reads. The callables live as long as the process."""

CONVERSIONS = frozenset(f"__{name}__" for name in ("index", "int", "float", "bool", "len", "length_hint", "hash"))
"""Methods whose result C code takes for a number."""

GIVES_ITEMS = frozenset({"__dir__", "keys", "__getnewargs__", "__getnewargs_ex__", "__getstate__", "__reduce__",
                         "__reduce_ex__", "__mro_entries__"})  # fmt: skip
"""Methods whose result C code iterates over: dir() sorts it, dict() and `**` look up each key in it."""
