"""Leaves of a pytree with their paths, for every container that pytree knows.

torch's own functions want a `flatten_with_keys_fn` of each registered class and raise a ValueError without one, which
most libraries do not give (torch/utils/_pytree.py, _generate_key_paths; checked with torch 2.13.0). Here the keys of
such a container are those of its context, if that is a list of as many names as there are children; else their numbers.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

IsLeaf = Callable[[Any], bool]


def flatten_with_path(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[tuple[pytree.KeyPath, Any]], Any]:
    """([(path, leaf)], TreeSpec), as pytree.tree_flatten_with_path."""
    _, spec = pytree.tree_flatten(tree, is_leaf)
    return leaves_with_path(tree, is_leaf), spec


def leaves_with_path(tree: Any, is_leaf: IsLeaf | None = None) -> list[tuple[pytree.KeyPath, Any]]:
    """[(path, leaf)], as pytree.tree_leaves_with_path."""
    return list(_walk((), tree, is_leaf))


def _walk(path: pytree.KeyPath, tree: Any, is_leaf: IsLeaf | None) -> Iterator[tuple[pytree.KeyPath, Any]]:
    kind: Any = namedtuple if pytree.is_namedtuple_class(type(tree)) else type(tree)
    handler = None if is_leaf is not None and is_leaf(tree) else pytree.SUPPORTED_NODES.get(kind)
    if handler is None:
        yield path, tree
        return
    flatten = handler.flatten_with_keys_fn or _flatten_with_keys(handler.flatten_fn)
    for key, child in flatten(tree)[0]:
        yield from _walk((*path, key), child, is_leaf)


def unflatten(leaves: Iterable[Any], spec: pytree.TreeSpec) -> Any:
    """pytree.tree_unflatten, but for torch.Size, of which torch's own makes a tuple."""
    return _built(iter(leaves), spec) if _has_size(spec) else pytree.tree_unflatten(leaves, spec)


def _has_size(spec: pytree.TreeSpec) -> bool:
    return spec.type is torch.Size or any(map(_has_size, spec.children()))


def _built(leaves: Iterator[Any], spec: pytree.TreeSpec) -> Any:
    if spec.is_leaf():
        return next(leaves)
    children = [_built(leaves, child) for child in spec.children()]
    if spec.type is torch.Size:
        return torch.Size(children)
    return pytree.SUPPORTED_NODES[spec.type].unflatten_fn(children, spec.context)


def give_keys(cls: type) -> None:
    """Completes the registration of a class that has none: `ExportedProgram.module()` asks for an input's paths."""
    handler = pytree.SUPPORTED_NODES.get(cls)
    if handler is not None and handler.flatten_with_keys_fn is None:
        with_keys = _flatten_with_keys(handler.flatten_fn)
        pytree.SUPPORTED_NODES[cls] = handler._replace(flatten_with_keys_fn=with_keys)


def _flatten_with_keys(flatten: Callable[[Any], tuple[Any, Any]]) -> Callable[[Any], tuple[Any, Any]]:
    def with_keys(tree: Any) -> tuple[Any, Any]:
        children, context = flatten(tree)
        return list(zip(_keys(context, len(children)), children)), context

    return with_keys


def _keys(context: Any, count: int) -> list[Any]:
    named = isinstance(context, (list, tuple)) and len(context) == count and all(type(n) is str for n in context)
    return [pytree.MappingKey(name) for name in context] if named else [pytree.SequenceKey(i) for i in range(count)]
