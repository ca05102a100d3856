"""Calls that torch's rules for fake tensors get wrong, rewritten to equal calls that they get right (torch 2.13.0)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from dynamo_lite.symbolic_shapes.torch_node._torch import OpOverload

Arguments = tuple[Sequence[Any], Mapping[str, Any]]


def _count_from_the_front(func: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Arguments:
    """A negative `dim` as the one from the front that it means."""
    place = next(i for i, argument in enumerate(func._schema.arguments) if argument.name == "dim")
    dim = args[place] if place < len(args) else kwargs.get("dim")
    if dim is None or dim >= 0:
        return args, kwargs
    dim += max(args[0].dim(), 1)
    if place < len(args):
        return (*args[:place], dim, *args[place + 1 :]), kwargs
    return args, {**kwargs, "dim": dim}


CORRECTIONS: dict[Any, Callable[..., Arguments]] = {
    # fake_impls.py, `_unique`: shape[:dim] and shape[dim + 1:] for dim = -1 are all sizes, twice.
    torch.ops.aten.unique_consecutive.default: _count_from_the_front,
}
"""Operator -> (operator, arguments) as they should be."""
