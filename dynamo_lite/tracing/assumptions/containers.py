"""Guards on containers: items, their number, whether one is there."""

from __future__ import annotations

import collections
import sys
import types
from typing import Any

from torch import nn

from dynamo_lite.guards import Source
from dynamo_lite.guards.classes import behind
from dynamo_lite.guards.values import is_atom, ordered_keys, same_atom
from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.tracing.assumptions.guard_builder import GuardBuilder
from dynamo_lite.tracing.heap.accesses import VIEWS, Site
from dynamo_lite.tracing.policy.skipped_calls import UNGUARDED
from dynamo_lite.tracing.vocabulary import mro as classes
from dynamo_lite.tracing.vocabulary.contents import keys_and_items
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_ITEM_STEPS: tuple[tuple[type, str], ...] = (
    (dict, "dict_item"),
    (list, "list_item"),
    (tuple, "tuple_item"),
    (collections.deque, "deque_item"),
)


class ContainerPlaces(GuardBuilder):
    """Places below containers."""

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
                if f"{value.get('__name__')}:{key}" in UNGUARDED:
                    return
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

    def all_items(self, value: Any, source: Source, key: Any, site: Site | None) -> None:
        """Everything that a container holds, in order."""
        if isinstance(value, dict):
            for index, name in enumerate(self._keys(value, source, site)):
                self.place(*self._entry(value, source, index, name), site)
        elif isinstance(value, (set, frozenset)):
            known = _hashable(value)
            self.add("set", source, frozenset(keys_and_items(value)) if known else list(keys_and_items(value)), site)
            for item in () if known else keys_and_items(value):
                self.visit(item, self.constant(item), site)
        elif isinstance(value, (list, tuple, collections.deque)):
            items = keys_and_items(value)
            if len(items) > 8 and all(map(is_atom, items)):
                self.add("items", source, items, site)
                return
            self.add("length", source, len(items), site)
            step = item_step(value)
            assert step is not None
            for index, item in enumerate(items):
                self.place(item, self.child(source, step, index), site)

    def _entry(self, value: dict[Any, Any], source: Source, index: int, key: Any) -> tuple[Any, Source]:
        """Return a value of a dict and its source. A key other than an atom may have the program's own `__hash__`."""
        step = item_step(value)
        if is_atom(key) and step is not None:
            return dict.__getitem__(value, key), self.child(source, step, key)
        if isinstance(value, collections.OrderedDict):  # its own order may be another than the dict's
            index = next(i for i, known in enumerate(dict.keys(value)) if known is key)
        return list(dict.values(value))[index], self.child(source, "nth_value", index)

    def items(self, value: Any, source: Source, key: Any, site: Site | None) -> None:
        """The program went through a container."""
        self.all_items(value, source, key, site)
        if isinstance(value, (set, frozenset)) and _hashable(value):
            self.add("items", source, keys_and_items(value), site)  # equal sets may have another order

    def keys(self, value: Any, source: Source, key: Any, site: Site | None) -> None:
        """The program went through the keys of a dict, or through another container."""
        if isinstance(value, dict):
            self._keys(value, source, site)
        else:
            self.items(value, source, key, site)

    def _keys(self, value: dict[Any, Any], source: Source, site: Site | None) -> list[Any]:
        found = ordered_keys(value) if isinstance(value, collections.OrderedDict) else list(dict.keys(value))
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
            if type(value) in VIEWS:
                value, source = behind(value), self.child(source, "behind")
            if (id(value), state) in self._whole or is_tensor(value) or is_atom(value):
                continue
            self._whole.add((id(value), state))
            self.all_items(value, source, None, site)
            step = item_step(value)
            if isinstance(value, dict) and step is not None:
                todo += [self._entry(value, source, i, k) for i, k in enumerate(self._keys(value, source, site))]
            elif step is not None:
                todo += [(item, self.child(source, step, i)) for i, item in enumerate(keys_and_items(value))]
            has_attributes = is_changeable(type(value)) or isinstance(value, types.SimpleNamespace)
            if state and has_attributes and not isinstance(value, (type, nn.Module)):
                namespace = classes.instance_dict(value)
                if namespace is not None:
                    todo.append((namespace, self.dict_of(value, source)))
                todo += self._slots(value, source, site)

    def _slots(self, value: Any, source: Source, site: Site | None) -> list[tuple[Any, Source]]:
        """Each slot of an object that is filled, guarded."""
        filled = []
        for base in classes.mro(type(value)):
            for name, member in classes.namespace(base).items() if is_changeable(base) else ():
                if type(member) is not types.MemberDescriptorType:
                    continue
                try:
                    held = member.__get__(value, type(value))
                except AttributeError:
                    self.add("unset", source, name, site)
                    continue
                self.place(held, self.child(source, "slot", name), site)
                filled.append((held, self.child(source, "slot", name)))
        return filled

    def names(self, value: Any, source: Source, key: Any, site: Site | None) -> None:
        """The names of an object's attributes: its own, and those of its classes (`dir`)."""
        namespace = classes.instance_dict(value) if not isinstance(value, type) else None
        if namespace is not None:
            self._keys(namespace, self.dict_of(value, source), site)
        for base in classes.mro(value if isinstance(value, type) else type(value)):
            if is_changeable(base):
                names = frozenset(classes.namespace(base))
                self.add(
                    "contents", self.constant(base), lambda found, n=names: classes.namespace(found).keys() == n, site
                )

    def hidden_items(self, value: Any, source: Source, site: Site | None) -> None:
        """Objects that a numpy array holds: known by identity, as the members of a set are."""
        if _is_array(value) and value.dtype.hasobject:
            held = _objects_in(value)
            form = value.dtype, value.shape, value.strides

            def is_same(found: Any) -> bool:
                if (found.dtype, found.shape, found.strides) != form:
                    return False
                now = _objects_in(found)
                return all(a is b or (is_atom(b) and same_atom(a, b)) for a, b in zip(now, held, strict=True))

            self.add("contents", source, is_same, site)
            for item in held:
                if not is_atom(item):
                    self.visit(item, self.constant(item), site)

    def truth(self, value: Any, source: Source, key: Any, site: Site | None) -> None:
        """`if value:`"""
        if item_step(value) is not None or isinstance(value, (set, frozenset)):
            if type(value) in (list, tuple, dict, set, frozenset, collections.deque):
                self.add("filled" if value else "empty", source, None, site)
            else:
                self.add("length", source, _length(value), site)
        else:
            for name in ("__bool__", "__len__"):
                if classes.entry(type(value), name) is None:
                    self.no_attribute(type(value), name, site)

    def length(self, value: Any, source: Source, key: Any, site: Site | None) -> None:
        """`len(value)`"""
        if item_step(value) is not None or isinstance(value, (set, frozenset)):
            self.add("length", source, _length(value), site)

    def has_key(self, value: Any, source: Source, key: Any, site: Site | None) -> None:
        """`key in value`"""
        if dict.__contains__(value, key):
            if ("item", key) not in self._looks[id(value)]:
                self.add("present", source, (key,), site)
        else:
            self.absent(source, key, site)


def item_step(value: Any) -> str | None:
    """How an item of a built-in container (or of a subclass of one) is read; None for anything else."""
    kind = type(value)
    if kind in (dict, list, tuple, collections.deque):
        return "item"
    return next((step for base, step in _ITEM_STEPS if issubclass(kind, base)), None)


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _objects_in(array: Any) -> list[Any]:
    """Return the items of an array, in order; the fields of a structured one in turn."""
    import numpy

    found, todo = [], [*reversed(numpy.ndarray.tolist(numpy.ndarray.reshape(array, -1)))]
    while todo:
        item = todo.pop()
        if type(item) is tuple and array.dtype.names:
            todo += reversed(item)
        else:
            found.append(item)
    return found


def _length(value: Any) -> int:
    return len(keys_and_items(value)) if not isinstance(value, dict) else dict.__len__(value)


def _hashable(value: Any) -> bool:
    return all(is_atom(item) for item in keys_and_items(value))
