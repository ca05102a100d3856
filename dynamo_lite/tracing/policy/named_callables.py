"""Callables by name: those of the tables in skipped_calls.py that the process has loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from dynamo_lite.tracing.policy import skipped_calls


def loaded(names: Iterable[str]) -> dict[int, str]:
    """id of a callable → its name, for each "module:qualified.name" whose module is loaded."""
    rows: dict[int, str] = {}
    modules = sys.modules
    for module, parts, name in _taken_apart(tuple(names)):
        found: Any = modules.get(module)
        if found is None:
            continue
        for part in parts:
            found = found.__dict__.get(part) if isinstance(found, type) else getattr(found, part, None)
        if isinstance(found, (staticmethod, classmethod)) and hasattr(found, "__func__"):
            found = found.__func__
        if found is not None:
            rows[id(found)] = name
            if type(found) is not FunctionType:
                rows[id(unbound(found))] = name
    return rows


@cache
def _taken_apart(names: tuple[str, ...]) -> tuple[tuple[str, list[str], str], ...]:
    """(module, the parts of the qualified name, the name with dots) of each; tables ask in each run."""
    pairs = [name.partition(":")[::2] for name in names]
    return tuple([(module, path.split("."), f"{module}.{path}") for module, path in pairs])


def unbound(fn: Any) -> Any:
    """The method of the type behind a bound built-in method (numpy.random.rand): what the interpreter reports."""
    owner = getattr(fn, "__self__", None)
    if owner is None or isinstance(owner, (type, ModuleType)):
        return fn
    for cls in type(owner).__mro__:
        if fn.__name__ in cls.__dict__:
            return cls.__dict__[fn.__name__]
    return fn


def skipped_always() -> set[int]:
    """The ids of the callables that are skipped whatever they are given."""
    return set(loaded((*skipped_calls.SKIPPED, *skipped_calls.LOGGING)))
