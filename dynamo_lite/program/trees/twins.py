"""One container, or object, at two places of a call.

A program gets its arguments as leaves, and makes containers of them again: two, if the caller has one. That is visible
if it changes one of them, or compares their identities.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch import nn

from dynamo_lite.errors import StructureMismatch
from dynamo_lite.program.trees.container_context import Key, decode_key, encode_key
from dynamo_lite.program.trees.containers import state_of

Path = tuple[Key, ...]
"""From (args, kwargs) to a part."""
_LEAVES = (torch.Tensor, torch.Size, nn.Module, type, ModuleType, FunctionType, MethodType, BuiltinFunctionType)


def twins(call: tuple[tuple[Any, ...], dict[str, Any]]) -> Iterator[tuple[Path, Path]]:
    """(where it is first, where it is again) for each container that is at several places."""
    seen: dict[int, Path] = {}
    todo: list[tuple[Path, Any]] = [((Key("item", i),), part) for i, part in enumerate(call)]
    while todo:
        path, value = todo.pop(0)
        if id(value) in seen:
            yield seen[id(value)], path
            continue
        seen[id(value)] = path
        parts = [((*path, key), part) for key, part in state_of(value)]
        todo += [(place, part) for place, part in parts if is_container(part)]


def is_container(value: Any) -> bool:
    if isinstance(value, (list, dict, tuple)):
        return not isinstance(value, torch.Size)
    return hasattr(value, "__dict__") and not isinstance(value, _LEAVES)


def at(value: Any, path: Path) -> Any:
    """The part at `path`; None if there is none."""
    for key in path:
        value = dict(state_of(value)).get(key)
    return value


def check_apart(call: Any, known: Iterable[tuple[Path, Path]], arg_names: Any) -> None:
    """Raises StructureMismatch for a container at two places that are not among `known`."""
    allowed = set(known)
    for one, other in twins(call):
        if (one, other) not in allowed:
            raise StructureMismatch(
                f"Input {words(other, arg_names)} is the very object that is {words(one, arg_names)}. The program was "
                "exported with two, and changes one of them or asks whether they are one."
            )


def words(path: Path, arg_names: Any) -> str:
    which, *rest = path
    if not rest:
        return "the arguments"
    first, *rest = rest
    name = arg_names[first.name] if which.name == 0 and first.name < len(arg_names) else str(first.name)
    return name + "".join(f".{key.name}" if key.kind == "attr" else f"[{key.name!r}]" for key in rest)


def to_json(pairs: Iterable[tuple[Path, Path]]) -> list[Any]:
    return [[[encode_key(key) for key in path] for path in pair] for pair in pairs]


def from_json(data: Any) -> tuple[tuple[Path, Path], ...]:
    return tuple((tuple(map(decode_key, one)), tuple(map(decode_key, other))) for one, other in data)
