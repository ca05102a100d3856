"""Functions that are kept together or marked for a compiler, without an effect on their results."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.graph import subgraph_calls, subgraphs
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.torch_internals._torch_operators import HigherOrderOperator
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.higher_order.subgraph import TracedFunction, trace
from dynamo_lite.tracing.interfaces import TracerView


def call_region(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function under torch.compiler.nested_compile_region is called: its operators are the program's.

    torch.export inlines the region as well.
    """
    function, *rest = args
    return tracer.vm.call(function, tuple(rest), kwargs)


def call_strict_mode(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """StrictMode.__call__(op, function, operands), a function that is to be traced strictly, as every one is here."""
    bound = _STRICT.bind(*args, **kwargs).arguments
    return tracer.vm.call(bound["callable"], tuple(bound["operands"]), {})


def call_wrapped(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """BaseHOP.__call__(op, function, *operands, **options): function(*operands) as one call.

    InvokeQuant passes its operator itself as an option, an object that no graph takes as an argument. The call is
    recorded as a compiler sees it: `invoke_quant`, with the object in the node's meta.
    """
    op, function, *operands = args
    quant = kwargs.get("quant_options")
    if quant is not None:
        op = sys.modules["torch._higher_order_ops._invoke_quant"].invoke_quant
        kwargs = {"scheme": kwargs["scheme"]} if kwargs.get("scheme") is not None else {}
    traced, subgraph, captured = _subgraph(tracer, op, function, operands, "subgraph")
    with DisableTorchFunction():
        results = HigherOrderOperator.__call__(op, subgraph, *captured, **kwargs)
    if quant is not None:
        node = next(node for node in reversed(tracer.recorder.graph.nodes) if node.target is op)  # the call just made
        node.meta["quant_options"] = quant
    return pytree.tree_unflatten(list(results), traced.spec)


def call_local_map(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """LocalMapHOP.__call__(op, module, *operands): on plain tensors, the result of the module, as in eager."""
    _, module, *operands = args
    placements = module.meta["local_map_kwargs"]
    if placements.get("in_grad_placements", None) is not None:
        raise AssertionError("local_map in_grad_placements are not yet supported.")
    return tracer.vm.call(module, tuple(operands), kwargs)


def call_hints(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """HintsWrapper.__call__(op, function, operands, {}, hints): function(*operands), marked for a compiler."""
    bound = _HINTS.bind(*args, **kwargs).arguments
    operands, hints = tuple(bound["args"]), bound["hints"]
    if bound["kwargs"] or not all(type(key) is str and type(hint) in _HINT_TYPES for key, hint in hints.items()):
        return NOT_HANDLED
    op, name = bound["self"], "hints_wrapper_body_graph_"
    traced, subgraph, captured = _subgraph(tracer, op, bound["body_fn"], operands, name)
    with DisableTorchFunction():  # a mode would go through the operator's own __call__, which loses the name
        results = HigherOrderOperator.__call__(op, subgraph, tuple(captured), {}, hints=dict(hints))
    return pytree.tree_unflatten(list(results), traced.spec)


def call_flex_gemm(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """FlexGemm.__call__(op, gemm_op, body_fn, gemm_args, gemm_kwargs, kernel_options) of torch 2.14.

    The function is a product of matrices and what follows it, marked to become one kernel. A compiler finds the
    matrices by their position in gemm_args, so one that is given twice is cloned.
    """
    bound = _GEMM.bind(*args, **kwargs).arguments
    op, operands = bound["self"], list(bound["gemm_args"])
    for number, value in enumerate(operands):
        if any(value is other for other in operands[:number]) and isinstance(value, torch.Tensor):
            operands[number] = tracer.vm.call(torch.clone, (value,), {})
    traced, subgraph, captured = _subgraph(tracer, op, bound["body_fn"], operands, "flex_gemm_body_graph_")
    with DisableTorchFunction():
        results = fn(op, bound["gemm_op"], subgraph, tuple(captured), bound["gemm_kwargs"], bound["kernel_options"])
    return pytree.tree_unflatten(list(results), traced.spec)


_GEMM = inspect.signature(lambda self, gemm_op, body_fn, gemm_args, gemm_kwargs, kernel_options: None)
_STRICT = inspect.signature(lambda self, callable, operands: None)
_HINTS = inspect.signature(lambda self, body_fn, args, kwargs, hints: None)
_HINT_TYPES = (int, float, bool, str)


def _subgraph(
    tracer: TracerView, op: Any, function: Any, operands: Sequence[Any], name: str
) -> tuple[TracedFunction, fx.GraphModule, Sequence[Any]]:
    """`function(*operands)` as a sub-graph, and the operands of the call: the tensors and sizes that it uses."""

    def arguments() -> Sequence[Any]:
        for value in operands:
            if isinstance(value, torch.Tensor):
                tracer.recorder.lift(value)
        return operands

    traced = trace(tracer, op.name(), function, arguments)
    captured = tracer.recorder.guarded(subgraphs.operands_of, tracer.recorder, [traced.level])
    output = tuple(traced.outputs(tracer))
    (subgraph,) = subgraph_calls.finish(tracer.recorder, [traced.level], [output], (name,))
    return traced, subgraph, captured
