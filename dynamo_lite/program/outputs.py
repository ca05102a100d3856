"""From what the program returned to the outputs of the graph."""

from __future__ import annotations

from collections.abc import Iterator
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
from torch.utils import _pytree as pytree

from dynamo_lite.capture import Recorder
from dynamo_lite.program.containers import check_leaf, children_of, path_string, register_containers
from dynamo_lite.program.object_context import ObjectContext
from dynamo_lite.tree_paths import flatten_with_path


@dataclass
class FlatOutputs:
    """What the program returned, flattened: `values[i]` is a graph node or a constant; `spec` is the tree.

    `leaves[i]` is what the program returned there (a FakeTensor for a tensor).
    """

    values: list[Any]
    leaves: list[Any]
    spec: pytree.TreeSpec

    def output_specs(self) -> list[OutputSpec]:
        """The signature's entries, to be made when the nodes have their final names."""
        return [OutputSpec(OutputKind.USER_OUTPUT, _argument(value), None) for value in self.values]


def flatten_outputs(recorder: Recorder, result: Any) -> FlatOutputs:
    """Flattens `result`; a parameter, a constant or an input in it is an output like any other.

    Raises UnsupportedValue for a leaf that is neither a tensor, a size nor a constant.
    """
    register_containers({"output": result})
    values: list[Any] = []
    with_paths, spec = flatten_with_path(result)
    for path, leaf in with_paths:
        if isinstance(leaf, torch.Tensor):
            recorder.layout.matters(leaf)
            values.append(recorder.node_of(leaf))
            continue
        if isinstance(leaf, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            values.append(recorder.lower_symbolic(leaf))
            continue
        check_leaf((pytree.MappingKey("output"), *path), leaf)
        values.append(leaf)
    return FlatOutputs(values, [leaf for _, leaf in with_paths], spec)


def constants_of(result: Any) -> Iterator[tuple[str, Any]]:
    """(path, value) of what the containers of `result` hold beside their children: constants of the program, keys."""
    for path, value in _constants(result, (pytree.MappingKey("output"),)):
        yield path_string(path), value


def _constants(value: Any, path: pytree.KeyPath) -> Iterator[tuple[pytree.KeyPath, Any]]:
    handler = pytree.SUPPORTED_NODES.get(type(value))
    if handler is not None:
        _, context = handler.flatten_fn(value)
        if isinstance(context, ObjectContext):
            yield from (((*path, key.path_entry()), part) for key, part in context.rest.items())
            yield from ((path, key.name) for key in context.order)
        else:
            yield path, context
    if handler is not None or pytree.is_namedtuple_instance(value):
        for key, child in children_of(value):
            yield from _constants(child, (*path, key))


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
