"""Inputs that are constants of a kind that torch's decompositions do not take: dtypes, devices, layouts, enums.

A program has no node that uses a constant among its inputs (its value is written out), so torch may be given None in
its place. torch refuses a dtype as "not of KNOWN_TYPES", and makes an object of C++ of an enum's member.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputSpec

from dynamo_lite.program.trees.user_inputs import user_inputs

_TAKEN = (torch.Tensor, int, str, float, bool, type(None))


@contextmanager
def hidden(program: ExportedProgram) -> Iterator[None]:
    """A context in which the constants that torch does not accept are None."""
    nodes = [node for node, spec in user_inputs(program) if _is_unknown(spec)]
    values = [node.meta["val"] for node in nodes]
    for node in nodes:
        node.meta["val"] = None
    try:
        yield
    finally:
        for node, value in zip(nodes, values):
            node.meta["val"] = value


def put_back(program: ExportedProgram, original: ExportedProgram) -> None:
    """Restore the values that `hidden` has replaced, as inputs of `program`, which torch has made."""
    known = [spec for _, spec in user_inputs(original)]
    specs = program.graph_signature.input_specs
    for (node, spec), before in zip(user_inputs(program), known, strict=True):
        if _is_unknown(before):
            assert isinstance(before.arg, ConstantArgument)
            argument = ConstantArgument(name=node.name, value=before.arg.value)
            specs[specs.index(spec)] = replace(spec, arg=argument)
            node.meta["val"] = before.arg.value


def _is_unknown(spec: InputSpec) -> bool:
    argument: Any = spec.arg
    return isinstance(argument, ConstantArgument) and not isinstance(argument.value, _TAKEN)
