"""Branches on sizes in the module of a program: the side that the sizes take is run, as any other code.

With gradients, torch's cond traces the backward of both sides on the sizes of the call (CondAutogradOp in
torch/_higher_order_ops/cond.py, torch 2.13.0), and a side that is written for other sizes raises there. Where the
condition is a bool, nothing has to be traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx


def taken_side(
    condition: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any]
) -> Any:
    """As `torch.cond`; a condition that is a bool decides at once."""
    if type(condition) is bool:
        return (true_fn if condition else false_fn)(*operands)
    return torch.ops.higher_order.cond(condition, true_fn, false_fn, operands)


def run_taken_sides(module: fx.GraphModule) -> None:
    """Replace torch's operator by `taken_side` in the branches of `module` on sizes, and in those within."""
    for part in module.modules():
        if not isinstance(part, fx.GraphModule):
            continue
        found = [node for node in part.graph.nodes if node.target is torch.ops.higher_order.cond and _is_of_sizes(node)]
        for node in found:
            node.target = taken_side
        if found:
            part.recompile()


def _is_of_sizes(node: fx.Node) -> bool:
    condition = node.args[0]
    value = condition.meta.get("val") if isinstance(condition, fx.Node) else None
    return isinstance(value, torch.SymBool) and value.node.has_hint()
