"""flex_attention: score_mod and mask_mod become sub-graphs over scalars; what they close over becomes buffers."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from dynamo_lite.capture.fakes.static_cache import Memory
from dynamo_lite.capture.graph import subgraph_calls, subgraphs
from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.torch_internals._torch_operators import create_fw_bw_graph
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.higher_order.subgraph import TracedFunction, record_call, trace
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_NAME = "flex_attention"


class _IndexByTensors(TorchFunctionMode):
    """`bias[h, i]` with scalar tensors as indices is aten.index: Python's own indexing would need their values."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.__getitem__:
            indices = args[1] if isinstance(args[1], tuple) else (args[1],)
            if all(_is_index(i) for i in indices) and (args[0].requires_grad or any(map(is_tensor, indices))):
                device = next((i.device for i in indices if is_tensor(i)), args[0].device)
                wanted = [i if isinstance(i, torch.Tensor) else torch.tensor(i, device=device) for i in indices]
                return torch.ops.aten.index.Tensor(args[0], wanted)
        return func(*args, **(kwargs or {}))


def _is_index(value: Any) -> bool:
    return isinstance(value, (int, torch.Tensor)) and not isinstance(value, bool)


def call_flex_attention(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """FlexAttentionHOP.__call__(op, query, key, value, score_mod, block_mask, scale, kernel_options, ...)."""
    op, query, key, value, score_mod, block_mask, scale, options, *given = args
    if kwargs or any(given):
        tracer.refuse("higher-order-rejected", function=_NAME, reason="it is called with buffers of its own")
    score, mask, buffers = _graphs(tracer, query, score_mod, block_mask[-1], ("sdpa_score", "sdpa_mask"))
    arguments = (query, key, value, score, (*block_mask[:-1], mask), scale, options, *buffers)
    recorder = tracer.recorder
    tensors = [recorder.lift(t) for t in pytree.tree_leaves((query, key, value, buffers[0])) if is_tensor(t)]
    if recorder.memory is Memory.AUTOGRAD or not any(tensor.requires_grad for tensor in tensors):
        return op(*arguments)
    results = record_call(tracer, op, arguments)
    with unrecorded():
        results[2].detach_()  # the largest scores have no gradient
    return results


def call_flex_attention_backward(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """FlexAttentionBackwardHOP.__call__(op, query, key, value, out, logsumexp, grad_out, grad_logsumexp, fw_graph,
    joint_graph, block_mask, scale, kernel_options, ...), which a program may call itself.

    Without a joint graph eager makes it from fw_graph, by the function that makes it here.
    """
    op, query, *tensors, score_mod, joint, block_mask, scale, options = args[:13]
    if kwargs or any(args[13:]) or joint is not None:
        reason = "it is called with a backward function, or buffers, of its own"
        tracer.refuse("higher-order-rejected", function=f"{_NAME}_backward", reason=reason)
    score, mask, buffers = _graphs(tracer, query, score_mod, block_mask[-1], ("fw_graph", "mask_graph"))
    if buffers[0]:  # torch's own operator fails on tensors whose gradients are not needed
        reason = "its score function closes over a tensor"
        tracer.refuse("higher-order-rejected", function=f"{_NAME}_backward", reason=reason)
    joint = _joint(tracer, query, score)
    out = op(query, *tensors, score, joint, (*block_mask[:-1], mask), scale, options, *buffers)
    return (*out[:3], ())  # a value that fw_graph closes over is not a buffer of the program


def _joint(tracer: TracerView, query: Any, score: Any) -> Any:
    """The sub-graph of the gradients of `score`, itself a sub-graph."""
    with unrecorded():
        fake = tracer.recorder.lift(query)
        examples = [fake.new_zeros((), requires_grad=True), *(fake.new_zeros((), dtype=torch.int) for _ in range(4))]
        _, joint = tracer.recorder.guarded(create_fw_bw_graph, score, tuple(examples), ())
    return subgraph_calls.add_module(tracer.recorder, joint, "joint_graph")


def _graphs(
    tracer: TracerView, query: Any, score_mod: Any, mask_mod: Any, names: tuple[str, str]
) -> tuple[Any, Any, Any]:
    """The sub-graphs of the two functions, and the buffers of each."""
    recorder = tracer.recorder
    fake = recorder.guarded(recorder.lift, query)
    score = _trace(tracer, score_mod, fake, scores=1)
    mask = _trace(tracer, mask_mod, fake, scores=0)
    buffers = [tuple(recorder.guarded(subgraphs.operands_of, recorder, [part.level])) for part in (score, mask)]
    (score_graph,) = subgraph_calls.finish(recorder, [score.level], [score.outputs(tracer)[0]], names[:1])
    (mask_graph,) = subgraph_calls.finish(recorder, [mask.level], [mask.outputs(tracer)[0]], names[1:])
    return score_graph, mask_graph, buffers


def _trace(tracer: TracerView, function: Any, query: torch.Tensor, scores: int) -> TracedFunction:
    """The sub-graph of a function of (a score and) the numbers of batch, head, query and key, all scalars."""
    with unrecorded():
        examples = [query.new_zeros((), requires_grad=query.requires_grad) for _ in range(scores)]
        examples += [query.new_zeros((), dtype=torch.int) for _ in range(4)]

    def arguments() -> list[Any]:
        return [tracer.recorder.levels.argument(value, f"arg{i}_1") for i, value in enumerate(examples)]

    with _IndexByTensors():
        traced = trace(tracer, _NAME, function, arguments, may_alias=True)
    if len(traced.leaves) != 1 or not isinstance(traced.leaves[0], torch.Tensor) or not traced.spec.is_leaf():
        structure = pytree.tree_map(lambda leaf: type(leaf).__name__, traced.leaves)
        tracer.refuse("loop-mismatch", operator=_NAME, what=f"{structure}, where one tensor is expected")
    return traced
