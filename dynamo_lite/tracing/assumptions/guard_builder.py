"""Sources, and the guards for a value that is found at one: the base of the walk in walk.py."""

from __future__ import annotations

import collections
import enum
import functools
import threading
import types
import weakref
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import torch

from dynamo_lite.guards import Guard, Source, facts_of, root
from dynamo_lite.guards.values import is_atom
from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.tracing.heap.access_log import Reads
from dynamo_lite.tracing.heap.accesses import VIEWS, Site
from dynamo_lite.tracing.heap.c_objects import CTYPES, same_contents
from dynamo_lite.tracing.vocabulary import mro as classes
from dynamo_lite.tracing.vocabulary.type_tests import LruCacheWrapper
from dynamo_lite.value_types import ATOMS, NUMBERS_AND_TEXT

_CONSTANTS: tuple[type, ...] = (
    type, ModuleType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType, types.ClassMethodDescriptorType, types.CodeType,
    enum.Enum, torch.dtype, torch.layout, torch.memory_format,
)  # fmt: skip
"""Known by identity: there is one of each in the process."""

_SEVERAL = frozenset({"present", "no_attribute", "unset", "contents"})
"""Kinds of which a place may have more than one."""

ATOM: Final = 0
COMPOUND: Final = 1
"""An atom if its parts are."""
TENSOR: Final = 2
CONSTANT: Final = 3
OTHER: Final = 4


class _Natures(dict[type, int]):
    """Maps a type to the kind of value that its instances are."""

    def __missing__(self, kind: type) -> int:
        if kind in ATOMS:
            nature = ATOM
        elif kind in (tuple, frozenset, slice):
            nature = COMPOUND
        elif issubclass(kind, torch.Tensor):
            nature = TENSOR
        else:
            nature = CONSTANT if issubclass(kind, _CONSTANTS) else OTHER
        if not is_changeable(kind):  # the program's classes are not kept alive
            self[kind] = nature
        return nature


_NATURES = _Natures()
_STRUCTURED = (
    list, tuple, dict, set, frozenset, collections.deque, FunctionType, MethodType, functools.partial, property,
    staticmethod, classmethod, weakref.ref, CellType, LruCacheWrapper, types.SimpleNamespace, *VIEWS,
)  # fmt: skip
"""C types whose parts the walk follows itself."""
_HIDE_DATA = (*NUMBERS_AND_TEXT, CTYPES)
"""C types that hold data beside the attributes of an instance of a subclass."""


class GuardBuilder:
    """Builds the guards: `guards` has those found so far; `reached` maps objects to their sources."""

    def __init__(self, reads: Reads, held_by_program: set[int]) -> None:
        self.reads = self._reads = reads
        self._looks: dict[int, dict[tuple[str, Any], Site | None]] = {}
        self._compared: list[tuple[int, int, Site | None]] = []
        for (how, owner, key), site in reads.places.items():
            if how == "is":
                self._compared.append((owner, key, site))
            elif owner in self._looks:
                self._looks[owner][how, key] = site
            else:
                self._looks[owner] = {(how, key): site}
        self.guards: list[Guard] = []
        self.reached: dict[int, Source] = {}
        self._alive: list[Any] = []
        self._todo: collections.deque[tuple[Any, Source, Site | None]] = collections.deque()
        self._children: dict[tuple[int, str, Any], Source] = {}
        self._absent: dict[int, Guard] = {}
        self._plain: dict[type, bool] = {}  # types without a __getattribute__ of their own
        self._rows: set[tuple[Any, ...]] = set()
        self._ran: dict[type, list[tuple[str, Any, FunctionType]]] = {}
        self._whole: set[tuple[int, bool]] = set()
        self._class_entries: set[tuple[int, str]] = set()
        self._classes: dict[int, type] = {}
        self._formed: set[int] = set()  # classes whose form is guarded
        self._tensors: dict[int, Source] = {}
        self._held_by_program = held_by_program

    def child(self, parent: Source, step: str, key: Any = None, text: str | None = None) -> Source:
        """The path one step on, one object a path."""
        place = (id(parent), step, key)
        known = self._children.get(place)
        if known is None:
            known = self._children[place] = Source(parent, step, key, text)
        return known

    def constant(self, value: Any, text: str | None = None) -> Source:
        """A class, module or other object that there is one of. `text` names it."""
        known = self.reached.get(id(value))
        if known is None or known.step != "constant":
            name = getattr(value, "__qualname__", None) if isinstance(value, type) else None
            text = text or (f"{value.__module__}.{name}" if name else f"<{type(value).__name__}>")
            if type(value) is ModuleType:
                text = f"G[{value.__name__!r}]"
            known = self._children.setdefault((id(value), "constant", None), root("constant", value, text))
            self._alive.append(value)
        return known

    def add(self, kind: str, source: Source, expected: Any, site: Site | None, other: Source | None = None) -> None:
        row = (kind, id(source), id(other), expected if kind in _SEVERAL else None)
        if row not in self._rows:
            self._rows.add(row)
            self.guards.append(Guard(kind, source, expected, site, other))

    def place(self, value: Any, source: Source, site: Site | None, fixed: bool = False) -> None:
        """Guard what the program may know of `value`, which is at `source`, and continue from there.

        `fixed`: a place that holds one object for good (a module's global, a class attribute): functions and
        descriptors there are known by identity.
        """
        nature = _NATURES[type(value)]
        if nature == ATOM or (nature == COMPOUND and is_atom(value)):
            self.add("equals", source, value, site)
        elif nature == TENSOR:
            self._tensor(value, source, site)
        elif nature == CONSTANT:
            self.add("is", source, value, site)
            self.visit(value, self.constant(value), site)
        elif id(value) in self.reached:
            known = self.reached[id(value)]
            if known.step == "constant":
                self.add("is", source, value, site)
            elif known is not source:
                self.add("same", source, None, site, known)
        else:
            by_identity = fixed and (type(value) is FunctionType or classes.entry(type(value), "__get__") is not None)
            self._guard_type(value, source, site, by_identity)
            self.visit(value, source, site)

    def _guard_type(self, value: Any, source: Source, site: Site | None, by_identity: bool) -> None:
        kind = type(value)
        if by_identity:
            self.add("is", source, value, site)
            return
        self.add("type", source, kind, site)
        if kind is torch.Size or (not is_changeable(kind) and not issubclass(kind, _STRUCTURED)):
            contents = same_contents(value)
            if contents is None:
                self.add("is", source, value, site)
            else:
                self.add("contents", source, contents, site)
        elif issubclass(kind, _HIDE_DATA):
            self.add("contents", source, same_contents(value), site)

    def visit(self, value: Any, source: Source, site: Site | None) -> None:
        """Follow the places below an object, once."""
        if id(value) not in self.reached:
            self.reached[id(value)] = source
            self._alive.append(value)
            self._todo.append((value, source, site))

    def _tensor(self, tensor: torch.Tensor, source: Source, site: Site | None) -> None:
        known = self._tensors.get(id(tensor))
        if known is not None:
            if known is not source:
                self.add("same", source, None, site, known)
            return
        self._tensors[id(tensor)] = source
        self._attributes_of_tensor(tensor, source)
        held = id(tensor) in self._held_by_program
        if held:
            self.add("same_tensor", source, tensor, site)
        self.add("tensor", source, facts_of(tensor, keys=not held), site)

    def _attributes_of_tensor(self, tensor: torch.Tensor, source: Source) -> None:
        """Guard attributes that the user has put on a tensor (`weight.no_decay = True`), if the program read them."""
        for (how, name), site in self._looks.get(id(tensor), {}).items():
            if how == "attr":
                self.attribute_of_tensor(tensor, source, name, site)

    def attribute_of_tensor(self, tensor: torch.Tensor, source: Source, name: str, site: Site | None) -> None:
        """Guard one of these; torch's own answers are in the tensor's facts."""
        if classes.entry(type(tensor), name) is None:
            namespace, below = classes.instance_dict(tensor) or {}, self.child(source, "dict")
            if name in namespace:
                self.place(namespace[name], self.child(below, "item", name), site)
            else:
                self.absent(below, name, site)

    def absent(self, source: Source, name: Any, site: Site | None) -> None:
        """A dict without this key: one guard for all such keys of a dict."""
        known = self._absent.get(id(source))
        if known is None:
            known = self._absent[id(source)] = Guard("absent", source, [], site)
            self.guards.append(known)
        if name not in known.expected:
            known.expected.append(name)

    def no_attribute(self, cls: type, name: str, site: Site | None) -> None:
        """No class of the MRO has `name`."""
        if (id(cls), name) not in self._class_entries and is_changeable(cls):
            self._class_entries.add((id(cls), name))
            self.add("no_attribute", self.constant(cls), name, site)

    def dict_of(self, value: Any, source: Source) -> Source:
        """The source of an instance's `__dict__`."""
        kind = type(value)
        if issubclass(kind, threading.local):
            return self.child(source, "local_dict")
        plain = self._plain.get(kind)
        if plain is None:
            own = classes.entry(kind, "__getattribute__") in (None, _OBJECT_GETATTRIBUTE)
            plain = self._plain[kind] = own or issubclass(kind, (type, ModuleType))
        if not plain:
            return self.child(source, "slot", "__dict__")
        known = self._children.get((id(source), "dict", None))  # as `child` does
        return self.child(source, "dict") if known is None else known


_OBJECT_GETATTRIBUTE = classes.ClassEntry(object, object.__dict__["__getattribute__"])
