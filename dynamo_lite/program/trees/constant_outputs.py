"""Outputs that no graph can return: enums, dtypes, slices, nan.

fx writes a value of an output node into Python code, where `Fl.X | Fl.Y` becomes `Fl.X|Y` and nan is not equal to
itself; torch's passes and its files know None, numbers and strings only. Such a constant is a part of the structure of
the outputs instead: a container without children, whose context is the value. It is made again for each result, and is
saved and loaded with the structure (in a process that has imported dynamo_lite).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Flag
from typing import Any

from dynamo_lite.program.trees.container_context import decode, encode
from dynamo_lite.torch_internals._torch_pytree import pytree, register_pytree_flatten_spec
from dynamo_lite.value_types import GRAPH_ATOMS, IN_STRUCTURE, STRUCTURE_ATOMS

_EXACT = (*STRUCTURE_ATOMS, type)
_PLAIN = (*GRAPH_ATOMS, *STRUCTURE_ATOMS)


@dataclass(eq=False)
class ConstantContext:
    """The context of a constant output. Two are equal if their constants are of one type and are written alike."""

    value: Any

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConstantContext):
            return NotImplemented
        return type(self.value) is type(other.value) and repr(encode(self.value)) == repr(
            encode(other.value)
        )  # nan, -0.0

    def __repr__(self) -> str:
        return repr(self.value)

    def to_json(self) -> Any:
        return encode(self.value)

    @classmethod
    def from_json(cls, data: Any) -> ConstantContext:
        return cls(decode(data))


class ConstantOutput:
    """The type of a constant output in a structure; there are no instances."""


def in_structure(value: Any) -> bool:
    """Whether an output is a constant that the graph cannot hold, and the structure can."""
    if isinstance(value, IN_STRUCTURE) or type(value) in _EXACT:
        return not isinstance(value, type) or value.__module__ == "builtins"
    if type(value) is float:
        return value != value
    if type(value) is slice:
        return all(type(part) in (type(None), int) for part in (value.start, value.stop, value.step))
    return type(value) is frozenset and all(type(item) in _PLAIN or isinstance(item, IN_STRUCTURE) for item in value)


def take_out(spec: pytree.TreeSpec, leaves: list[Any]) -> pytree.TreeSpec:
    """The structure in which each leaf for which `in_structure` holds is a `ConstantOutput`."""
    return _taken_out(spec, iter(leaves))


def _taken_out(spec: pytree.TreeSpec, leaves: Any) -> pytree.TreeSpec:
    if spec.is_leaf():
        value = next(leaves)
        return pytree.TreeSpec(ConstantOutput, ConstantContext(value), []) if in_structure(value) else spec
    return pytree.TreeSpec(spec.type, spec.context, [_taken_out(child, leaves) for child in spec.children()])


def _no_instances(value: Any) -> Any:
    raise TypeError(f"{ConstantOutput.__qualname__} has no instances")


def _unflatten(children: Iterable[Any], context: ConstantContext) -> Any:
    value = context.value
    # The class keeps the combinations that it has made; one that was made during a trace is not among them after it.
    return type(value)(value.value) if isinstance(value, Flag) else value


pytree.register_pytree_node(
    ConstantOutput,
    _no_instances,
    _unflatten,
    serialized_type_name="dynamo_lite.ConstantOutput",
    flatten_with_keys_fn=_no_instances,
    to_dumpable_context=ConstantContext.to_json,
    from_dumpable_context=ConstantContext.from_json,
)
register_pytree_flatten_spec(ConstantOutput, lambda value, spec: [])
