"""Functions that are kept together or marked for a compiler, and compute what they compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._ops import HigherOrderOperator
from torch.utils import _pytree as pytree

from dynamo_lite.capture import higher_order, levels
from dynamo_lite.tracing.higher_order.subgraph import trace

if TYPE_CHECKING:
    from dynamo_lite.tracing.tracer import Tracer


def call_region(tracer: Tracer, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function under torch.compiler.nested_compile_region is called: its operators are the program's.

    torch.export inlines the region as well.
    """
    function, *rest = args
    return tracer.vm.call(function, tuple(rest), kwargs)


def call_wrapped(tracer: Tracer, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """BaseHOP.__call__(op, function, *operands, **options): function(*operands) as one call (invoke_quant_packed)."""
    op, function, *operands = args

    def arguments() -> list[Any]:
        for value in operands:
            if isinstance(value, torch.Tensor):
                tracer.recorder.lift(value)
        return operands

    traced = trace(tracer, op.name(), function, arguments)
    captured = tracer.recorder.guarded(levels.operands_of, tracer.recorder, [traced.level])
    output = tuple(traced.outputs(tracer))
    (subgraph,) = higher_order.finish(tracer.recorder, [traced.level], [output], ("subgraph",))
    results = HigherOrderOperator.__call__(op, subgraph, *captured, **kwargs)
    return pytree.tree_unflatten(list(results), traced.spec)
