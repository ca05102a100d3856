"""The contents of containers and objects, read without a method of theirs.

`values()` of a mapping that a library fills on access imports modules that are not imported yet; `__getattr__` runs
code of the program. Inspecting the state after a run must do neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch

from dynamo_lite.interpreter.datamodel.c_types import elements_of
from dynamo_lite.tracing.vocabulary.mro import instance_dict
from dynamo_lite.value_types import CONTAINERS, SHAPES_AND_CONSTANTS


def items_of(value: Any) -> list[Any]:
    """The values of a dict, the items of a list, tuple or set; of any other object, none."""
    if issubclass(type(value), dict):
        return [*dict.values(value)]
    return elements_of(value) if issubclass(type(value), (list, tuple, set, frozenset)) else []


def keys_and_items(value: Any) -> list[Any]:
    """Return the contents of a built-in container (or a subclass of one), keys too, bypassing any override."""
    if not issubclass(type(value), CONTAINERS):
        raise TypeError(type(value))
    return elements_of(value)


def attributes_of(value: Any) -> list[Any]:
    """The values in the object's own `__dict__`."""
    return [*dict.values(instance_dict(value) or {})]


def is_within(call: tuple[tuple[Any, ...], dict[str, Any]], arg_names: list[str], name: str, result: Any) -> bool:
    """Whether the argument `name` itself (the same object) is somewhere in the program's result."""
    args, kwargs = call
    argument = kwargs[name] if name in kwargs else args[arg_names.index(name)]
    return any(value is argument for value in containers(result))


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in `value`, through lists, tuples, dicts and the attributes of objects."""
    if isinstance(value, torch.Tensor):
        yield value
    for container in containers(value):
        if issubclass(type(container), (dict, list, tuple, set)):
            yield from (item for item in items_of(container) if issubclass(type(item), torch.Tensor))
        if not issubclass(type(container), (type, ModuleType)):
            yield from (item for item in attributes_of(container) if issubclass(type(item), torch.Tensor))


def containers(value: Any) -> Iterator[Any]:
    """`value` and the containers in it, through lists, tuples, dicts and the attributes of objects."""
    todo, seen = [value], set()
    while todo:
        value = todo.pop()
        if id(value) in seen or issubclass(type(value), (torch.Tensor, *SHAPES_AND_CONSTANTS)):
            continue
        seen.add(id(value))
        yield value
        todo.extend(items_of(value))
        if not issubclass(type(value), (type, ModuleType)):
            todo.extend(attributes_of(value))
