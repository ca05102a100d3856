"""Callables by name: those of the tables in skipped_calls.py that the process has loaded."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from operator import attrgetter, is_not
from types import FunctionType, ModuleType
from typing import Any

from dynamo_lite.tracing.policy import skipped_calls


def loaded(names: tuple[str, ...]) -> dict[int, str]:
    """Return id of a callable → its name, for each "module:qualified.name" whose module is loaded.

    The same dict as before as long as each name refers to the same object.
    """
    known = _found.get(names)
    if known is None or not known.holds():
        known = _found[names] = _Found(names)
    return known.rows


class _Found:
    """The callables of a tuple of names, and a fast check that they are still the same.

    rows: id of a callable → its name. The callables are kept alive, so that an id stays its callable's.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.rows: dict[int, str] = {}
        self._slow: list[tuple[str, list[str], Any]] = []  # what the class has under the name, and its attribute is not
        by_module: dict[str, list[tuple[str, Any]]] = {}
        for module, parts, name in _taken_apart(names):
            own = sys.modules.get(module)
            found: Any = None if own is None else _entry(own, parts)
            entry = found
            fast = by_module.setdefault(module, [])
            path = ".".join(parts)
            if entry is not None and _is_attribute(own, path, entry):
                fast.append((path, entry))
            else:
                self._slow.append((module, parts, entry))
            if isinstance(found, (staticmethod, classmethod)) and hasattr(found, "__func__"):
                found = found.__func__
            if found is not None:
                self.rows[id(found)] = name
                if type(found) is not FunctionType:
                    self.rows[id(unbound(found))] = name
        self._fast = [
            (module, sys.modules.get(module), _all_of([path for path, _ in rows]), [value for _, value in rows])
            for module, rows in by_module.items()
        ]

    def holds(self) -> bool:
        """Whether each name refers to the same object as before."""
        modules = sys.modules
        for module, was, getter, values in self._fast:
            own = modules.get(module)
            if own is not was:
                return False
            if own is not None:
                try:
                    now = getter(own)
                except AttributeError:
                    return False
                if any(map(is_not, now, values)):
                    return False
        for module, parts, entry in self._slow:
            own = modules.get(module)
            if own is not None and _entry(own, parts) is not entry:
                return False
        return True


_found: dict[tuple[str, ...], _Found] = {}


def _all_of(paths: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Reads attributes, in C."""
    return attrgetter(*paths) if len(paths) > 1 else lambda owner: tuple([attrgetter(path)(owner) for path in paths])


def _is_attribute(module: Any, path: str, entry: Any) -> bool:
    """Whether a look at the attribute gives the very entry, each time."""
    try:
        return attrgetter(path)(module) is entry is attrgetter(path)(module)
    except AttributeError:
        return False


def _entry(module: Any, parts: list[str]) -> Any:
    """Return a module's entry at the end of a path: for a class, that of its own namespace. None if there is none."""
    found = module
    for part in parts:
        found = found.__dict__.get(part) if isinstance(found, type) else getattr(found, part, None)
    return found


@cache
def _taken_apart(names: tuple[str, ...]) -> tuple[tuple[str, list[str], str], ...]:
    """Return (module, the parts of the qualified name, the name with dots) of each; tables use them in each run."""
    pairs = [name.partition(":")[::2] for name in names]
    return tuple([(module, path.split("."), f"{module}.{path}") for module, path in pairs])


def unbound(fn: Any) -> Any:
    """Return the method of the type for a bound built-in method (numpy.random.rand), as the interpreter reports it."""
    owner = getattr(fn, "__self__", None)
    if owner is None or isinstance(owner, (type, ModuleType)):
        return fn
    for cls in type(owner).__mro__:
        if fn.__name__ in cls.__dict__:
            return cls.__dict__[fn.__name__]
    return fn


def skipped_always(of_features: tuple[str, ...]) -> set[int]:
    """The ids of the callables that are skipped whatever they are given. of_features: the features' names of such."""
    return set(loaded((*skipped_calls.SKIPPED, *of_features)))
