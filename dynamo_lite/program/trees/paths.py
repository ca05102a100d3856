"""Leaves of a pytree with their paths, for every container that pytree knows.

torch's own functions want a `flatten_with_keys_fn` of each registered class and raise a ValueError without one, which
most libraries do not give (torch/utils/_pytree.py, _generate_key_paths; checked with torch 2.13.0). Here the keys of
such a container are those of its context, if that is a list of as many names as there are children; else their numbers.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import is_dataclass
from typing import Any, NamedTuple

import torch

from dynamo_lite.torch_internals._torch_pytree import pytree

IsLeaf = Callable[[Any], bool]
Caller = Callable[..., Any]
"""caller(function, *arguments): how a function that a library or the user has registered is called."""


def direct(function: Callable[..., Any], *args: Any) -> Any:
    """The caller that does nothing but call."""
    return function(*args)


def _is_own(function: Any) -> bool:
    return f"{getattr(function, '__module__', '')}.".startswith(("torch.", "dynamo_lite.program.", f"{__name__}."))


def is_foreign(cls: Any) -> bool:
    """Whether pytree takes instances of `cls` apart, or makes them, by code that is neither torch's nor ours.

    A registered dataclass is made by its constructor.
    """
    handler = pytree.SUPPORTED_NODES.get(cls)
    if handler is None:
        return False
    return not (_is_own(handler.flatten_fn) and _is_own(handler.unflatten_fn)) or _is_registered_dataclass(cls, handler)


def _is_registered_dataclass(cls: Any, handler: Any) -> bool:
    return is_dataclass(cls) and handler.unflatten_fn.__module__ == pytree.__name__


def has_foreign(spec: pytree.TreeSpec) -> bool:
    """Whether there is a container of such a class in a tree."""
    return is_foreign(spec.type) or any(map(has_foreign, spec.children()))


class Flat(NamedTuple):
    """A tree taken apart: its leaves with their paths, its structure, and each container's (path, type, context)."""

    leaves: list[tuple[pytree.KeyPath, Any]]
    spec: pytree.TreeSpec
    contexts: list[tuple[pytree.KeyPath, Any, Any]]


Parts = tuple[list[tuple[Any, Any]], Any]
"""([(key, child)], context) of a container."""
KnownParts = dict[int, tuple[Any, Parts]]
"""By id: a container, and its parts."""


def flatten(tree: Any, call: Caller = direct, known: KnownParts | None = None) -> Flat:
    """Flattens a tree; each function of a foreign class is called once, by `call`, unless its result is `known`."""
    leaves: list[tuple[pytree.KeyPath, Any]] = []
    contexts: list[tuple[pytree.KeyPath, Any, Any]] = []
    apart = {} if known is None else known

    def below(path: pytree.KeyPath, tree: Any) -> pytree.TreeSpec:
        kind = _kind(tree)
        if kind not in pytree.SUPPORTED_NODES:
            leaves.append((path, tree))
            return pytree.treespec_leaf()
        keyed, context = apart[id(tree)][1] if id(tree) in apart else parts(tree, call)
        contexts.append((path, kind, context))
        return pytree.TreeSpec(kind, context, [below((*path, key), child) for key, child in keyed])

    return Flat(leaves, below((), tree), contexts)


def parts(value: Any, call: Caller = direct) -> Parts:
    """The parts of a container that pytree knows, one level deep."""
    kind = _kind(value)
    handler = pytree.SUPPORTED_NODES[kind]
    with_keys = handler.flatten_with_keys_fn
    is_ours = str(getattr(with_keys, "__module__", "")).startswith("dynamo_lite.")
    if with_keys is not None and is_ours and not is_foreign(kind):
        keyed, context = with_keys(value)
        return list(keyed), context
    run = call if is_foreign(kind) else direct
    children, context = run(handler.flatten_fn, value)  # with_keys may give another context (a registered dataclass)
    children = list(children)
    keys = _keys(context, len(children))
    if with_keys is not None and not is_ours:
        given = [key for key, _ in run(with_keys, value)[0]]
        keys = given if len(given) == len(children) else keys
    return list(zip(keys, children)), context


def _kind(tree: Any) -> Any:
    return namedtuple if pytree.is_namedtuple_class(type(tree)) else type(tree)


def flatten_with_path(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[tuple[pytree.KeyPath, Any]], Any]:
    """([(path, leaf)], TreeSpec), as pytree.tree_flatten_with_path."""
    _, spec = pytree.tree_flatten(tree, is_leaf)
    return leaves_with_path(tree, is_leaf), spec


def leaves_with_path(tree: Any, is_leaf: IsLeaf | None = None) -> list[tuple[pytree.KeyPath, Any]]:
    """[(path, leaf)], as pytree.tree_leaves_with_path."""
    return list(_walk((), tree, is_leaf))


def _walk(path: pytree.KeyPath, tree: Any, is_leaf: IsLeaf | None) -> Iterator[tuple[pytree.KeyPath, Any]]:
    handler = None if is_leaf is not None and is_leaf(tree) else pytree.SUPPORTED_NODES.get(_kind(tree))
    if handler is None:
        yield path, tree
        return
    flatten = handler.flatten_with_keys_fn or _flatten_with_keys(handler.flatten_fn)
    for key, child in flatten(tree)[0]:
        yield from _walk((*path, key), child, is_leaf)


def unflatten(leaves: Iterable[Any], spec: pytree.TreeSpec, call: Caller | None = None) -> Any:
    """pytree.tree_unflatten, except for torch.Size, which torch's own turns into a tuple.

    call: how the functions of foreign classes are called.
    """
    if call is not None or _has_size(spec):
        return _built(iter(leaves), spec, call or direct)
    return pytree.tree_unflatten(leaves, spec)


def _has_size(spec: pytree.TreeSpec) -> bool:
    return spec.type is torch.Size or any(map(_has_size, spec.children()))


def _built(leaves: Iterator[Any], spec: pytree.TreeSpec, call: Caller) -> Any:
    if spec.is_leaf():
        return next(leaves)
    children = [_built(leaves, child, call) for child in spec.children()]
    if spec.type is torch.Size:
        return torch.Size(children)
    make = pytree.SUPPORTED_NODES[spec.type].unflatten_fn
    return call(make, children, spec.context) if is_foreign(spec.type) else make(children, spec.context)


def give_keys(cls: type) -> None:
    """Completes the registration of a class that has no keys: `ExportedProgram.module()` needs an input's paths."""
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


def path_in_words(path: pytree.KeyPath) -> str:
    """`cache.layers[0].keys`"""
    words = str(path[0].key) + pytree.keystr(path[1:])  # type: ignore[attr-defined]
    return words.replace(" .", ".").replace(" [", "[").rstrip()
