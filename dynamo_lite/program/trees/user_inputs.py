"""The nodes of a program that take the caller's arguments, with their entries in its signature."""

from __future__ import annotations

from typing import Any

from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec


def input_rows(program: ExportedProgram) -> list[tuple[fx.Node, InputSpec]]:
    """Each placeholder with its row of the signature: parameters, buffers and constants, then the user's inputs."""
    nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
    return list(zip(nodes, program.graph_signature.input_specs))


def user_inputs(program: ExportedProgram) -> list[tuple[fx.Node, InputSpec]]:
    """The rows of the user's flat inputs, in order."""
    return [(node, spec) for node, spec in input_rows(program) if spec.kind is InputKind.USER_INPUT]


def user_values(program: ExportedProgram) -> list[Any]:
    """The `val` of each flat user input: a FakeTensor, a number or a size."""
    return [node.meta["val"] for node, _ in user_inputs(program)]
