"""One access of the program to an object: how, with what key, and where the program was.

=============  ==============================================  ========================
how            what the program read                           key
=============  ==============================================  ========================
"attr"         an attribute, or that it is not there           its name
"item"         an item, or that it is not there                its key
"entry"        an item whose key is not an atom, or its absence
"key"          whether a key is there                          the key
"cell"         the contents of a closure's cell
"length"       the number of items
"truth"        whether it is empty
"items"        the items, in order
"keys"         the keys of a dict, in order; the items of another container
"parts"        everything in it, through built-in containers
"state"        everything in it, through attributes as well
"hooks"        that a module has no hooks
"is"           whether it is another object                    the other's id
"context"      the value of a ContextVar
"referent"     what a weak reference refers to
"own"          what the class's own namespace has under        the name
               a name, or that it is not there
"class"        everything that a class and its
               bases have
"names"        the names of all attributes (`dir`)
"registry"     what was registered with an abstract class
"subclasses"   the direct subclasses of a class
=============  ==============================================  ========================
"""

from __future__ import annotations

import collections
import types
import weakref
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import torch

from dynamo_lite.errors import UserFrame
from dynamo_lite.interpreter import datamodel
from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.tracing.policy.native_reads import PARTS, STATE

EMPTIED: tuple[type, ...] = (list, dict, collections.OrderedDict, set, collections.deque)
"""Containers whose contents before `clear()` are of no consequence, unless something has looked at them before."""
KEYS = frozenset({str, int, float, bool, bytes, complex, type(None)})
STANDING_FOR_OTHERS: frozenset[type] = frozenset(
    {super, types.MethodType, weakref.ProxyType, weakref.CallableProxyType}
)
"""Types of objects that a read creates as a proxy of another one: facts about one do not hold for the next."""
WHOLE = frozenset({"items", "keys", PARTS, STATE, "entry"})
"""Looks at an object that can depend on any of its attributes or items."""
OF_CONTENTS = frozenset({"item", "entry", "key", "length", "truth", *WHOLE})
"""Looks at the contents of a container."""
_DICTS: tuple[Any, ...] = ({}, collections.OrderedDict())
VIEWS: frozenset[type] = frozenset(
    {types.MappingProxyType, *(type(view) for d in _DICTS for view in (d.keys(), d.values(), d.items()))}
)
"""Types whose instances show a mapping: a look at one is a look at the mapping."""
_QUIET: tuple[type, ...] = (
    int, float, complex, str, bytes, type(None), type(...), type(NotImplemented), range, slice, torch.Tensor,
    torch.SymInt, torch.SymFloat, torch.SymBool, torch.dtype, torch.device, torch.Size, torch.layout,
    torch.memory_format, ModuleType, types.BuiltinFunctionType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.CodeType,
)  # fmt: skip
"""Types whose instances show nothing beyond their value, their type or their own rules."""


class Site(NamedTuple):
    """Where the program was: code object, its decoded form, index of the instruction after the current one."""

    code: Any
    info: Any
    pc: int

    def frame(self) -> UserFrame:
        at = self.info.positions_at(self.code, max(self.pc - 1, 0))
        line = at.lineno or self.code.co_firstlineno
        return UserFrame(
            self.code.co_filename, line, self.code.co_name, at.end_lineno, at.col_offset, at.end_col_offset
        )

    def __str__(self) -> str:
        return self.frame().format()


new_site: Callable[[Any], Site] = partial(tuple.__new__, Site)  # a NamedTuple's own constructor is a Python function
Place = tuple[str, int, Any]


class AskedInstances(NamedTuple):
    """Instances of one class on which one name was looked up: where first, the id of the base that has the name (0:
    none has), the ids of the instances."""

    site: Site | None
    base: int
    owners: set[int]


class Unobserved(dict[type, bool]):
    """Whether an instance of a type has nothing to be looked at (see _QUIET)."""

    def __missing__(self, kind: type) -> bool:
        answer = self[kind] = issubclass(kind, _QUIET)
        return answer


class HasClass(dict[type, bool]):
    """Whether an attribute of an instance may come from its class, and the class may change."""

    def __missing__(self, kind: type) -> bool:
        of_another = kind in STANDING_FOR_OTHERS or issubclass(kind, type)
        answer = self[kind] = is_changeable(kind) and not of_another
        return answer


def token(key: Any) -> Any:
    """Return a substitute for a key in dicts of ours: no `__hash__` or `__eq__` of the program may be called."""
    kind = type(key)
    if kind in KEYS:
        return key
    if kind is tuple or kind is torch.Size:
        return ("parts", *map(token, key))
    return "object", id(key)


def is_known_by_identity(key: Any) -> bool:
    """Whether a key (or a weak reference's target) equals only itself: its class has object's own comparison."""
    kind = type(key() if type(key) is weakref.ref else key)
    return all(datamodel.type_lookup(kind, name) is object.__dict__[name] for name in ("__eq__", "__hash__"))
