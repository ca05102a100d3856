"""From the program's reads (access_log.py) to guards: each with a source, the value that it depends on, and a line.

Runs after the trace, when the heap is as it was before: a walk from named objects (the callable, the modules' globals,
classes) along the places that the program read. A place that no path leads to belongs to an object of the run itself
and is not an assumption. Reading bypasses every override, so that none of the program's code runs here.
"""

from __future__ import annotations

import abc
import functools
import gc
import sys
import weakref
from collections.abc import Callable
from types import BuiltinMethodType, CellType, FunctionType, MethodType, MethodWrapperType, ModuleType
from typing import Any

import torch

from dynamo_lite.guards import Source
from dynamo_lite.guards.classes import behind, form, namespace_of, registrations, subclasses
from dynamo_lite.guards.values import is_atom
from dynamo_lite.interpreter.code.type_flags import HEAP_OR_IMMUTABLE, HEAP_TYPE, is_changeable
from dynamo_lite.interpreter.code.type_members import flags_of
from dynamo_lite.tracing.assumptions.attributes import AttributePlaces
from dynamo_lite.tracing.heap.accesses import VIEWS, Site
from dynamo_lite.tracing.vocabulary import mro as classes
from dynamo_lite.tracing.vocabulary.mro import ClassEntry
from dynamo_lite.tracing.vocabulary.type_tests import LruCacheWrapper

_MISSING = object()
_OF_SIGNATURES = ("__wrapped__", "__signature__")
"""Attributes of a function in whose place inspect.signature looks at another function, or at none."""
_SHOWS_DICTS = sys.version_info < (3, 13)
"""Whether the collector sees the `__dict__` of each instance whose `__dict__` has been accessed."""


class Walk(AttributePlaces):
    """One walk from the named things on: `place` or `visit` them, then `run()`, then the passes at the end."""

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
                    self.all_items(part, self.child(source, "slot", name), None, site)
        elif issubclass(kind, type):
            self._methods(value, source)
        elif kind in (staticmethod, classmethod):
            self.place(value.__func__, self.child(source, "attribute", "__func__"), site)
        elif kind is property:
            for name in ("fget", "fset", "fdel"):
                if getattr(value, name) is not None:
                    self.place(getattr(value, name), self.child(source, "attribute", name), site)
        elif kind is LruCacheWrapper:
            self.place(value.__wrapped__, self.child(source, "attribute", "__wrapped__"), site)
        elif kind in VIEWS:
            self.visit(behind(value), self.child(source, "behind"), site)
        elif kind in (BuiltinMethodType, MethodWrapperType):
            if type(value.__self__) is not ModuleType:
                self.place(value.__self__, self.child(source, "attribute", "__self__"), site)
        else:
            self._instance(value, source, site)
            self.hidden_items(value, source, site)
        if id(kind) not in self.reached and is_changeable(kind):
            self.visit(kind, self.constant(kind), site)

    def _instance(self, value: Any, source: Source, site: Site | None) -> None:
        of_python = flags_of(type(value)) & HEAP_OR_IMMUTABLE == HEAP_TYPE  # is_changeable, for each object
        held = gc.get_referents(value) if _SHOWS_DICTS and of_python else None
        namespace = classes.instance_dict(value)
        if namespace is not None and id(namespace) not in self.reached:
            if held is not None and id(namespace) in self._looks and not any(part is namespace for part in held):
                # Asking has made it, where a dict of the run's own was that is gone: whose rows these are.
                self._looks.pop(id(namespace))
            self.reached[id(namespace)] = self.dict_of(value, source)
            self._alive.append(namespace)
            self._todo.append((namespace, self.dict_of(value, source), site))

    def _function(self, fn: FunctionType, source: Source) -> None:
        site = self._reads.called.get(id(fn), _MISSING)
        if site is _MISSING:  # not called, but looked into (inspect.signature)
            site = self._looks.get(id(fn), {}).get(("state", None), _MISSING)
        if site is not _MISSING:
            at: Any = site
            plain = fn.__defaults__ is None and fn.__kwdefaults__ is None
            self.add("plain_code" if plain else "code", source, fn.__code__, at)
            for name in () if plain else ("__defaults__", "__kwdefaults__"):
                values, path = getattr(fn, name), self.child(source, "attribute", name)
                self.place(values, path, at)
                if values is not None and not is_atom(values):
                    self.all_items(values, path, None, at)
            if id(fn) not in self._reads.called:
                for name in _OF_SIGNATURES:
                    self.attribute(fn, source, name, at)
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
        self._classes[id(cls)] = cls
        self._form(cls)
        called = self._reads.called
        for base in classes.mro(cls):
            if not is_changeable(base):
                continue
            if base is not cls and id(base) in self._looks:
                self.visit(base, self.constant(base), None)
            ran = self._ran.get(base)
            if ran is None:
                ran = self._ran[base] = classes.functions_among(base, called)
            for name, value, function in ran:
                entry = classes.entry(cls, name)
                owner = cls if entry is not None and entry.cls is base else base
                self.class_entry(owner, name, ClassEntry(base, value), called[id(function)])

    def _form(self, cls: type) -> None:
        """Bases, special methods and data descriptors of a class; the dict of its attributes, if that was looked at."""
        for base in classes.mro(cls):
            if id(base) not in self._formed and is_changeable(base):
                self._formed.add(id(base))
                self._classes[id(base)] = base
                self.add("class", self.constant(base), form(base), None)
                namespace = namespace_of(base)
                if id(namespace) in self._looks:
                    self.visit(namespace, self.child(self.constant(base), "namespace"), None)

    def of_classes(self) -> None:
        """Guard attributes read on instances and found in their classes: the instances may be the run's own."""
        alive = {id(value): value for value in self._alive}
        for (kind, name), (site, base, owners) in self.reads.of_class.items():
            cls = self._classes.get(kind) or self._classes.get(base)
            if cls is None or all(name in (classes.instance_dict(alive.get(owner)) or ()) for owner in owners):
                continue
            found = classes.entry(cls, name)
            if found is not None:
                self.class_entry(cls, name, found, site)
            else:
                self.no_attribute(cls, name, site)
        self.run()

    def of_tensors(self) -> None:
        """Methods and attributes of tensors: those of torch.Tensor, or of its base written in C and not hidden."""
        own = self.child(self.constant(torch.Tensor), "attribute", "__dict__")
        for name, site in self.reads.of_tensors.items():
            found = classes.entry(torch.Tensor, name)
            if found is not None and found.cls is torch.Tensor:
                self.class_entry(torch.Tensor, name, found, site)
            else:
                self.absent(own, name, site)

    def hooks(self, value: Any, source: Source, key: Any, site: Site | None) -> None:
        """A module was called, and had no hooks."""
        self.add("no_hooks", self.dict_of(value, source), None, site)

    def strays(self) -> None:
        """Guard older functions that ran and that no path leads to, where they are."""
        for reference in self.reads.functions:
            function = reference()
            if function is not None and id(function) not in self.reached:
                self.visit(function, self.constant(function, function.__qualname__), self.reads.called[id(function)])
        self.run()

    def must_not_alias(self, touched: set[int]) -> None:
        """Guard that objects that the program changed are distinct from the others that it looked at."""
        if not touched:
            return
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
        """Guard `a is b` of two older objects: they remain two objects."""
        for left, right, site in self._compared:
            one, other = (self.reached.get(at) or self._tensors.get(at) for at in (left, right))
            if left == right or one is None or other is None:
                continue
            if one.step != "constant" or other.step != "constant":
                self.add("distinct", one, None, site, other)


def _context(walk: Walk, value: Any, source: Source, key: Any, site: Site | None) -> None:
    walk.place(value.get(None), walk.child(source, "context_value"), site)


def _referent(walk: Walk, value: Any, source: Source, key: Any, site: Site | None) -> None:
    held = weakref.ref.__call__(value)
    walk.place(held, walk.child(source, "referent"), site)


def _registry(walk: Walk, value: Any, source: Source, key: Any, site: Site | None) -> None:
    if isinstance(value, type):
        token, known = abc.get_cache_token(), registrations(value)
        walk.add(
            "contents", source, lambda found: abc.get_cache_token() == token or registrations(found) == known, site
        )


def _whole_class(walk: Walk, value: Any, source: Source, key: Any, site: Site | None) -> None:
    for base in classes.mro(value):
        if is_changeable(base):
            walk.add(
                "contents",
                walk.constant(base),
                functools.partial(_has_entries, expected=dict(classes.namespace(base))),
                site,
            )


def _has_entries(cls: type, expected: dict[str, Any]) -> bool:
    now = classes.namespace(cls)
    return len(now) == len(expected) and all(now.get(name, expected) is value for name, value in expected.items())


def _subclasses(walk: Walk, value: Any, source: Source, key: Any, site: Site | None) -> None:
    known = subclasses(value)
    walk.add("contents", source, lambda found: subclasses(found) == known, site)


_LOOKS: dict[str, Callable[[Walk, Any, Source, Any, Site | None], None]] = {
    "attr": Walk.attribute,
    "item": Walk.item,
    "key": Walk.has_key,
    "cell": lambda *row: None,  # reached through its function
    "length": Walk.length,
    "truth": Walk.truth,
    "items": Walk.items,
    "entry": Walk.items,
    "keys": Walk.keys,
    "parts": Walk.parts,
    "state": functools.partial(Walk.parts, state=True),
    "hooks": Walk.hooks,
    "context": _context,
    "referent": _referent,
    "own": Walk.own,
    "class": _whole_class,
    "names": Walk.names,
    "registry": _registry,
    "subclasses": _subclasses,
}


def module_name(namespace: dict[str, Any]) -> str | None:
    """The name under which sys.modules has the module with these globals."""
    name = namespace.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    return name if isinstance(module, ModuleType) and module.__dict__ is namespace else None
