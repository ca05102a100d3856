"""The score functions of flex_attention in the module of a program: they look a learned table up as eager's do.

A program has `aten.index` where a score function reads `table[i - j]`. Its gradient in a vmap, in which torch runs such
functions, has a batch of tables, and torch wants one. Eager's `table[i - j]` is a call of Python, which torch replaces
by an operator whose gradient is one table (TransformGetItemToIndex in torch/_dynamo/_trace_wrapped_higher_order_op.py,
torch 2.13.0): in a module it can be that call. No file can hold it: torch.export.load has `aten.index`, whose backward
raises.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import torch
from torch import fx

from dynamo_lite.program.modules.sub_graphs import copy_children

_FLEX = "flex_attention"
_INDEX = torch.ops.aten.index.Tensor


def look_up_as_eager(module: fx.GraphModule) -> None:
    """Replaces `aten.index` by Python's indexing in the score functions of `module`, the module of a program."""
    names = [name for name in _scores(module) if _found(module.get_submodule(name))]
    copy_children(module, names)
    for name in names:
        score: Any = module.get_submodule(name)
        for node in _found(score):
            table, indices = node.args
            assert isinstance(indices, (list, tuple))
            node.target, node.args = operator.getitem, (table, tuple(indices))
        score.recompile()


def _scores(part: fx.GraphModule, prefix: str = "") -> Iterator[str]:
    """The names of the score functions in `part` and in its sub-graphs."""
    for node in part.graph.nodes:
        if getattr(node.target, "__name__", "") == _FLEX and isinstance(node.args[3], fx.Node):
            yield f"{prefix}{node.args[3].target}"
    for name, child in part.named_children():
        if isinstance(child, fx.GraphModule):
            yield from _scores(child, f"{prefix}{name}.")


def _found(score: Any) -> list[fx.Node]:
    return [node for node in score.graph.nodes if node.target is _INDEX and _is_learned(node)]


def _is_learned(node: fx.Node) -> bool:
    """Whether it reads a tensor from around the function that may have a gradient, at indices that are numbers."""
    table, indices = node.args
    if not isinstance(table, fx.Node) or table.op != "placeholder" or not isinstance(indices, (list, tuple)):
        return False
    value = table.meta.get("val")
    are_numbers = all(isinstance(index, fx.Node) and index.meta["val"].dim() == 0 for index in indices)
    return are_numbers and isinstance(value, torch.Tensor) and value.is_floating_point()
