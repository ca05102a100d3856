"""From the program's result to the outputs of the graph."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.export.graph_signature import (
    ConstantArgument,
    OutputKind,
    OutputSpec,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)

from dynamo_lite.capture import Recorder
from dynamo_lite.program.trees.constant_outputs import in_structure, take_out
from dynamo_lite.program.trees.container_context import ObjectContext
from dynamo_lite.program.trees.containers import check_leaf, path_string
from dynamo_lite.program.trees.paths import Flat
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.torch_internals._torch_pytree import pytree


@dataclass
class FlatOutputs:
    """The program's result, flattened: `values[i]` is a graph node or a constant; `spec` is the tree.

    `leaves[i]` is the returned object there (a FakeTensor for a tensor).
    """

    values: list[Any]
    leaves: list[Any]
    spec: pytree.TreeSpec

    def output_specs(self) -> list[OutputSpec]:
        """The signature's entries, to be made when the nodes have their final names."""
        return [OutputSpec(OutputKind.USER_OUTPUT, _argument(value), None) for value in self.values]


def flatten_outputs(recorder: Recorder, flat: Flat) -> FlatOutputs:
    """The program's result, flattened: a parameter, a constant or an input is an output like any other.

    A value that the graph cannot hold is a part of the structure (constant_outputs.py).
    Raises UnsupportedValue for a leaf that is neither a tensor, a size nor a constant.
    """
    values: list[Any] = []
    leaves: list[Any] = []
    for path, leaf in flat.leaves:
        if in_structure(leaf):
            continue
        leaves.append(leaf)
        if isinstance(leaf, torch.Tensor):
            values.append(recorder.node_of(leaf))
            continue
        if isinstance(leaf, SYMBOLIC_TYPES):
            values.append(recorder.lower_symbolic(leaf))
            continue
        check_leaf((pytree.MappingKey("output"), *path), leaf)
        values.append(leaf)
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    recorder.layout.returned(tensors, [lifted.fake for lifted in recorder.lifted])
    spec = flat.spec if len(leaves) == len(flat.leaves) else take_out(flat.spec, [leaf for _, leaf in flat.leaves])
    return FlatOutputs(values, leaves, spec)


def mark_made(spec: pytree.TreeSpec, is_made: Callable[[Any], bool]) -> None:
    """Pass `is_made` to the results' containers: constants that the program has made are made anew by each call."""
    todo = [spec]
    while todo:
        spec = todo.pop()
        if isinstance(spec.context, ObjectContext):
            spec.context.mark_made(is_made)
        todo += spec.children()


def constants_of(flat: Flat) -> Iterator[tuple[str, Any]]:
    """(path, value) of the constants and keys that the containers of a result hold beside their children."""
    output: Any = pytree.MappingKey("output")
    for path, kind, context in flat.contexts:
        if isinstance(context, ObjectContext):
            for key, part in context.rest.items():
                yield path_string((output, *path, key.path_entry())), part
            yield from ((path_string((output, *path)), key.name) for key in context.order)
        elif kind is not namedtuple:
            yield path_string((output, *path)), context


def _argument(value: Any) -> Any:
    if not isinstance(value, fx.Node):
        return ConstantArgument(name="", value=value)
    if isinstance(value.meta["val"], torch.Tensor):
        return TensorArgument(name=value.name)
    if isinstance(value.meta["val"], torch.SymFloat):
        return SymFloatArgument(name=value.name)
    # Bools as well: torch cannot save a program with a SymBoolArgument (torch/_export/serde/serialize.py,
    # serialize_argument_spec: `AssertionError("TODO")`).
    return SymIntArgument(name=value.name)
