"""From what the program read (reads.py) to guards: each with a source, the value that it rests on, and a line.

Runs after the trace, when the heap is as it was before: a walk from what is named (the callable, the modules' globals,
classes) along the places that the program read. A place that no path leads to belongs to an object of the run itself
and is no assumption. Reading happens past every override, so that none of the program's code runs here.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from dynamo_lite.interpreter.type_flags import is_changeable
from dynamo_lite.tracing import class_attributes as classes
from dynamo_lite.tracing.attribute_places import AttributePlaces
from dynamo_lite.tracing.class_attributes import Entry
from dynamo_lite.tracing.lru import still_holds
from dynamo_lite.tracing.places import LRU_CACHE
from dynamo_lite.tracing.reads import Site
from guards import Source
from guards.values import is_atom

_MISSING = object()


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
        elif kind is LRU_CACHE:
            self.place(value.__wrapped__, self.child(source, "attribute", "__wrapped__"), site)
        else:
            self._instance(value, source, site)
        if is_changeable(kind) and not issubclass(kind, type):
            self.visit(kind, self.constant(kind), site)

    def _instance(self, value: Any, source: Source, site: Site | None) -> None:
        namespace = classes.instance_dict(value)
        if namespace is not None and id(namespace) not in self.reached:
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
                self.class_entry(owner, name, Entry(base, value), called[id(function)])

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
        """`a is b` of two objects from outside: still two objects."""
        for left, right, site in self._compared:
            if left != right and left in self.reached and right in self.reached:
                one, other = self.reached[left], self.reached[right]
                if one.step != "constant" or other.step != "constant":
                    self.add("distinct", one, None, site, other)


def _context(walk: Walk, value: Any, source: Source, key: Any, site: Site | None) -> None:
    walk.place(value.get(None), walk.child(source, "context_value"), site)



def _referent(walk: Walk, value: Any, source: Source, key: Any, site: Site | None) -> None:
    held = weakref.ref.__call__(value)
    walk.place(held, walk.child(source, "referent"), site)



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
}


def module_name(namespace: dict[str, Any]) -> str | None:
    """The name under which sys.modules has the module with these globals."""
    name = namespace.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    return name if isinstance(module, ModuleType) and module.__dict__ is namespace else None

