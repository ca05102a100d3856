"""From what the program read (reads.py) to guards: each with a source, the value that it rests on, and a line.

Runs after the trace, when the heap is as it was before: a walk from what is named (the callable, the modules' globals,
classes) along the places that the program read. A place that no path leads to belongs to an object of the run itself
and is no assumption. Reading happens past every override, so that none of the program's code runs here.
"""

from __future__ import annotations

import collections
import enum
import functools
import sys
import types
import weakref
from collections.abc import Callable
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch import nn

from dynamo_lite.tracing import class_attributes as classes
from dynamo_lite.tracing.class_attributes import HEAP_TYPE, Entry
from dynamo_lite.tracing.kinds import is_tensor
from dynamo_lite.tracing.lru import still_holds
from dynamo_lite.tracing.opaque import ATOM_BASES, same_contents
from dynamo_lite.tracing.reads import Reads, Site, items_of
from guards import Guard, Source, facts_of, root
from guards.values import is_atom

_MISSING = object()
_CONSTANTS: tuple[type, ...] = (
    type, ModuleType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType, types.ClassMethodDescriptorType, types.CodeType,
    enum.Enum, torch.dtype, torch.layout, torch.memory_format,
)  # fmt: skip
"""Known by identity: there is one of each in the process."""
_ITEM_STEPS: tuple[tuple[type, str], ...] = (
    (dict, "dict_item"),
    (list, "list_item"),
    (tuple, "tuple_item"),
    (collections.deque, "deque_item"),
)
_SEVERAL = frozenset({"present", "no_attribute", "unset", "contents"})
"""Kinds of which a place may have more than one."""


class Walk:
    """One walk. `guards` is the result; `reached` says which object has which source."""

    def __init__(self, reads: Reads, held_by_program: set[int]) -> None:
        self.reads = self._reads = reads
        self._looks: dict[int, dict[tuple[str, Any], Site | None]] = {}
        for (how, owner, key), site in reads.places.items():
            self._looks.setdefault(owner, {})[how, key] = site
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
        self._tensors: dict[int, Source] = {}
        self._held_by_program = held_by_program

    # ---- sources

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

    # ---- placing a value at a source

    def add(self, kind: str, source: Source, expected: Any, site: Site | None, other: Source | None = None) -> None:
        row = (kind, id(source), id(other), expected if kind in _SEVERAL else None)
        if row not in self._rows:
            self._rows.add(row)
            self.guards.append(Guard(kind, source, expected, site, other))

    def place(self, value: Any, source: Source, site: Site | None, fixed: bool = False) -> None:
        """`value` is at `source`: guard what the program may know of it, and go on from there.

        `fixed`: a place that holds one object for good (a module's global, a class attribute): functions and
        descriptors there are known by identity.
        """
        if is_tensor(value):
            self._tensor(value, source, site)
        elif is_atom(value):
            self.add("equals", source, value, site)
        elif isinstance(type(value), enum.EnumMeta) or issubclass(type(value), _CONSTANTS):
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
        if not kind.__flags__ & HEAP_TYPE and not issubclass(kind, _STRUCTURED):
            contents = same_contents(value)
            if contents is None:
                self.add("is", source, value, site)
            else:
                self.add("contents", source, contents, site)
        elif kind.__flags__ & HEAP_TYPE and issubclass(kind, ATOM_BASES):
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
        """What the user has put on a tensor (`weight.no_decay = True`), where the program asked for it."""
        for (how, name), site in self._looks.get(id(tensor), {}).items():
            if how == "attr":
                self.attribute_of_tensor(tensor, source, name, site)

    def attribute_of_tensor(self, tensor: torch.Tensor, source: Source, name: str, site: Site | None) -> None:
        """One of these; what torch itself answers is in the tensor's facts."""
        if classes.entry(type(tensor), name) is None:
            namespace, below = classes.instance_dict(tensor) or {}, self.child(source, "dict")
            if name in namespace:
                self.place(namespace[name], self.child(below, "item", name), site)
            else:
                self.absent(below, name, site)

    # ---- the walk

    def run(self) -> None:
        """Until nothing is left to follow."""
        while self._todo:
            value, source, site = self._todo.popleft()
            self._edges(value, source, site)
            for (how, key), at in self._looks.get(id(value), {}).items():
                _LOOKS[how](self, value, source, key, at)

    def _edges(self, value: Any, source: Source, site: Site | None) -> None:
        """Where one gets to from an object without reading what could change alone."""
        kind = type(value)
        if kind is FunctionType:
            self._function(value, source)
        elif kind is MethodType:
            self.place(value.__func__, self.child(source, "attribute", "__func__"), site)
            self.place(value.__self__, self.child(source, "attribute", "__self__"), site)
        elif issubclass(kind, functools.partial):
            for name in ("func", "args", "keywords"):
                part = object.__getattribute__(value, name)
                self.place(part, self.child(source, "slot", name), site)
                if name != "func":
                    self._all_items(part, self.child(source, "slot", name), None, site)
        elif issubclass(kind, type):
            self._methods(value, source)
        elif kind in (staticmethod, classmethod):
            self.place(value.__func__, self.child(source, "attribute", "__func__"), site)
        elif kind is property:
            for name in ("fget", "fset", "fdel"):
                if getattr(value, name) is not None:
                    self.place(getattr(value, name), self.child(source, "attribute", name), site)
        elif kind is _LRU_CACHE:
            self.place(value.__wrapped__, self.child(source, "attribute", "__wrapped__"), site)
        else:
            self._instance(value, source, site)
        if kind.__flags__ & HEAP_TYPE and not issubclass(kind, type):
            self.visit(kind, self.constant(kind), site)

    def _instance(self, value: Any, source: Source, site: Site | None) -> None:
        namespace = classes.instance_dict(value)
        if namespace is not None and id(namespace) not in self.reached:
            self.reached[id(namespace)] = self.dict_of(value, source)
            self._alive.append(namespace)
            self._todo.append((namespace, self.dict_of(value, source), site))

    def dict_of(self, value: Any, source: Source) -> Source:
        """The source of an instance's `__dict__`."""
        kind = type(value)
        plain = self._plain.get(kind)
        if plain is None:
            own = classes.entry(kind, "__getattribute__") in (None, _OBJECT_GETATTRIBUTE)
            plain = self._plain[kind] = own or issubclass(kind, (type, ModuleType))
        return self.child(source, "dict") if plain else self.child(source, "slot", "__dict__")

    def _function(self, fn: FunctionType, source: Source) -> None:
        site = self._reads.called.get(id(fn), _MISSING)
        if site is not _MISSING:
            at: Any = site
            plain = fn.__defaults__ is None and fn.__kwdefaults__ is None
            self.add("plain_code" if plain else "code", source, fn.__code__, at)
            for name in () if plain else ("__defaults__", "__kwdefaults__"):
                values, path = getattr(fn, name), self.child(source, "attribute", name)
                self.place(values, path, at)
                if values is not None and not is_atom(values):
                    self._all_items(values, path, None, at)
        for index, cell in enumerate(fn.__closure__ or ()):
            if ("cell", None) in self._looks.get(id(cell), ()):
                at = self._looks[id(cell)]["cell", None]
                text = f"{{p}}.<{fn.__code__.co_freevars[index]}>"
                self._cell(cell, self.child(source, "cell", index, text), at)

    def _cell(self, cell: CellType, source: Source, site: Site | None) -> None:
        try:
            self.place(cell.cell_contents, source, site)
        except ValueError:
            pass  # filled and emptied by the program itself

    def _methods(self, cls: type, source: Source) -> None:
        """The functions of a class that ran, however they were reached (special methods, super(), properties)."""
        called = self._reads.called
        for base in classes.mro(cls):
            if not base.__flags__ & HEAP_TYPE:
                continue
            if base is not cls and id(base) in self._looks:
                self.visit(base, self.constant(base), None)
            ran = self._ran.get(base)
            if ran is None:
                ran = self._ran[base] = classes.functions_among(base, called)
            for name, value, function in ran:
                entry = classes.entry(cls, name)
                owner = cls if entry is not None and entry.cls is base else base
                self.class_entry(owner, name, Entry(base, value), called[id(function)])

    # ---- attributes

    def attribute(self, value: Any, source: Source, name: str, site: Site | None) -> None:
        """The program read `value.name` (or found that it is not there)."""
        if isinstance(value, type):
            self._class_attribute(value, source, name, site)
            return
        cls = type(value)
        found = classes.entry(cls, name)
        if found is not None and classes.is_data_descriptor(found.value):
            self._descriptor(value, source, name, found, site)
            return
        namespace = classes.instance_dict(value)
        if namespace is not None:
            below = self.dict_of(value, source)
            if name in namespace:
                path = self.child(below, "item", name)
                self.place(namespace[name], path, site, fixed=type(value) is ModuleType)
                return
            self.absent(below, name, site)
        if found is not None:
            self.class_entry(cls, name, found, site)
        elif type(cls) is type:
            self.no_attribute(cls, name, site)

    def _descriptor(self, value: Any, source: Source, name: str, found: Entry, site: Site | None) -> None:
        self.class_entry(type(value), name, found, site)
        if classes.runs_python(found.value):
            return  # its functions are calls of their own
        if name in ("__dict__", "__class__", "__weakref__"):
            return
        try:
            held = found.value.__get__(value, type(value))
        except AttributeError:
            self.add("unset", source, name, site)
            return
        self.place(held, self.child(source, "slot", name), site)

    def class_entry(self, cls: type, name: str, found: Entry, site: Site | None) -> None:
        """`cls.name` is what the namespace of `found.cls` holds."""
        if (id(cls), name) in self._class_entries or not found.cls.__flags__ & HEAP_TYPE:
            return  # C types do not change
        self._class_entries.add((id(cls), name))
        if type(cls) is type and not classes.binds(found.value):
            path = self.child(self.constant(cls), "attribute", name)
        else:
            for base in classes.mro(cls)[: classes.mro(cls).index(found.cls)]:
                if base.__flags__ & HEAP_TYPE:
                    self.absent(self.child(self.constant(base), "attribute", "__dict__"), name, site)
            path = self.child(self.constant(found.cls), "class_entry", name)
        self.place(found.value, path, site, fixed=True)

    def no_attribute(self, cls: type, name: str, site: Site | None) -> None:
        """No class of the MRO has `name`."""
        if (id(cls), name) not in self._class_entries and cls.__flags__ & HEAP_TYPE:
            self._class_entries.add((id(cls), name))
            self.add("no_attribute", self.constant(cls), name, site)

    def _class_attribute(self, cls: type, source: Source, name: str, site: Site | None) -> None:
        meta = classes.entry(type(cls), name)
        if meta is not None and classes.is_data_descriptor(meta.value):
            if classes.is_c_member(meta.value):
                held = meta.value.__get__(cls, type(cls))
                if name == "__dict__":
                    self._all_items(held, self.child(source, "attribute", name), None, site)
                elif name not in ("__class__", "__base__"):
                    self.place(held, self.child(source, "attribute", name), site)
            else:
                self.class_entry(type(cls), name, meta, site)
            return
        found = classes.entry(cls, name)
        if found is not None:
            self.class_entry(cls, name, found, site)
        elif meta is not None:
            self.class_entry(type(cls), name, meta, site)
        elif type(cls) is type:
            self.no_attribute(cls, name, site)

    # ---- items

    def absent(self, source: Source, name: Any, site: Site | None) -> None:
        """A dict without this key: one guard for all such keys of a dict."""
        known = self._absent.get(id(source))
        if known is None:
            known = self._absent[id(source)] = Guard("absent", source, [], site)
            self.guards.append(known)
        if name not in known.expected:
            known.expected.append(name)

    def item(self, value: Any, source: Source, key: Any, site: Site | None) -> None:
        """The program read `value[key]`, or found that it is not there."""
        step = item_step(value)
        if step is None:
            return  # an object with a __getitem__ of its own, whose code was interpreted
        if isinstance(value, dict):
            if not dict.__contains__(value, key):
                self.absent(source, key, site)
                if isinstance(value, collections.defaultdict):
                    self.place(value.default_factory, self.child(source, "slot", "default_factory"), site)
                return
            if type(value) is dict and (id(value) in self._reads.namespaces):
                self.place(value[key], self.child(source, step, key), site, fixed=True)
                return
            self.place(dict.__getitem__(value, key), self.child(source, step, key), site)
            return
        base: Any = next(b for b, name in _ITEM_STEPS if isinstance(value, b))
        try:
            held = base.__getitem__(value, key)
        except IndexError:
            self.add("length", source, _length(value), site)
            return
        self.place(held, self.child(source, step, key), site)

    def _all_items(self, value: Any, source: Source, key: Any, site: Site | None) -> None:
        """Everything that a container holds, in order."""
        if isinstance(value, types.MappingProxyType):
            self.add("contents", source, same_contents(dict(value)), site)
        elif isinstance(value, dict):
            for index, name in enumerate(self._keys(value, source, site)):
                self.place(*self._entry(value, source, index, name), site)
        elif isinstance(value, (set, frozenset)):
            known = _hashable(value)
            self.add("set", source, frozenset(items_of(value)) if known else list(items_of(value)), site)
            for item in () if known else items_of(value):
                self.visit(item, self.constant(item), site)
        elif isinstance(value, (list, tuple, collections.deque)):
            items = items_of(value)
            if len(items) > 8 and all(map(is_atom, items)):
                self.add("items", source, items, site)
                return
            self.add("length", source, len(items), site)
            step = item_step(value)
            assert step is not None
            for index, item in enumerate(items):
                self.place(item, self.child(source, step, index), site)

    def _entry(self, value: dict[Any, Any], source: Source, index: int, key: Any) -> tuple[Any, Source]:
        """One value of a dict and its source. A key that is no atom may have a `__hash__` of the program's own."""
        step = item_step(value)
        if is_atom(key) and step is not None:
            return dict.__getitem__(value, key), self.child(source, step, key)
        return list(dict.values(value))[index], self.child(source, "nth_value", index)

    def items(self, value: Any, source: Source, key: Any, site: Site | None) -> None:
        """The program went through a container."""
        self._all_items(value, source, key, site)
        if isinstance(value, (set, frozenset)) and _hashable(value):
            self.add("items", source, items_of(value), site)  # equal sets may have another order

    def keys(self, value: Any, source: Source, key: Any, site: Site | None) -> None:
        """The program went through the keys of a dict, or through another container."""
        if isinstance(value, dict):
            self._keys(value, source, site)
        else:
            self.items(value, source, key, site)

    def _keys(self, value: dict[Any, Any], source: Source, site: Site | None) -> list[Any]:
        found = list(dict.keys(value))
        self.add("keys", source, found, site)
        for name in found:
            if not is_atom(name) and not isinstance(name, type):
                self.visit(name, self.constant(name), site)  # known by identity
        return found

    def parts(self, value: Any, source: Source, key: Any, site: Site | None, state: bool = False) -> None:
        """Everything in a container, at any depth; with `state` through the attributes of objects too."""
        todo = [(value, source)]
        while todo:
            value, source = todo.pop()
            if (id(value), state) in self._whole or is_tensor(value) or is_atom(value):
                continue
            self._whole.add((id(value), state))
            self._all_items(value, source, None, site)
            step = item_step(value)
            if isinstance(value, dict) and step is not None:
                todo += [self._entry(value, source, i, k) for i, k in enumerate(dict.keys(value))]
            elif step is not None:
                todo += [(item, self.child(source, step, i)) for i, item in enumerate(items_of(value))]
            if state and type(value).__flags__ & HEAP_TYPE and not isinstance(value, (type, nn.Module)):
                namespace = classes.instance_dict(value)
                if namespace is not None:
                    todo.append((namespace, self.dict_of(value, source)))

    def truth(self, value: Any, source: Source, key: Any, site: Site | None) -> None:
        """`if value:`"""
        if item_step(value) is not None or isinstance(value, (set, frozenset)):
            if type(value) in (list, tuple, dict, set, frozenset, collections.deque):
                self.add("filled" if value else "empty", source, None, site)
            else:
                self.add("length", source, _length(value), site)
        elif type(type(value)) is type:
            for name in ("__bool__", "__len__"):
                if classes.entry(type(value), name) is None:
                    self.no_attribute(type(value), name, site)

    def length(self, value: Any, source: Source, key: Any, site: Site | None) -> None:
        """`len(value)`"""
        if item_step(value) is not None or isinstance(value, (set, frozenset)):
            self.add("length", source, _length(value), site)

    def hooks(self, value: Any, source: Source, key: Any, site: Site | None) -> None:
        """A module was called, and had no hooks."""
        self.add("no_hooks", self.dict_of(value, source), None, site)

    def strays(self) -> None:
        """Functions from outside that ran, and that no path of ours leads to: guarded where they are."""
        for reference in self.reads.functions:
            function = reference()
            if function is not None and id(function) not in self.reached:
                self.visit(function, self.constant(function, function.__qualname__), self.reads.called[id(function)])
        self.run()

    def caches(self, hits: list[tuple[Any, Any, Any]]) -> None:
        """Results that the program took from lru_caches: they are still there."""
        for wrapper, key, value in hits:
            source = self.reached.get(id(wrapper)) or self.constant(wrapper)
            self.add("contents", source, functools.partial(still_holds, key=key, value=value), None)

    def apart(self, touched: set[int]) -> None:
        """Objects that the program changed are none of the others that it looked at."""
        by_type: dict[type, list[Source]] = {}
        changed: list[tuple[type, Source]] = []
        for value in self._alive:
            source = self.reached.get(id(value))
            if source is None or source.step in ("constant", "dict") or id(value) not in self._looks:
                continue
            by_type.setdefault(type(value), []).append(source)
            if id(value) in touched:
                changed.append((type(value), source))
        for kind, source in changed:
            for other in by_type[kind]:
                if other is not source:
                    self.add("distinct", source, None, None, other)

    def identities(self) -> None:
        """`a is b` of two objects from outside: still two objects."""
        for (how, left, right), site in self._reads.places.items():
            if how == "is" and left != right and left in self.reached and right in self.reached:
                one, other = self.reached[left], self.reached[right]
                if one.step != "constant" or other.step != "constant":
                    self.add("distinct", one, None, site, other)


def _key_look(walk: Walk, value: Any, source: Source, key: Any, site: Site | None) -> None:
    if dict.__contains__(value, key):
        if ("item", key) not in walk._looks[id(value)]:
            walk.add("present", source, (key,), site)
    else:
        walk.absent(source, key, site)


def _context(walk: Walk, value: Any, source: Source, key: Any, site: Site | None) -> None:
    walk.place(value.get(None), walk.child(source, "context_value"), site)


def _referent(walk: Walk, value: Any, source: Source, key: Any, site: Site | None) -> None:
    held = weakref.ref.__call__(value)
    walk.place(held, walk.child(source, "referent"), site)


_LOOKS: dict[str, Callable[[Walk, Any, Source, Any, Site | None], None]] = {
    "attr": lambda walk, value, source, key, site: walk.attribute(value, source, key, site),
    "item": lambda walk, value, source, key, site: walk.item(value, source, key, site),
    "key": _key_look,
    "cell": lambda *row: None,  # reached through its function
    "length": Walk.length,
    "truth": Walk.truth,
    "items": Walk.items,
    "keys": Walk.keys,
    "parts": Walk.parts,
    "state": functools.partial(Walk.parts, state=True),
    "hooks": Walk.hooks,
    "is": lambda *row: None,  # at the end, when all sources are known
    "context": _context,
    "referent": _referent,
}

_LRU_CACHE = type(functools.lru_cache(lambda: None))
_OBJECT_GETATTRIBUTE = Entry(object, object.__dict__["__getattribute__"])
_STRUCTURED = (
    list, tuple, dict, set, frozenset, collections.deque, FunctionType, MethodType, functools.partial, property,
    staticmethod, classmethod, types.MappingProxyType, weakref.ref, CellType, _LRU_CACHE,
)  # fmt: skip
"""C types whose parts the walk follows itself."""


def item_step(value: Any) -> str | None:
    """How an item of a built-in container (or of a subclass of one) is read; None for anything else."""
    kind = type(value)
    if kind in (dict, list, tuple, collections.deque):
        return "item"
    return next((step for base, step in _ITEM_STEPS if issubclass(kind, base)), None)


def _length(value: Any) -> int:
    return len(items_of(value)) if not isinstance(value, dict) else dict.__len__(value)


def _hashable(value: Any) -> bool:
    return all(is_atom(item) for item in items_of(value))


def module_name(namespace: dict[str, Any]) -> str | None:
    """The name under which sys.modules has the module with these globals."""
    name = namespace.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    return name if isinstance(module, ModuleType) and module.__dict__ is namespace else None
