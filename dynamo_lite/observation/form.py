"""The calls of one form: the same containers, ranks, dtypes and constants. One program can be right for all of them."""

from __future__ import annotations

import inspect
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch.export import Dim

from dynamo_lite.observation.relations import Line, Sizes, relations
from dynamo_lite.program import FlatInputs
from dynamo_lite.torch_internals._torch_pytree import pytree

Place = tuple[int, int | None]
"""A leaf's number and a dimension of it; None: the leaf is an int."""


def kind_of(inputs: FlatInputs) -> tuple[Any, ...]:
    """Return the properties that calls of one form have in common."""
    return (_skeleton(inputs.spec), tuple(inputs.arg_names), tuple(map(_leaf_kind, inputs.leaves)))


def _leaf_kind(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return ("tensor", leaf.dtype, leaf.dim())
    return "int" if type(leaf) is int else (type(leaf), repr(leaf))


def _skeleton(spec: pytree.TreeSpec) -> Any:
    """Return the classes and keys of a tree. Other contents of a container are constants that a program checks."""
    if spec.is_leaf():
        return None
    keys = repr(spec.context) if spec.type in _KEYED else None
    return (spec.type, keys, tuple(map(_skeleton, spec.children())))


_KEYED = (dict, OrderedDict, defaultdict)


@dataclass
class Form:
    """Calls of one form, and the sizes proposed for them.

    args, kwargs: one of the calls, with copies of its tensors: that with the most different sizes, for `export`.
    """

    inputs: FlatInputs
    places: list[Place] = field(default_factory=list)
    calls: list[Sizes] = field(default_factory=list)
    _best: tuple[int, int] = (-1, -1)

    def __post_init__(self) -> None:
        for index, leaf in enumerate(self.inputs.leaves):
            if isinstance(leaf, torch.Tensor):
                self.places += [(index, dim) for dim in range(leaf.dim())]
            elif type(leaf) is int:
                self.places.append((index, None))

    def add(self, inputs: FlatInputs) -> None:
        """Another call."""
        leaves = inputs.leaves
        sizes = tuple(int(leaves[i].shape[dim]) if dim is not None else leaves[i] for i, dim in self.places)
        self.calls.append(sizes)
        self.__dict__.pop("lines", None)
        # In an example, sizes of 0 and 1 and equal sizes are less informative than others.
        best = (sum(size > 1 for size in sizes), len(set(sizes)))
        if best > self._best:
            self._best = best
            copies = [_copy(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
            self.inputs = inputs
            self.args, self.kwargs = inputs.unflatten(copies)

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def lines(self) -> list[Line | None]:
        """For each place what its size follows."""
        return relations(self.rows)

    @property
    def rows(self) -> list[Sizes]:
        """For each place its size in each call."""
        return list(zip(*self.calls)) if self.calls else []

    def name(self, place: int) -> str:
        index, dim = self.places[place]
        name = self.inputs.names[index]
        return name if dim is None else f"{name}_{dim}"

    @property
    def dims(self) -> dict[int, Any]:
        """Place → its Dim, for those that varied."""
        roots: dict[int, Any] = {}
        found: dict[int, Any] = {}
        for number, line in enumerate(self.lines):
            if line is None:
                continue
            if line.root not in roots:
                sizes = self.rows[line.root]
                roots[line.root] = Dim(self.name(line.root), min=min(sizes), max=max(sizes))
            dim = roots[line.root]
            dim = dim if line.a == 1 else line.a * dim
            found[number] = dim if line.b == 0 else dim + line.b if line.b > 0 else dim - -line.b
        return found

    @property
    def dynamic_shapes(self) -> dict[str, Any] | None:
        """By argument name, for `export`. None if no size varied."""
        dims = self.dims
        leaves: list[Any] = [None] * len(self.inputs.leaves)
        for number, dim in dims.items():
            index, axis = self.places[number]
            if axis is None:
                leaves[index] = dim
            else:
                leaves[index] = {**(leaves[index] or {}), axis: dim}
        positional, keywords = self.inputs.spec.children()
        rest = iter(leaves)
        args = [_laid(spec, rest) for spec in positional.children()]
        named = {name: _laid(spec, rest) for name, spec in zip(keywords.context or (), keywords.children())}
        return _by_name(self.inputs.signature, args, named) if dims else None

    def __str__(self) -> str:
        """One line for each size that varied."""
        dims = self.dims
        rows = [
            f"  {self._where(number)}: {min(row)} to {max(row)}, {len(set(row))} sizes: {_shown(dims[number])}"
            for number, row in enumerate(self.rows)
            if number in dims
        ]
        count = f"{len(self.calls)} call{'s' if len(self.calls) > 1 else ''}"
        return "\n".join([f"{count} of ({', '.join(self.inputs.arg_names)})", *(rows or ["  no size varied"])])

    def _where(self, number: int) -> str:
        index, dim = self.places[number]
        head, *path = self.inputs.key_paths[index]
        name = f"{getattr(head, 'key', head)}{pytree.keystr(tuple(path))}"
        return name if dim is None else f"{name}.shape[{dim}]"


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _shown(dim: Any) -> str:
    return str(getattr(dim, "__name__", dim))


def _laid(spec: pytree.TreeSpec, leaves: Any) -> Any:
    """The specifications of the leaves in the structure of the inputs; None for a subtree that is static."""
    if spec.is_leaf():
        return next(leaves)
    parts = [_laid(child, leaves) for child in spec.children()]
    if all(part is None for part in parts):
        return None
    if spec.type in _KEYED:
        keys: Sequence[Any] = spec.context[1] if spec.type is defaultdict else spec.context
        return dict(zip(keys, parts))
    return tuple(parts) if spec.type is tuple else parts


def _by_name(signature: inspect.Signature, args: list[Any], named: dict[str, Any]) -> dict[str, Any]:
    """By the names of the parameters, `*args` and `**kwargs` as parameters of their own."""
    found: dict[str, Any] = {}
    rest = list(args)
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            if rest:
                found[name] = tuple(rest)
                rest = []
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            others = {key: value for key, value in named.items() if key not in signature.parameters}
            if others:
                found[name] = others
        elif rest and parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            found[name] = rest.pop(0)
        elif name in named:
            found[name] = named[name]
    return found
