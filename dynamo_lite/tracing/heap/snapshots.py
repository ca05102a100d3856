"""Shallow snapshots of Python objects, and putting them back.

A snapshot holds what *one* object holds directly, by identity: the items of a list, the entries of an instance's
`__dict__`, the contents of a cell. Restoring goes through the base type's own methods, never through a user's
overrides, and keeps the object's identity.
"""

from __future__ import annotations

import _thread
import array
import builtins
import collections
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

from dynamo_lite.interpreter.code.type_flags import is_changeable
from dynamo_lite.interpreter.datamodel.trampoline_code import original_code
from dynamo_lite.tracing.heap import shared_buffers
from dynamo_lite.tracing.heap.own_patches import with_ours, without_ours

MISSING = object()
"""The contents of an empty cell, or of a name that is not bound."""


class Snapshot(NamedTuple):
    """The contents of a part of `owner`. `restore` puts it back; `current` reads the part again for a comparison.

    Contents are a dict (entries by key), a list (items in order), a set, or bytes.
    """

    owner: Any
    part: str
    contents: Any
    current: Callable[[], Any]
    restore: Callable[[Any], None]


_BUILTINS = vars(builtins)


def _restore_dict(owner: dict[Any, Any], contents: dict[Any, Any]) -> None:
    if owner is _BUILTINS:  # never empty: everything that runs looks there
        for name in [name for name in owner if name not in contents]:
            del owner[name]
    else:
        dict.clear(owner)
    dict.update(owner, contents)


def _read_dict(owner: dict[Any, Any]) -> dict[Any, Any]:
    if type(owner).__iter__ is dict.__iter__:
        return dict.copy(owner)  # hashes no key
    return dict(dict.items(owner))  # dict.copy would call its keys() and []


def _restore_ordered(owner: collections.OrderedDict[Any, Any], contents: dict[Any, Any]) -> None:
    collections.OrderedDict.clear(owner)
    for key, value in contents.items():
        collections.OrderedDict.__setitem__(owner, key, value)


def _read_ordered(owner: collections.OrderedDict[Any, Any]) -> dict[Any, Any]:
    return {key: dict.__getitem__(owner, key) for key in collections.OrderedDict.__iter__(owner)}


def _restore_list(owner: list[Any], contents: list[Any]) -> None:
    list.__setitem__(owner, slice(None), contents)


def _restore_set(owner: set[Any], contents: set[Any]) -> None:
    set.clear(owner)
    set.update(owner, contents)


def _restore_deque(owner: collections.deque[Any], contents: list[Any]) -> None:
    collections.deque.clear(owner)
    collections.deque.extend(owner, contents)


def _restore_bytearray(owner: bytearray, contents: bytes) -> None:
    bytearray.__setitem__(owner, slice(None), contents)


# Base type → (read, restore). The first row whose type is in the owner's MRO serves.
_CONTAINERS: tuple[tuple[type, Callable[[Any], Any], Callable[[Any, Any], None]], ...] = (
    (collections.OrderedDict, _read_ordered, _restore_ordered),
    (dict, _read_dict, _restore_dict),
    (list, lambda o: list.__getitem__(o, slice(None)), _restore_list),
    (set, set.copy, _restore_set),
    (collections.deque, lambda o: list(collections.deque.__iter__(o)), _restore_deque),
    (bytearray, bytes, _restore_bytearray),
    (array.array, shared_buffers.read_array, shared_buffers.restore_array),
)


class BoundCall:
    """`read` or `restore` of one container. Not a functools.partial: the search for holders of the container
    (scratch_places.py) takes those for the program's."""

    __slots__ = ("_fn", "_owner")

    def __init__(self, fn: Callable[..., Any], owner: Any) -> None:
        self._fn = fn
        self._owner = owner

    def __call__(self, *args: Any) -> Any:
        return self._fn(self._owner, *args)


def container(owner: Any) -> Snapshot | None:
    """Return a snapshot of the items of a built-in container (or of a subclass of one); None for another `owner`."""
    mro = type(owner).__mro__
    for base, read, restore in _CONTAINERS:
        if base in mro:
            return Snapshot(owner, "items", read(owner), BoundCall(read, owner), BoundCall(restore, owner))
    if shared_buffers.is_ndarray(owner):
        read, restore = shared_buffers.read_ndarray, shared_buffers.restore_ndarray
        return Snapshot(owner, "items", read(owner), BoundCall(read, owner), BoundCall(restore, owner))
    return None


def member(owner: Any, name: str, descriptor: Any) -> Snapshot:
    """Save the value of a C data descriptor of the owner's type: an exception's args, a function's code, `__dict__`."""

    def read() -> dict[str, Any]:
        try:
            value = descriptor.__get__(owner, type(owner))
        except (AttributeError, TypeError, ValueError):
            return {}
        return {name: original_code(value) if type(value) is CodeType else value}

    def restore(contents: dict[str, Any]) -> None:
        if name in contents:
            descriptor.__set__(owner, contents[name])
        else:
            descriptor.__delete__(owner)

    return Snapshot(owner, f"member {name}", read(), read, restore)


def cell(owner: CellType) -> Snapshot:
    """The contents of a closure's cell."""

    def read() -> dict[str, Any]:
        try:
            return {"contents": owner.cell_contents}
        except ValueError:
            return {}

    def restore(contents: dict[str, Any]) -> None:
        if "contents" in contents:
            owner.cell_contents = contents["contents"]
        else:
            del owner.cell_contents

    return Snapshot(owner, "cell", read(), read, restore)


def _slot_names(cls: type) -> list[tuple[str, Any]]:
    """Return name and descriptor of the values that an instance, or a function, has outside of its dict."""
    if cls is FunctionType:
        return [(name, cls.__dict__[name]) for name in _FUNCTION_PARTS]
    found: list[tuple[str, Any]] = []
    for base in cls.__mro__:
        if is_changeable(base):  # members of C types are not looked at; most cannot be set
            for name, member in base.__dict__.items():
                if type(member) is _MEMBER and name not in ("__weakref__", "__dict__"):
                    found.append((name, member))
    if is_changeable(cls):
        found.append(("__class__", object.__dict__["__class__"]))
    return found


_FUNCTION_PARTS = ("__defaults__", "__kwdefaults__", "__name__", "__qualname__", "__doc__", "__module__")


class _WithSlot:
    __slots__ = ("slot",)


_MEMBER = type(_WithSlot.__dict__["slot"])


def attributes(owner: Any) -> Snapshot | None:
    """The instance dict and slots of an object, or the namespace of a class; None when it has neither."""
    if issubclass(type(owner), type):
        return _class_namespace(owner)
    namespace = _instance_dict(owner)
    slots = _slot_names(type(owner))
    if namespace is None and not slots:
        return None

    def read() -> dict[str, Any]:
        contents = without_ours(namespace) if namespace is not None else {}
        for name, member in slots:
            try:
                contents[name] = member.__get__(owner)
            except AttributeError:
                continue  # an unset slot is "not there", as for a name that is not in the dict
        return contents

    def restore(contents: dict[str, Any]) -> None:
        slot_names = set()
        for name, member in slots:
            slot_names.add(name)
            if name in contents:
                if not _has(member, owner) or member.__get__(owner) is not contents[name]:
                    member.__set__(owner, contents[name])
            elif _has(member, owner):
                member.__delete__(owner)
        if namespace is not None:
            plain = {k: v for k, v in contents.items() if k not in slot_names}
            _restore_dict(namespace, with_ours(plain, namespace))

    return Snapshot(owner, "attributes", read(), read, restore)


def _instance_dict(owner: Any) -> dict[str, Any] | None:
    lookup = _thread._local.__getattribute__ if issubclass(type(owner), _thread._local) else object.__getattribute__
    try:
        namespace: dict[str, Any] = lookup(owner, "__dict__")
    except AttributeError:
        return None
    return namespace


def _has(member: Any, owner: Any) -> bool:
    try:
        member.__get__(owner)
    except AttributeError:
        return False
    return True


def _class_namespace(owner: type) -> Snapshot:
    def read() -> dict[str, Any]:
        return without_ours(dict(owner.__dict__))

    def restore(contents: dict[str, Any]) -> None:
        for name in [n for n in owner.__dict__ if n not in contents]:
            type.__delattr__(owner, name)
        for name, value in with_ours(contents, owner.__dict__).items():
            if owner.__dict__.get(name, MISSING) is not value:
                type.__setattr__(owner, name, value)

    return Snapshot(owner, "attributes", read(), read, restore)
