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

from dynamo_lite.program.modules.sub_graphs import copy_children


def taken_side(
    condition: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any]
) -> Any:
    """As `torch.cond`; a condition that is a bool decides at once."""
    if type(condition) is bool:
        return (true_fn if condition else false_fn)(*operands)
    return torch.ops.higher_order.cond(condition, true_fn, false_fn, operands)


def run_taken_sides(module: fx.GraphModule) -> None:
    """Replace torch's operator by `taken_side` in the branches of `module` on sizes, and in those within."""
    parts = [name for name, part in module.named_modules() if isinstance(part, fx.GraphModule) and _found(part)]
    copy_children(module, filter(None, parts))
    for name in parts:
        part: Any = module.get_submodule(name)
        for node in _found(part):
            node.target = taken_side
        part.recompile()


def _found(part: fx.GraphModule) -> list[fx.Node]:
    return [node for node in part.graph.nodes if node.target is torch.ops.higher_order.cond and _is_of_sizes(node)]


def _is_of_sizes(node: fx.Node) -> bool:
    condition = node.args[0]
    value = condition.meta.get("val") if isinstance(condition, fx.Node) else None
    return isinstance(value, torch.SymBool) and value.node.has_hint()
