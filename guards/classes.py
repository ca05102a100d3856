"""Classes as guards see them: what may change how their instances behave without any read of an attribute showing it.

Nothing here runs code of the user: namespaces and method resolution orders are read past a metaclass's overrides.
"""

from __future__ import annotations

import abc
import gc
from typing import Any, NamedTuple

_namespace: Any = type.__dict__["__dict__"].__get__
_mro: Any = type.__dict__["__mro__"].__get__
_subclasses: Any = type.__dict__["__subclasses__"]

INERT = frozenset(
    f"__{name}__"
    for name in (
        "annotations", "annotate", "annotate_func", "annotations_cache", "dict", "doc", "firstlineno", "module",
        "orig_bases", "parameters", "qualname", "slotnames", "slots", "static_attributes", "weakref",
    )
)  # fmt: skip
"""Names with underscores that Python never looks up on a type to determine the result of an operation."""


def mro_of(cls: type) -> tuple[type, ...]:
    """The method resolution order, past a metaclass's overrides."""
    found: tuple[type, ...] = _mro(cls)
    return found


class ClassForm(NamedTuple):
    """The method resolution order of a class, and the names in its own namespace."""

    mro: tuple[type, ...]
    names: frozenset[str]


def form(cls: type) -> ClassForm:
    return ClassForm(_mro(cls), frozenset(_namespace(cls)))


def has_another_form(cls: type, expected: ClassForm) -> bool:
    """Whether a class was given other bases, gained or lost a special method, or gained a data descriptor.

    Special methods are looked up by operators, C code and the interpreter, and a data descriptor comes before the
    instance's own attributes: neither is seen as a read while it is not there.
    """
    if _mro(cls) is not expected.mro:
        return True
    namespace = _namespace(cls)
    return bool(namespace.keys() != expected.names) and _matters(namespace, expected.names)


def _matters(namespace: Any, names: frozenset[str]) -> bool:
    added, gone = namespace.keys() - names, names - namespace.keys()
    if any(_is_special(name) for name in (*added, *gone)):
        return True
    return any(has_entry(type(namespace[name]), slot) for name in added for slot in ("__set__", "__delete__"))


def _is_special(name: Any) -> bool:
    return isinstance(name, str) and name.startswith("__") and name.endswith("__") and name not in INERT


def has_entry(cls: type, name: str) -> bool:
    """Whether a class or one of its bases has `name` in its namespace."""
    for base in _mro(cls):  # noqa: SIM110 a generator takes twice as long, and guard sets call this often
        if name in _namespace(base):
            return True
    return False


def behind(view: Any) -> Any:
    """The mapping that a mapping proxy or a view of a dict shows."""
    return gc.get_referents(view)[0]


def namespace_of(cls: type) -> Any:
    """The dict of a class's attributes itself, not a proxy of it."""
    return behind(_namespace(cls))


def registrations(cls: type) -> tuple[Any, ...]:
    """The classes registered with an abstract class and with its subclasses (`abc.ABCMeta.register`)."""
    found, todo, seen = [], [cls], set()
    while todo:
        base = todo.pop()
        if id(base) in seen:
            continue
        seen.add(id(base))
        if isinstance(base, abc.ABCMeta):
            registered = _registry_of(base)
            if registered:
                found.append((id(base), frozenset(registered)))
        if not issubclass(base, type):
            todo += _subclasses(base)
    return tuple(sorted(found, key=lambda row: row[0]))


def _registry_of(cls: type) -> set[int]:
    from _abc import _get_dump

    return {id(reference()) for reference in _get_dump(cls)[0]}


def subclasses(cls: type) -> list[int]:
    """The ids of the direct subclasses, in the order in which `cls.__subclasses__()` gives them."""
    return [id(found) for found in _subclasses(cls)]
