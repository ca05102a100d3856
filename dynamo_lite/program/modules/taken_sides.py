"""Branches in the module of a program: the side that the call takes is run, as any other code.

With gradients, torch's cond traces the backward of both sides on the values of the call (CondAutogradOp in
torch/_higher_order_ops/cond.py, torch 2.13.0). A side that is written for other sizes or numbers raises there, and a
tensor that only the other side uses gets a gradient of zeros, where eager gives it None. Where nothing traces the call,
the condition decides at once. That holds for branches of Python, and for torch.cond of a bool; torch.cond of a tensor,
as the program itself calls it, gives in eager what torch gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.graph.subgraph_calls import BRANCH
from dynamo_lite.program.modules.sub_graphs import copy_children
from dynamo_lite.torch_internals._torch_dispatch import _len_torch_dispatch_stack
from dynamo_lite.torch_internals._torch_functorch import maybe_current_level

Side = Callable[..., Any]


def taken_side(condition: Any, true_fn: Side, false_fn: Side, operands: Sequence[Any]) -> Any:
    """As `torch.cond`; a condition that is a bool decides at once."""
    if type(condition) is bool:
        return (true_fn if condition else false_fn)(*operands)
    return torch.ops.higher_order.cond(condition, true_fn, false_fn, operands)


def taken_side_by_data(condition: Any, true_fn: Side, false_fn: Side, operands: Sequence[Any]) -> Any:
    """As `taken_side`; a tensor decides as well where nothing traces the call."""
    if type(condition) is torch.Tensor and not torch.compiler.is_compiling() and not is_traced():
        try:
            condition = bool(condition.item())
        except RuntimeError:  # under torch.vmap it has many truths
            if maybe_current_level() is None:
                raise
    return taken_side(condition, true_fn, false_fn, operands)


def is_traced() -> bool:
    """Whether something other than autograd sees each operator."""
    return bool(_len_torch_dispatch_stack()) or torch.jit.is_tracing()


def run_taken_sides(module: fx.GraphModule) -> None:
    """Replace torch's operator by the functions above in the branches of `module`, and in those within."""
    parts = [name for name, part in module.named_modules() if isinstance(part, fx.GraphModule) and _found(part)]
    copy_children(module, filter(None, parts))
    for name in parts:
        part: Any = module.get_submodule(name)
        for node in _found(part):
            node.target = taken_side_by_data if _is_of_python(node) else taken_side
        part.recompile()


def _found(part: fx.GraphModule) -> list[fx.Node]:
    conds = [node for node in part.graph.nodes if node.target is torch.ops.higher_order.cond]
    return [node for node in conds if _is_of_python(node) or _is_bool(node.args[0])]


def _is_of_python(node: fx.Node) -> bool:
    return bool(node.meta.get("torch_fn", ("", ""))[1] == BRANCH)


def _is_bool(condition: Any) -> bool:
    return isinstance(condition, fx.Node) and isinstance(condition.meta.get("val"), torch.SymBool)
