"""Sizes that vary: which dimensions of a model's inputs are its batch and its length, and inputs of other sizes.

Nothing is said model by model. The batch is dimension 0 of the first tensor and of all others that agree with it there.
The length is dimension 1 of the first integer tensor (token ids) or of a waveform, and that of all tensors that agree
with it. Inputs of another size are inputs of several seeds, concatenated and cut: values stay what the model expects
(token ids stay in the vocabulary, masks stay masks).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import Dim
from torch.utils import _pytree as pytree

from dynamo_lite.program.trees.containers import register_containers

from .registry import Case, Inputs


@dataclass(frozen=True)
class Axis:
    """One size of a model's inputs: `dims[i]` is the dimension of the i-th tensor input that has it, or None."""

    size: int
    dims: tuple[int | None, ...]


def _tensors(inputs: Inputs) -> list[Any]:
    register_containers({"inputs": inputs})
    return pytree.tree_leaves(inputs)


def batch_axis(case: Case) -> Axis | None:
    """Dimension 0 of the inputs; None if there is no tensor with one."""
    leaves = _tensors(case.inputs(0))
    size = next((leaf.shape[0] for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.dim()), None)
    if size is None:
        return None
    return Axis(size, tuple(0 if _has(leaf, 0, size) else None for leaf in leaves))


def length_axis(case: Case) -> Axis | None:
    """Dimension 1 of token ids or of a waveform, and of everything (masks, positions) that is as long; None if there
    are none."""
    inputs = case.inputs(0)
    leaves = _tensors(inputs)
    sequences: list[Any] = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.dtype == torch.int64]
    sequences.append(inputs[1].get("input_values"))
    size = next((s.shape[1] for s in sequences if isinstance(s, torch.Tensor) and s.dim() == 2), 1)
    if size < 2:
        return None  # none, or one token after a cache
    return Axis(size, tuple(1 if _has(leaf, 1, size) and leaf.dim() == 2 else None for leaf in leaves))


def _has(leaf: Any, dim: int, size: int) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.dim() > dim and leaf.shape[dim] == size


def dynamic_shapes(case: Case, *axes: Axis) -> dict[str, Any]:
    """The specification with `Dim.AUTO` for the axes, by argument name."""
    inputs = case.inputs(0)
    specs: list[Any] = []
    for index, leaf in enumerate(_tensors(inputs)):
        dims = {axis.dims[index]: Dim.AUTO for axis in axes if axis.dims[index] is not None}
        specs.append(dims or None if isinstance(leaf, torch.Tensor) else None)
    args, kwargs = pytree.tree_unflatten(specs, pytree.tree_structure(inputs))
    names = list(inspect.signature(case.module.forward).parameters)
    return {**dict(zip(names, args)), **kwargs}


def resized(case: Case, axis: Axis, size: int) -> Callable[[int], Inputs]:
    """`case.inputs`, with `size` along the axis."""

    def make(seed: int) -> Inputs:
        copies = -(-size // axis.size)
        several = [_tensors(case.inputs(seed + 1000 * copy)) for copy in range(copies)]
        leaves = []
        for index, dim in enumerate(axis.dims):
            parts = [leaves_of[index] for leaves_of in several]
            leaves.append(parts[0] if dim is None else torch.cat(parts, dim).narrow(dim, 0, size).contiguous())
        return pytree.tree_unflatten(leaves, pytree.tree_structure(case.inputs(seed)))

    return make
