"""Inputs whose sizes a program changes in place: `x.t_()`, `x.unsqueeze_(0)`, `torch.cos(y, out=x)` that resizes.

The program does so, as eager does. torch's functionalisation has no such change: it copies the new values into the
input as it was, by broadcasting where the sizes allow it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram

from dynamo_lite.torch_internals._torch_operators import OpOverload


def reshaped(program: ExportedProgram) -> str | None:
    """The name of an input, parameter or buffer that the program gives other sizes; None if there is none."""
    origins: dict[fx.Node, fx.Node] = {}
    several: dict[tuple[fx.Node, int], fx.Node] = {}  # (an operator with several results, which one) -> origin
    for node in program.graph.nodes:
        if node.op == "placeholder":
            origins[node] = node
        elif node.target is operator.getitem and node.args in several:
            origins[node] = several[node.args]
        for written, index, value in _written(node):
            origin = origins.get(written)
            if origin is None:
                continue
            if _has_other_layout(node, written, value):
                return origin.name
            if index is None:
                origins[node] = origin
            else:
                several[node, index] = origin
    return None


def _written(node: fx.Node) -> Iterator[tuple[fx.Node, int | None, Any]]:
    """The arguments that an operator writes into and returns: each with the index of its result (None: the only one),
    and the value of that result. Other results do not count: a custom operator that writes into one argument may return
    a tensor of its own.
    """
    if not isinstance(node.target, OpOverload) or not node.target._schema.is_mutable:
        return
    schema, value = node.target._schema, node.meta.get("val")
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        written = node.args[position] if position < len(node.args) else node.kwargs.get(argument.name)
        for index, result in enumerate(schema.returns):
            is_same = result.alias_info is not None and result.alias_info.before_set == argument.alias_info.before_set
            if not isinstance(written, fx.Node) or not is_same:
                continue
            if len(schema.returns) == 1:
                yield written, None, value
            elif isinstance(value, Sequence):
                yield written, index, value[index]


def _has_other_layout(node: fx.Node, written: fx.Node, new: Any) -> bool:
    old = written.meta.get("val")
    if not isinstance(new, torch.Tensor) or not isinstance(old, torch.Tensor):
        return False
    is_view = isinstance(node.target, OpOverload) and torch.Tag.inplace_view in node.target.tags
    # An in-place view gives the fake tensor of its argument other sizes as well, wherever it is looked at.
    return new.dim() != old.dim() or (is_view and node.target is not torch.ops.aten.detach_.default) or (
        all(type(size) is int for size in (*new.shape, *old.shape)) and new.shape != old.shape
    )
