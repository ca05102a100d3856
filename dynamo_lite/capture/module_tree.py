"""The modules below a root and their registered tensors, found by one walk.

`named_parameters` and its relatives walk through all modules each time, one generator inside another for each level. If
a class overrides these methods, they are called.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import cache
from operator import attrgetter
from typing import Any, cast

import torch
from torch import nn

from dynamo_lite.value_types import BUILT_IN_CONTAINERS

_NAMED = frozenset({"named_modules", "named_parameters", "named_buffers", "_named_members"})
_DEEPEST = 900
"""Levels of modules; torch's own walks, which are recursive, end at the recursion limit."""
_REGISTRIES = ("_modules", "_parameters", "_buffers")


def _is_as_torch(module: nn.Module) -> bool:
    """Whether the module enumerates its parts as nn.Module does. (A scripted one keeps its tensors in C++.)"""
    own, cls = module.__dict__, cast("Hashable", type(module))
    if not _class_is_as_torch(cls) or not _NAMED.isdisjoint(own):
        return False
    children, parameters, buffers = own.get("_modules"), own.get("_parameters"), own.get("_buffers")
    return type(children) is dict and type(parameters) is dict and type(buffers) is dict


@cache
def _class_is_as_torch(cls: Any) -> bool:
    return all(getattr(cls, name) is getattr(nn.Module, name) for name in _NAMED) and not any(
        name in vars(base) for base in cls.__mro__ for name in _REGISTRIES
    )


class ModuleTree:
    """The modules and tensors registered below `root` (None: a function, which has none) when this is created."""

    def __init__(self, root: nn.Module | None) -> None:
        self._root = root
        self.modules: list[tuple[str, nn.Module]] = []
        """(path, module) under all names, in the order of `named_modules(remove_duplicate=False)`."""
        self._plain = True
        if root is not None:
            self._walk(root)
        if root is not None and not self._plain:
            self.modules = [*root.named_modules(remove_duplicate=False)]

    def _walk(self, root: nn.Module) -> None:
        """Fills `modules`, a module before its children."""
        todo: list[tuple[str, nn.Module]] = [("", root)]
        while todo:
            path, module = place = todo.pop()
            if path.count(".") > _DEEPEST:
                raise RecursionError(f"modules that contain one another: {path[:80]}...")
            self.modules.append(place)
            if not _is_as_torch(module):
                self._plain = False
                return
            children = module.__dict__["_modules"]
            if children:
                prefix = path and path + "."
                todo += [(prefix + name, child) for name, child in reversed(children.items()) if child is not None]

    @property
    def first_modules(self) -> Iterator[tuple[str, nn.Module]]:
        """(path, module) under the first name of each, in the order of `named_modules()`."""
        if not self._plain and self._root is not None:
            yield from self._root.named_modules()
            return
        seen: set[int] = set()
        for path, module in self.modules:
            if id(module) not in seen:
                seen.add(id(module))
                yield path, module

    @property
    def parameters(self) -> list[tuple[str, nn.Parameter]]:
        """(name, parameter) under all names."""
        if not self._plain and self._root is not None:
            return [*self._root.named_parameters(remove_duplicate=False)]
        return self._members(_PARAMETERS)

    @property
    def buffers(self) -> list[tuple[str, torch.Tensor]]:
        """(name, buffer) under all names."""
        if not self._plain and self._root is not None:
            return [*self._root.named_buffers(remove_duplicate=False)]
        return self._members(_BUFFERS)

    def _members(self, registry: Callable[[nn.Module], dict[str, Any]]) -> list[tuple[str, Any]]:
        return [
            (f"{path}.{name}" if path else name, value)
            for path, module in self.modules
            for name, value in registry(module).items()
            if value is not None
        ]

    @property
    def transient(self) -> set[str]:
        """The names of the buffers that `state_dict()` leaves out."""
        return {
            f"{path}.{name}" if path else name
            for path, module in self.modules
            for name in module._non_persistent_buffers_set
        }


_PARAMETERS, _BUFFERS = attrgetter("_parameters"), attrgetter("_buffers")


def unregistered_buffers(root: nn.Module | None) -> dict[int, tuple[torch.Tensor, bool]]:
    """`{id(buffer): (buffer, is persistent)}` of modules that no module registers: layers in a plain list or dict.

    They are found through containers below the attributes of the modules of `root`. Such a buffer is state as that of a
    registered module is: a batch norm in train mode counts in it.
    """
    found: dict[int, tuple[torch.Tensor, bool]] = {}
    registered = {id(module) for _, module in ModuleTree(root).modules}
    todo: list[Any] = [] if root is None else [root]
    seen: set[int] = set()
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, nn.Module):
            if id(value) not in registered:
                transient = value._non_persistent_buffers_set
                buffers = ((name, buffer) for name, buffer in value._buffers.items() if buffer is not None)
                found.update((id(buffer), (buffer, name not in transient)) for name, buffer in buffers)
            todo += _held(vars(value))
        else:
            todo += _held(value)
    return found


def _held(container: Any) -> list[Any]:
    """The modules and containers in a container; Python of the program (a subclass's iterator) is not run."""
    items = dict.values(container) if isinstance(container, dict) else container
    return [item for item in items if isinstance(item, nn.Module) or type(item) in BUILT_IN_CONTAINERS]
