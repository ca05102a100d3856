"""How the program reaches an object: `self.layers[0].cache`, `CONFIG['n']`, as text for messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch import nn

from dynamo_lite.value_types import CONSTANTS

_LIMIT = 20_000


def path_of(wanted: Any, root: Any) -> str | None:
    """The shortest path from the exported object to `wanted`, or None if there is none near.

    The roots are the object itself (`self` for a module), then the globals and free variables of its function.
    """
    seen: set[int] = set()
    todo = deque(_roots(root))
    while todo and len(seen) < _LIMIT:
        path, value = todo.popleft()
        if value is wanted:
            return path
        if id(value) in seen or isinstance(value, (torch.Tensor, *CONSTANTS)):
            continue
        seen.add(id(value))
        todo.extend((path + step, part) for step, part in _parts(value))
    return None


def _roots(root: Any) -> Iterator[tuple[str, Any]]:
    function = root.forward if isinstance(root, nn.Module) else root
    owner = getattr(function, "__self__", None)
    if isinstance(root, nn.Module):
        yield "self", root
    elif owner is not None and not isinstance(owner, ModuleType):
        yield "self", owner
    if isinstance(function, MethodType):
        function = function.__func__
    if isinstance(function, FunctionType):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            yield from _contents(name, cell)
        yield from ((name, value) for name, value in function.__globals__.items() if name[:2] != "__")


def _contents(name: str, cell: Any) -> Iterator[tuple[str, Any]]:
    try:
        yield name, cell.cell_contents
    except ValueError:
        return


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, nn.Module):
        for registry in ("_modules", "_buffers", "_parameters"):
            yield from ((f".{name}", part) for name, part in value.__dict__.get(registry, {}).items())
    if isinstance(value, dict):
        yield from ((f"[{key!r}]", part) for key, part in dict.items(value) if isinstance(key, (str, int, bool)))
    elif (kind := next((kind for kind in (list, tuple, deque) if isinstance(value, kind)), None)) is not None:
        items = kind.__iter__(value)  # past an override: none of the program's code runs here
        yield from ((f"[{index}]", part) for index, part in enumerate(items))
    elif isinstance(value, FunctionType):
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
            yield from _contents(f"'s {name}", cell)
    elif isinstance(value, (ModuleType, type)):
        return
    try:
        namespace = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return
    yield ".__dict__", namespace
    yield from ((f".{name}", part) for name, part in namespace.items())
