"""From the arguments of a call to the flat list of a program's inputs, and back."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dynamo_lite.capture.graph.names import RESERVED, input_names, is_reserved, unique, unusable_keyword
from dynamo_lite.errors import InvalidArguments
from dynamo_lite.program.trees.containers import check_input, register_containers
from dynamo_lite.program.trees.paths import Caller, direct, flatten, has_foreign, unflatten
from dynamo_lite.torch_internals._torch_pytree import pytree


@dataclass
class FlatInputs:
    """The arguments of one call, flattened.

    `leaves[i]` has the name `names[i]`; `spec` is the tree of (args, kwargs); `arg_names` are the names of the
    top-level arguments as torch.export keeps them (`ModuleCallSignature.forward_arg_names`); `signature` is the
    callee's. `paths[i]` leads to leaf i from (args, kwargs), `key_paths[i]` from the dict of the top-level arguments.
    `is_foreign`: some of the containers are flattened and rebuilt by functions that a library or the user registered.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    leaves: list[Any]
    names: list[str]
    spec: pytree.TreeSpec
    arg_names: list[str]
    signature: inspect.Signature
    paths: list[pytree.KeyPath]
    constants: frozenset[int] = frozenset()
    """The inputs, by number, that have the same value in each call (features/constants)."""
    fixed: dict[int, tuple[Any, str]] = field(default_factory=dict)
    """Of those that are tensors: the value, and the guard on it."""
    restored: Any = None
    """The round trip of the inputs by the registered functions (tracing.rebuilt_arguments.RoundTrip), once known."""

    @cached_property
    def is_foreign(self) -> bool:
        return has_foreign(self.spec)

    @cached_property
    def key_paths(self) -> list[pytree.KeyPath]:
        positional: list[Any] = [pytree.MappingKey(name) for name in self.arg_names]
        return [
            (path[1] if path[0].idx else positional[path[1].idx], *path[2:])  # type: ignore[attr-defined]
            for path in self.paths
        ]

    def unflatten(self, leaves: list[Any], call: Caller | None = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(args, kwargs) with other leaves in the same places: new containers, the user's are not touched.

        call: how functions that a library or the user has registered are called.
        """
        args, kwargs = unflatten(leaves, self.spec, call)
        return args, kwargs


def flatten_inputs(
    forward: Callable[..., Any] | inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    call: Caller = direct,
) -> FlatInputs:
    """Flattens a call of `forward`; registers the containers in it that torch does not know.

    forward: the callee, for the names of its parameters (a bound method for a module), or its signature. call: how
    functions that a library or the user has registered are called.
    Raises UnsupportedValue for a leaf that no program can take, TypeError if args do not fit the signature.
    """
    kwargs = kwargs or {}
    _check_keywords(kwargs)
    signature = forward if isinstance(forward, inspect.Signature) else inspect.signature(forward)
    # Only args are bound, so that keyword arguments keep the caller's order (torch/_export/utils.py,
    # _bind_signature_to_inputs).
    bound = signature.bind_partial(*args).arguments
    known = register_containers({**bound, **kwargs}, call)
    flat = flatten((args, kwargs), call, known)
    heads = _heads(signature, bound)
    leaves, paths = [leaf for _, leaf in flat.leaves], [path for path, _ in flat.leaves]
    named = list(zip((_named(path, heads) for path in paths), leaves))
    for path, leaf in named:
        check_input(path, leaf)
    names = input_names([tuple(_part(key) for key in path) for path, _ in named])
    arg_names = _arg_names(signature, bound, kwargs)
    return FlatInputs(args, kwargs, leaves, names, flat.spec, arg_names, signature, paths)


def _named(path: Any, heads: list[pytree.KeyPath]) -> pytree.KeyPath:
    """The path from the dict of parameters, given that from (args, kwargs)."""
    head: pytree.KeyPath = heads[path[1].idx] if path[0].idx == 0 else (path[1],)
    return (*head, *path[2:])


def _heads(signature: inspect.Signature, bound: dict[str, Any]) -> list[pytree.KeyPath]:
    """For each positional argument the beginning of its path: the parameter's name, and the place in `*args`."""
    heads: list[pytree.KeyPath] = []
    for name, value in bound.items():
        key: Any = pytree.MappingKey(name)
        if signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            heads.extend((key, pytree.SequenceKey(i)) for i in range(len(value)))
        else:
            heads.append((key,))
    return heads


def _arg_names(signature: inspect.Signature, bound: dict[str, Any], kwargs: dict[str, Any]) -> list[str]:
    names: list[str] = []
    for name, value in bound.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            names.extend(f"{name}_{i}" for i in range(len(value)))
        else:
            names.append(name)
    lowered = (name for name in names if is_reserved(name))  # torch's run_decompositions writes names so
    used = {*RESERVED, *lowered, *kwargs}
    return [*(unique(name, used) for name in names), *kwargs]


def _check_keywords(kwargs: dict[str, Any]) -> None:
    """Raises InvalidArguments for a keyword argument that no generated code can take."""
    for name in kwargs:
        why = unusable_keyword(name)
        if why is not None:
            raise unusable(name, why)


def unusable(name: str, why: str) -> InvalidArguments:
    """The error about a keyword argument that a program cannot take."""
    return InvalidArguments(
        f"the keyword argument {name!r} cannot be one of an exported program: {why}. "
        "Pass it by position, rename it, or put it into a dict"
    )


def _part(key: Any) -> str:
    if isinstance(key, pytree.MappingKey):
        return str(key.key)
    if isinstance(key, pytree.SequenceKey):
        return str(key.idx)
    if isinstance(key, pytree.GetAttrKey):
        return str(key.name)
    return str(key)
