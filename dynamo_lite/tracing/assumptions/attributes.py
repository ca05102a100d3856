"""Guards on attributes: the instance's own, the class's, or that there is none."""

from __future__ import annotations

import weakref
from types import FunctionType, MethodType, ModuleType
from typing import Any

from dynamo_lite.guards import Source
from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.tracing.assumptions.containers import ContainerPlaces
from dynamo_lite.tracing.heap.accesses import Site
from dynamo_lite.tracing.vocabulary import mro as classes
from dynamo_lite.tracing.vocabulary.mro import ClassEntry

_PROXIES = (weakref.ProxyType, weakref.CallableProxyType)


class AttributePlaces(ContainerPlaces):
    """Places below objects."""

    def attribute(self, value: Any, source: Source, name: str, site: Site | None) -> None:
        """The program read `value.name` (or found that it is not there)."""
        if isinstance(value, type):
            self._class_attribute(value, source, name, site)
            return
        cls = type(value)
        found = classes.entry(cls, name)
        if cls is MethodType and found is None:
            self.attribute(value.__func__, self.child(source, "attribute", "__func__"), name, site)
            return
        if issubclass(cls, _PROXIES):
            self.add("unknown", source, "no read through a weakref.proxy, whose referent a guard cannot look at", site)
            return
        if found is not None and classes.comes_first(found.value):
            self._descriptor(value, source, name, found, site)
            return
        namespace = classes.instance_dict(value)
        if namespace is not None:
            below = self.dict_of(value, source)
            if name in namespace:
                path = self.child(below, "item", name)
                self.place(namespace[name], path, site, fixed=type(value) is ModuleType)
                if found is not None:
                    self._shadowed(found, name, site)
                return
            self.absent(below, name, site)
            if cls is ModuleType:
                self._module_fallback(namespace, below, site)
        if found is not None:
            self.class_entry(cls, name, found, site)
            return
        self.no_attribute(cls, name, site)
        fallback = classes.entry(cls, "__getattr__")
        if fallback is not None and not classes.functions_in(fallback.value):
            self._c_fallback(value, source, name, fallback, site)

    def _shadowed(self, found: ClassEntry, name: str, site: Site | None) -> None:
        """Guard a class attribute that the instance's own hides, as long as it is not a data descriptor."""
        if is_changeable(found.cls):
            path = self.child(self.constant(found.cls), "class_entry", name)
            self.add("type", path, type(found.value), site)
            if is_changeable(type(found.value)):
                self.visit(type(found.value), self.constant(type(found.value)), site)

    def _module_fallback(self, namespace: dict[str, Any], below: Source, site: Site | None) -> None:
        """A module without the attribute: its `__getattr__` was called, or there is none."""
        if "__getattr__" in namespace:
            self.place(namespace["__getattr__"], self.child(below, "item", "__getattr__"), site, fixed=True)
        else:
            self.absent(below, "__getattr__", site)

    def own(self, cls: Any, source: Source, name: str, site: Site | None) -> None:
        """Guard the entry of the class's own namespace under `name`, or its absence."""
        if name in classes.namespace(cls):
            self.class_entry(cls, name, ClassEntry(cls, classes.namespace(cls)[name]), site)
        elif is_changeable(cls):
            self.absent(self.child(self.constant(cls), "attribute", "__dict__"), name, site)

    def _c_fallback(self, value: Any, source: Source, name: str, fallback: ClassEntry, site: Site | None) -> None:
        """`__getattr__ = dict.__getitem__`: C code looked the attribute up, and the interpreter did not see where."""
        self.class_entry(type(value), "__getattr__", fallback, site)
        if fallback.value is dict.__getitem__ or fallback.value is dict.get:
            self.item(value, source, name, site)
        else:
            self.parts(value, source, None, site, state=True)

    def _descriptor(self, value: Any, source: Source, name: str, found: ClassEntry, site: Site | None) -> None:
        self.class_entry(type(value), name, found, site)
        if classes.runs_python(found.value):  # its functions are calls of their own
            if not classes.functions_in(found.value) and type(found.value) is property:
                self.parts(value, source, None, site, state=True)  # property(operator.attrgetter("x"))
            return
        if name in ("__dict__", "__class__", "__weakref__"):
            if name == "__dict__" and type(value) is FunctionType:  # of most functions it is never made
                self.visit(classes.instance_dict(value), self.dict_of(value, source), site)
            return
        try:
            held = found.value.__get__(value, type(value))
        except AttributeError:
            self.add("unset", source, name, site)
            return
        self.place(held, self.child(source, "slot", name), site)

    def class_entry(self, cls: type, name: str, found: ClassEntry, site: Site | None) -> None:
        """Guard that `cls.name` is the entry of the namespace of `found.cls`."""
        if (id(cls), name) in self._class_entries or not is_changeable(found.cls):
            return  # C types do not change
        self._class_entries.add((id(cls), name))
        if type(cls) is type and not classes.binds(found.value):
            path = self.child(self.constant(cls), "attribute", name)
        else:
            for base in classes.mro(cls)[: classes.mro(cls).index(found.cls)]:
                if is_changeable(base):
                    self.absent(self.child(self.constant(base), "attribute", "__dict__"), name, site)
            path = self.child(self.constant(found.cls), "class_entry", name)
        self.place(found.value, path, site, fixed=True)

    def _class_attribute(self, cls: type, source: Source, name: str, site: Site | None) -> None:
        meta = classes.entry(type(cls), name)
        if meta is not None and classes.comes_first(meta.value):
            if classes.is_c_member(meta.value):
                held = meta.value.__get__(cls, type(cls))
                if name not in ("__class__", "__base__", "__dict__"):  # looks at the namespace are rows of their own
                    self.place(held, self.child(source, "attribute", name), site)
            else:
                self.class_entry(type(cls), name, meta, site)
            return
        found = classes.entry(cls, name)
        if found is not None:
            self.class_entry(cls, name, found, site)
            return
        self.no_attribute(cls, name, site)
        if meta is not None:
            self.class_entry(type(cls), name, meta, site)
        else:
            self.no_attribute(type(cls), name, site)
