"""Inputs that share memory, of a decomposed program that changes one of them.

A program changes its inputs in place, as eager does, and reads a changed tensor by any of its names. In a decomposed
program torch's functionalisation has made values of them: each input is read as it was before the call, and the new
value of one that is changed is copied into it at the end. That is right only if the input shares its memory with no
other one, and with no buffer.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind

from dynamo_lite.errors import InputMismatch, UnsupportedValue

_OWN_KINDS = (torch.Tensor, nn.Parameter)
_ADVICE = (
    "the decomposed program would read the one as it was before the other was changed; use the program as it was "
    "exported, or clone() one of them first"
)


@dataclass(frozen=True)
class Changed:
    """The inputs that a decomposed program changes: flat ones by number, buffers by name. `names`: of all inputs."""

    inputs: frozenset[int]
    buffers: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, program: ExportedProgram) -> Changed | None:
        """None for a program that changes nothing, or that does so in place."""
        specs = program.graph_signature.output_specs
        changed = {spec.target for spec in specs if spec.kind is OutputKind.USER_INPUT_MUTATION}
        buffers = tuple(str(s.target) for s in specs if s.kind is OutputKind.BUFFER_MUTATION)
        names = tuple(node.name for node in _inputs(program))
        inputs = frozenset(number for number, name in enumerate(names) if name in changed)
        return cls(inputs, buffers, names) if names and (inputs or buffers) else None

    def check(self, leaves: Sequence[Any], module: nn.Module | None) -> None:
        """Raises InputMismatch where something that is changed shares memory with another input of a call."""
        given = [(self.names[number], value, _memory(value)) for number, value in enumerate(leaves)]
        changed = [given[number] for number in sorted(self.inputs)]
        if module is not None:
            held = [(name, _buffer(module, name)) for name in self.buffers]
            changed += [(name, tensor, _memory(tensor)) for name, tensor in held]
        for name, tensor, memory in changed:
            for other, value, range_ in given:
                if other != name and (_is_one(tensor, value) or _may_overlap(memory, range_)):
                    same = "is the very tensor" if value is tensor else "shares memory with the tensor"
                    raise InputMismatch(f"Input {other} {same} {name}, which the program changes: {_ADVICE}.")


def separated(program: ExportedProgram) -> ExportedProgram:
    """`program`, or a copy of it whose inputs are different tensors to torch's tracer, which has no signature for two
    that are one (or views of one) if the program changes one."""
    if not any(True for _ in _groups(program)):
        return program
    own = copy.copy(program)
    graph = copy.deepcopy(program.graph)
    own._graph_module = fx.GraphModule(program.graph_module, graph)
    own._graph_module.meta.update(program.graph_module.meta)
    for node in [node for group in _groups(own) for node in group[1:]]:
        value = node.meta["val"]
        with value.fake_mode:
            made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)
            node.meta["val"] = made.requires_grad_(value.requires_grad)
    return own


def refuse_changed(program: ExportedProgram, decomposed: ExportedProgram) -> None:
    """Raises UnsupportedValue where tensors that are one in the example of `program` are changed in `decomposed`."""
    specs = decomposed.graph_signature.output_specs
    changed = {spec.target for spec in specs if spec.kind is OutputKind.USER_INPUT_MUTATION}
    for group in _groups(program):
        for node in group:
            if node.name not in changed:
                continue
            for other in group:
                if other is not node and _overlap(_elements(node), _elements(other)):
                    what = f"{other.name}, which shares memory with {node.name} in the example, and that is changed"
                    raise UnsupportedValue(what, _ADVICE)


def _inputs(program: ExportedProgram) -> list[fx.Node]:
    placeholders = (node for node in program.graph.nodes if node.op == "placeholder")
    specs = program.graph_signature.input_specs
    return [node for node, spec in zip(placeholders, specs) if spec.kind is InputKind.USER_INPUT]


def _groups(program: ExportedProgram) -> Iterator[list[fx.Node]]:
    """The inputs of the example that share a storage, where there are several."""
    found: dict[Any, list[fx.Node]] = {}
    for node in _inputs(program):
        value = node.meta["val"]
        if isinstance(value, torch.Tensor) and value.layout is torch.strided and hasattr(value, "fake_mode"):
            found.setdefault(value.untyped_storage()._cdata, []).append(node)
    return (group for group in found.values() if len(group) > 1)


def _elements(node: fx.Node) -> tuple[None, int, int]:
    """(None, first element, end) of a fake tensor, within its storage; all of it if sizes vary."""
    value = node.meta["val"]
    numbers = (*value.shape, *value.stride(), value.storage_offset())
    if not all(type(number) is int for number in numbers):
        return None, 0, sys.maxsize
    start = value.storage_offset()
    last = sum((size - 1) * stride for size, stride in zip(value.shape, value.stride()))
    return None, start, start + last + 1 if value.numel() else start


def _buffer(module: nn.Module, name: str) -> Any:
    owner, _, leaf = name.rpartition(".")
    try:
        return module.get_submodule(owner)._buffers.get(leaf)
    except AttributeError:  # in a module of another form, as torch.export.unflatten makes them
        return None


def _memory(value: Any) -> tuple[Any, int, int] | None:
    """(device, first byte, end) of a tensor's elements; None for a value without comparable memory of its own."""
    if type(value) not in _OWN_KINDS or value.layout is not torch.strided or value.device.type == "meta":
        return None
    if not value.numel():
        return None
    last = sum((size - 1) * stride for size, stride in zip(value.shape, value.stride()))
    try:
        start = value.data_ptr()
    except RuntimeError:  # within torch.vmap and its kin, whose tensors have none
        return None
    return value.device, start, start + (last + 1) * value.element_size()


def _is_one(tensor: Any, value: Any) -> bool:
    """Whether both are one tensor with elements: also of a class, or on a device, whose memory is not compared."""
    empty = isinstance(value, torch.Tensor) and any(type(size) is int and size == 0 for size in value.shape)
    return tensor is value and isinstance(value, torch.Tensor) and not empty


def _may_overlap(one: tuple[Any, int, int] | None, other: tuple[Any, int, int] | None) -> bool:
    return one is not None and other is not None and _overlap(one, other)


def _overlap(one: tuple[Any, int, int], other: tuple[Any, int, int]) -> bool:
    return bool(one[0] == other[0] and one[1] < other[2] and other[1] < one[2])
