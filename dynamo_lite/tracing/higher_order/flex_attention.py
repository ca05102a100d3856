"""flex_attention: score_mod and mask_mod become sub-graphs over scalars; what they close over becomes buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from dynamo_lite.capture import higher_order, levels
from dynamo_lite.tracing.higher_order.subgraph import Traced, trace

if TYPE_CHECKING:
    from dynamo_lite.tracing.tracer import Tracer

_NAME = "flex_attention"


class _IndexByTensors(TorchFunctionMode):
    """`bias[h, i]` with scalar tensors as indices is aten.index: Python's own indexing would ask for their values."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.__getitem__:
            indices = args[1] if isinstance(args[1], tuple) else (args[1],)
            if any(isinstance(i, torch.Tensor) for i in indices) and all(_is_index(i) for i in indices):
                device = next(i.device for i in indices if isinstance(i, torch.Tensor))
                wanted = [i if isinstance(i, torch.Tensor) else torch.tensor(i, device=device) for i in indices]
                return torch.ops.aten.index.Tensor(args[0], wanted)
        return func(*args, **(kwargs or {}))


def _is_index(value: Any) -> bool:
    return isinstance(value, (int, torch.Tensor)) and not isinstance(value, bool)


def call_flex_attention(tracer: Tracer, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """FlexAttentionHOP.__call__(op, query, key, value, score_mod, block_mask, scale, kernel_options, ...)."""
    op, query, key, value, score_mod, block_mask, scale, options, *given = args
    if kwargs or any(given):
        tracer.refuse("higher-order-rejected", function=_NAME, reason="it is called with buffers of its own")
    recorder = tracer.recorder
    fake = recorder.guarded(recorder.lift, query)
    score = _trace(tracer, score_mod, fake, scores=1)
    mask = _trace(tracer, block_mask[-1], fake, scores=0)
    buffers = [tuple(recorder.guarded(levels.operands_of, recorder, [part.level])) for part in (score, mask)]
    (score_graph,) = higher_order.finish(recorder, [score.level], [score.outputs(tracer)[0]], ("sdpa_score",))
    (mask_graph,) = higher_order.finish(recorder, [mask.level], [mask.outputs(tracer)[0]], ("sdpa_mask",))
    return op(query, key, value, score_graph, (*block_mask[:-1], mask_graph), scale, options, *buffers)


def _trace(tracer: Tracer, function: Any, query: torch.Tensor, scores: int) -> Traced:
    """The sub-graph of a function of (a score and) the numbers of batch, head, query and key, all scalars."""
    with higher_order.unrecorded():
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
