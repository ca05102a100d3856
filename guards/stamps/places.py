"""What is at a source, and the words that have to stay for the same object to be there.

Each word is kept before what it stands for is read, so a write between the two is told. A place that no word answers
for (an item of a deque, a slot, a thread's own attributes) is UNKNOWN, and so is everything below it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import (
    BuiltinMethodType,
    CellType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final

from dynamo_lite.guards import classes
from dynamo_lite.guards.source import Source
from dynamo_lite.guards.stamps.layout import FUNCTION_PARTS, IS_HEAP_TYPE, TYPE, WORD, Layout
from dynamo_lite.guards.stamps.words import Words
from dynamo_lite.guards.tensors import TensorFacts
from dynamo_lite.guards.values import is_atom

UNKNOWN: Final = object()
_OF_CPYTHON = (GetSetDescriptorType, MemberDescriptorType, WrapperDescriptorType)
MOST_ITEMS = 64
"""Of a list. The buffer of a long one may be given back to the system, so it is not read through a kept address."""

_VIEWS: tuple[type, ...] = (MappingProxyType, type({}.keys()), type({}.values()), type({}.items()))


class Places:
    """`held` keeps the objects alive whose words are read; the caller keeps `root`, and what it is a method of."""

    def __init__(self, layout: Layout, root: Any) -> None:
        self.layout = layout
        self.words = Words()
        self.held: dict[int, Any] = {}
        self._root = root
        self._not_held = {id(root), id(root.__self__) if type(root) is MethodType else 0}
        self._known: dict[int, Any] = {}
        self._classes: set[int] = set()
        self._plain: dict[tuple[int, str], bool] = {}

    def at(self, source: Source | None) -> Any:
        """The value at a source, or UNKNOWN."""
        path = []
        while source is not None and id(source) not in self._known:
            path.append(source)
            source = source.parent
        value = self._known[id(source)] if source is not None else None
        for step in reversed(path):
            if value is not UNKNOWN:
                value = self._step(step, value)
            self._known[id(step)] = value
        return value

    def _step(self, source: Source, parent: Any) -> Any:
        if source.step in ("module", "function"):
            return self._root
        take = _STEPS.get(source.step)
        try:
            return UNKNOWN if take is None else take(self, parent, source.key)
        except (LookupError, AttributeError, TypeError, ValueError):
            return UNKNOWN

    # ---- what is kept of an object

    def hold(self, value: Any) -> None:
        if id(value) not in self._not_held:
            self.held[id(value)] = value

    def type_of(self, value: Any) -> None:
        """The object stays of its type, where Python can give it another one."""
        kind = type(value)
        if kind.__flags__ & IS_HEAP_TYPE or issubclass(kind, ModuleType):
            self.hold(value)
            self.words.keep(id(value) + TYPE)

    def dict(self, value: dict[Any, Any]) -> None:
        self.hold(value)
        self.words.keep(id(value) + self.layout.version)

    def size(self, value: list[Any]) -> None:
        self.hold(value)
        self.words.keep(id(value) + self.layout.list_size)

    def item(self, value: list[Any], index: int) -> Any:
        """The item of a list, through the address of its items. (They move only with that address.)"""
        self.size(value)
        count = list.__len__(value)
        buffer = self.words.keep(id(value) + self.layout.list_items)
        index = index + count if index < 0 else index
        if not 0 <= index < count <= MOST_ITEMS:
            return UNKNOWN
        self.words.keep(buffer + WORD * index, 1)
        found = list.__getitem__(value, index)
        self.hold(found)
        return found

    def cls(self, cls: type) -> None:
        """The namespaces and the order of a class and its bases, and those of its metaclass."""
        for base in (cls, type(cls)):
            if id(base) not in self._classes:
                self._classes.add(id(base))
                self.words.keep(id(base) + self.layout.mro)
                self.type_of(base)
                mro = classes.mro_of(base)
                self.hold(mro)
                for each in mro:
                    self.hold(each)
                    self.dict(classes.namespace_of(each))

    def function(self, fn: FunctionType) -> None:
        self.hold(fn)
        for offset, part in zip(self.layout.function, FUNCTION_PARTS):
            self.words.keep(id(fn) + offset)
            self.hold(getattr(fn, part))

    def tensor(self, value: Any, facts: TensorFacts) -> bool:
        from dynamo_lite.guards.stamps._torch_tensors import tensor_layout

        found = tensor_layout()
        if found is None or not facts.is_of_torch:
            return False
        self.hold(value)
        self.cls(type(value))
        return found.keep(value, self.words)

    # ---- steps

    def instance_dict(self, owner: Any, key: Any = None) -> Any:
        if isinstance(owner, type):
            return self._namespace_view(owner)
        if not self._is_plain(type(owner), "__getattribute__"):
            return UNKNOWN
        return self.own_dict(owner)

    def own_dict(self, owner: Any) -> Any:
        """`object.__getattribute__(owner, "__dict__")`"""
        slot = self.layout.dict_slot(owner)
        if slot is None or not self._is_plain(type(owner), "__dict__"):
            return UNKNOWN
        self.type_of(owner)
        found = object.__getattribute__(owner, "__dict__")  # makes it, if the attributes are in no dict yet
        if self.words.keep(slot) != id(found):
            return UNKNOWN
        self.hold(owner)
        self.hold(found)
        return found

    def _is_plain(self, kind: type, name: str) -> bool:
        """Whether what the instances have under a special name is CPython's own, and stays so."""
        known = self._plain.get((id(kind), name))
        if known is None:
            self.cls(kind)
            entry = type(_entry(kind, name))
            known = self._plain[id(kind), name] = entry in _OF_CPYTHON
        return known

    def _namespace_view(self, cls: type) -> Any:
        self.cls(cls)
        return classes.namespace_view(cls) if _entry(type(cls), "__dict__") is type.__dict__["__dict__"] else UNKNOWN

    def entry(self, owner: Any, key: Any) -> Any:
        """`owner[key]`, of the exact built-in types."""
        kind = type(owner)
        if kind is MappingProxyType:
            owner = classes.behind(owner)
            kind = type(owner)
        if kind is dict and is_atom(key):
            self.dict(owner)
            return owner[key]
        if kind is list:
            return self.item(owner, key)
        return owner[key] if kind is tuple else UNKNOWN

    def dict_item(self, owner: Any, key: Any) -> Any:
        if not is_atom(key):
            return UNKNOWN
        self.dict(owner)
        return dict.__getitem__(owner, key)

    def nth_value(self, owner: Any, key: int) -> Any:
        self.dict(owner)
        return [*dict.values(owner)][key]

    def attribute(self, owner: Any, key: str) -> Any:
        if isinstance(owner, type):
            return self._of_class(owner, key)
        if type(owner) is FunctionType and key in FUNCTION_PARTS:
            self.function(owner)
            return getattr(owner, key)
        if type(owner) is MethodType and key in ("__self__", "__func__"):
            return getattr(owner, key)  # a method's parts cannot be set
        return UNKNOWN

    def _of_class(self, cls: type, key: str) -> Any:
        if key == "__dict__":
            return self._namespace_view(cls)
        self.cls(cls)
        above = _entry(type(cls), key)  # `__call__` of `type` comes after that of the class; a data descriptor before
        if above is not None and type(above) is not WrapperDescriptorType:
            return UNKNOWN
        if _entry(type(cls), "__getattribute__") is not type.__getattribute__:
            return UNKNOWN
        found = _entry(cls, key)
        if type(found) is not FunctionType:  # which is what `cls.name` gives, too
            self.cls(type(found))
            self.type_of(found)
            if found is None or classes.has_entry(type(found), "__get__"):
                return UNKNOWN
        return found

    def class_entry(self, cls: type, key: str) -> Any:
        self.cls(cls)
        return classes.namespace_view(cls)[key]

    def cell(self, fn: Any, index: int) -> Any:
        if type(fn) is not FunctionType:
            return UNKNOWN
        self.function(fn)
        cell: CellType = fn.__closure__[index]  # type: ignore[index]
        self.hold(cell)
        self.words.keep(id(cell) + self.layout.cell)
        self.hold(cell.cell_contents)
        return cell.cell_contents

    def behind(self, view: Any, key: Any) -> Any:
        return classes.behind(view) if type(view) in (*_VIEWS, BuiltinMethodType) else UNKNOWN

    def namespace(self, cls: type, key: Any) -> Any:
        return classes.namespace_of(cls)

    def slot(self, owner: Any, key: str) -> Any:
        return self.own_dict(owner) if key == "__dict__" and not isinstance(owner, type) else UNKNOWN

    def constant(self, parent: Any, key: Any) -> Any:
        return key


def _entry(cls: type, name: str) -> Any:
    """What a class or the first of its bases that has the name has under it; None if there is none."""
    for base in classes.mro_of(cls):
        namespace = classes.namespace_view(base)
        if name in namespace:
            return namespace[name]
    return None


_STEPS: Mapping[str, Callable[[Places, Any, Any], Any]] = {
    "constant": Places.constant,
    "attribute": Places.attribute,
    "slot": Places.slot,
    "dict": Places.instance_dict,
    "class_entry": Places.class_entry,
    "cell": Places.cell,
    "behind": Places.behind,
    "namespace": Places.namespace,
    "nth_value": Places.nth_value,
    "item": Places.entry,
    "dict_item": Places.dict_item,
    "list_item": lambda places, owner, key: places.item(owner, key),
    "tuple_item": lambda places, owner, key: tuple.__getitem__(owner, key),
}
"""The steps of source.STEPS that words answer for. The others are taken at each check."""
