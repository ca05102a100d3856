"""Inputs whose sizes a program changes in place: `x.t_()`, `x.unsqueeze_(0)`, `torch.cos(y, out=x)` that resizes.

The program does so, as eager does. torch's functionalisation has no such change: it copies the new values into the
input as it was, by broadcasting where the sizes allow it.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import fx
from torch.export import ExportedProgram

from dynamo_lite.torch_internals._torch_operators import OpOverload


def reshaped(program: ExportedProgram) -> str | None:
    """The name of an input, parameter or buffer that the program gives other sizes; None if there is none."""
    origins: dict[fx.Node, fx.Node] = {}
    for node in program.graph.nodes:
        if node.op == "placeholder":
            origins[node] = node
        for written in _written(node):
            origin = origins.get(written)
            if origin is None:
                continue
            if _has_other_layout(node, written):
                return origin.name
            origins[node] = origin
    return None


def _written(node: fx.Node) -> Iterator[fx.Node]:
    """The argument that an operator writes into and returns."""
    if not isinstance(node.target, OpOverload) or not node.target._schema.is_mutable:
        return
    for index, argument in enumerate(node.target._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = node.args[index] if index < len(node.args) else node.kwargs.get(argument.name)
            if isinstance(value, fx.Node):
                yield value


def _has_other_layout(node: fx.Node, written: fx.Node) -> bool:
    new, old = node.meta.get("val"), written.meta.get("val")
    if not isinstance(new, torch.Tensor) or not isinstance(old, torch.Tensor):
        return False
    is_view = isinstance(node.target, OpOverload) and torch.Tag.inplace_view in node.target.tags
    # An in-place view gives the stand-in of its argument other sizes as well, wherever it is looked at.
    return new.dim() != old.dim() or (is_view and node.target is not torch.ops.aten.detach_.default) or (
        all(type(size) is int for size in (*new.shape, *old.shape)) and new.shape != old.shape
    )
