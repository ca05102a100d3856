"""The input dimensions that a specification speaks of: an `InputDim` (symbolic_shapes/dims) for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from dynamo_lite.program._torch import Source
from dynamo_lite.program.shapes.mark_dynamic import Unbacked, marks_of
from dynamo_lite.program.shapes.shapes_spec import SpecSize
from dynamo_lite.program.shapes.spec_tree import ShapeTree, SpecPlace
from dynamo_lite.program.trees.containers import path_string
from dynamo_lite.program.trees.inputs import FlatInputs
from dynamo_lite.symbolic_shapes.dims.symbols import InputDim
from dynamo_lite.torch_internals._torch_pytree import pytree


@dataclass(frozen=True)
class InputSource(Source):
    """Where a program finds an input again: `path` is Python over the arguments, L['x'].layers[0]."""

    path: str

    @property
    def _name_template(self) -> str:
        return self.path


@dataclass(frozen=True)
class InputDimRef:
    """The input that a declared dimension belongs to: the leaf, and the dimension of it (None: the number itself)."""

    leaf: int
    dim: int | None
    place: SpecPlace


@dataclass
class InputDims:
    """The dimensions that are not simply static.

    Attributes:
        paths: for each leaf, Python for it over the arguments: "L['x'][0]".
        labels: for each leaf, how messages call it: "x[0]".
        dims, spots: the dimensions in the order of the inputs, and where each one is.
        unbacked: (leaf, dimension) of those that are marked to be unbacked, or described by a ShapesSpec (dimension
            None: an int).
        problems: what does not fit, each with its place in the specification.
    """

    paths: list[str]
    labels: list[str]
    dims: list[InputDim] = field(default_factory=list)
    spots: list[InputDimRef] = field(default_factory=list)
    unbacked: dict[tuple[int, int | None], Unbacked | SpecSize] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def collect(inputs: FlatInputs, tree: ShapeTree) -> InputDims:
    """The dimensions that the specification (or, where there is none, the marks on the tensors) speaks of."""
    found = InputDims(*_names(inputs))
    for leaf, (value, given, place) in enumerate(zip(inputs.leaves, tree.given, tree.places)):
        if isinstance(value, torch.Tensor):
            sizes = _of_tensor(value, given, place, found) if tree.written else _marked(value, leaf, found)
            for dim, (spec, where) in sorted(sizes.items()):
                if isinstance(spec, SpecSize):
                    found.unbacked[leaf, dim] = spec
                else:
                    _add(found, InputDimRef(leaf, dim, where), value.shape[dim], spec)
        elif given is not None:
            if type(value) is int and isinstance(given, SpecSize):
                found.unbacked[leaf, None] = given
            elif type(value) is int:
                _add(found, InputDimRef(leaf, None, place), value, given)
            else:
                found.problems.append(f"{place} is {given!r}, but the input {found.labels[leaf]} is a "
                                      f"{type(value).__name__}: only sizes of tensors and ints may vary (write None)")
    return found


def _add(found: InputDims, spot: InputDimRef, hint: int, spec: Any) -> None:
    path, label = found.paths[spot.leaf], found.labels[spot.leaf]
    if spot.dim is None:
        dim = InputDim(path, hint, spec, label, str(spot.place), is_size=False)
    else:
        dim = InputDim(f"{path}.size()[{spot.dim}]", hint, spec, f"{label}.shape[{spot.dim}]", str(spot.place))
    found.dims.append(dim)
    found.spots.append(spot)


def _of_tensor(
    tensor: torch.Tensor, given: Any, place: SpecPlace, found: InputDims
) -> dict[int, tuple[Any, SpecPlace]]:
    """dimension -> (its specification, its location), without those declared static."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return _by_dimension(tensor, given, place, found)
    if isinstance(given, Sequence) and not isinstance(given, str):
        if len(given) == tensor.dim():
            said = {i: (spec, place.step(given, f"[{i}]")) for i, spec in enumerate(given)}
            return {i: pair for i, pair in said.items() if pair[0] is not None}
        found.problems.append(f"{place} has {len(given)} entries; the tensor there has {_rank(tensor)}")
        return {}
    found.problems.append(f"{place} is {given!r}, and the input there is a tensor: give None, a dict from dimension to "
                          "spec, or a tuple or list with a spec for each dimension")
    return {}


def _by_dimension(tensor: torch.Tensor, given: Mapping[Any, Any], place: SpecPlace,
                  found: InputDims) -> dict[int, tuple[Any, SpecPlace]]:
    said: dict[int, tuple[Any, SpecPlace]] = {}
    for key, spec in given.items():
        where, rank = place.step(given, f"[{key!r}]"), tensor.dim()
        if type(key) is not int or not -rank <= key < rank:
            found.problems.append(f"{where}: {key!r} is not a dimension of the tensor there, which has {_rank(tensor)}")
        elif key % rank in said:
            found.problems.append(f"{where} speaks of dimension {key % rank} a second time")
        else:
            said[key % rank] = (spec, where)
    return {dim: pair for dim, pair in said.items() if pair[0] is not None}


def _marked(tensor: torch.Tensor, leaf: int, found: InputDims) -> dict[int, tuple[Any, SpecPlace]]:
    sizes: dict[int, tuple[Any, SpecPlace]] = {}
    for dim, spec in marks_of(tensor).items():
        if isinstance(spec, Unbacked):
            found.unbacked[leaf, dim] = spec
        else:
            sizes[dim] = (spec, SpecPlace(f"dynamic_shapes[{leaf}][{dim}]", assignable=False, derived_from="marks"))
    return sizes


def _rank(tensor: torch.Tensor) -> str:
    return "1 dimension" if tensor.dim() == 1 else f"{tensor.dim()} dimensions"


def _names(inputs: FlatInputs) -> tuple[list[str], list[str]]:
    """For each leaf its path over `L`, and its name in messages."""
    return paths_of(inputs), [path_string(path) for path in inputs.key_paths]


def paths_of(inputs: FlatInputs) -> list[str]:
    """For each leaf Python for it over the arguments, as torch.export keeps it with a program's guards: "L['x'][0]"."""
    return [f"L{pytree.keystr(path)}" for path in inputs.key_paths]


