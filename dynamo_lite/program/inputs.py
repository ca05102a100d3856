"""From the arguments of a call to the flat list of a program's inputs, and back."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch.utils import _pytree as pytree

from dynamo_lite.capture.names import RESERVED, input_names
from dynamo_lite.program.containers import check_leaf, register_containers
from dynamo_lite.tree_paths import flatten_with_path, unflatten


@dataclass
class FlatInputs:
    """The arguments of one call, flattened.

    `leaves[i]` is called `names[i]`; `spec` is the tree of (args, kwargs); `arg_names` are the names of the top-level
    arguments as torch.export keeps them (`ModuleCallSignature.forward_arg_names`); `signature` is that of what is
    called.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    leaves: list[Any]
    names: list[str]
    spec: pytree.TreeSpec
    arg_names: list[str]
    signature: inspect.Signature

    def unflatten(self, leaves: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(args, kwargs) with other leaves in the same places: new containers, the user's are not touched."""
        args, kwargs = unflatten(leaves, self.spec)
        return args, kwargs


def flatten_inputs(
    forward: Callable[..., Any] | inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
) -> FlatInputs:
    """Flattens a call of `forward`; registers the containers in it that torch does not know.

    forward: what is called, for the names of its parameters (a bound method for a module), or its signature.
    Raises UnsupportedValue for a leaf that no program can take, TypeError where args do not fit the signature.
    """
    kwargs = kwargs or {}
    signature = forward if isinstance(forward, inspect.Signature) else inspect.signature(forward)
    # Only args are bound, so that keyword arguments keep the caller's order (torch/_export/utils.py,
    # _bind_signature_to_inputs).
    bound = signature.bind_partial(*args).arguments
    named = {**bound, **kwargs}
    register_containers(named)
    with_paths = flatten_with_path(named)[0]
    for path, leaf in with_paths:
        check_leaf(path, leaf)
    leaves, spec = pytree.tree_flatten((args, kwargs))
    names = input_names([tuple(_part(key) for key in path) for path, _ in with_paths])
    return FlatInputs(args, kwargs, leaves, names, spec, _arg_names(signature, bound, kwargs), signature)


def _arg_names(signature: inspect.Signature, bound: dict[str, Any], kwargs: dict[str, Any]) -> list[str]:
    names: list[str] = []
    for name, value in bound.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            names.extend(f"{name}_{i}" for i in range(len(value)))
        else:
            names.append(f"{name}_1" if name in RESERVED else name)
    return [*names, *kwargs]


def _part(key: Any) -> str:
    if isinstance(key, pytree.MappingKey):
        return str(key.key)
    if isinstance(key, pytree.SequenceKey):
        return str(key.idx)
    if isinstance(key, pytree.GetAttrKey):
        return str(key.name)
    return str(key)
