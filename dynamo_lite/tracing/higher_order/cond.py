"""torch.cond: both branches become sub-graphs."""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.tracing.higher_order import branches
from dynamo_lite.tracing.interfaces import TracerView


def call_cond(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """CondOp.__call__(op, pred, true_fn, false_fn, operands), which torch.cond comes down to during a trace.

    A predicate that is a constant takes its branch, as in eager.
    """
    op, pred, true_fn, false_fn, operands = _arguments(*args, **kwargs)
    if isinstance(pred, (bool, int, float)):
        tracer.note("the predicate of a torch.cond is a Python constant: only the branch that it picks is captured")
        return tracer.vm.call(true_fn if pred else false_fn, tuple(operands), {})
    _check_predicate(pred)
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"Expect operands to be a tuple of tensors, but got a {type(operands).__qualname__}.")
    choice = branches.SwitchCall(
        op,
        "torch.cond",
        pred,
        (true_fn, false_fn),
        ("if true", "if false"),
        ("true_graph_", "false_graph_"),
        lambda modules, operands: (pred, *modules, operands),
        lambda predicate, results: torch.where(predicate, results[0], results[1]),
        _branch,
    )
    return branches.record(tracer, choice, operands)


def _branch(predicate: Any, true_fn: Any, false_fn: Any, operands: Any) -> Any:
    if predicate:
        return true_fn(*operands)
    return false_fn(*operands)


def _arguments(op: Any, pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> tuple[Any, ...]:
    return op, pred, true_fn, false_fn, operands


def _check_predicate(pred: Any) -> None:
    if isinstance(pred, torch.Tensor):
        if pred.numel() != 1:
            raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got shape {list(pred.shape)}.")
    elif not isinstance(pred, SYMBOLIC_TYPES):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {type(pred).__qualname__}.")
