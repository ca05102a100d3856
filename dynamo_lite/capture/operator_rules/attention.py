"""scaled_dot_product_attention by the kernel that a CPU takes, and recurrent layers.

Sources: aten/src/ATen/native/transformers/sdp_utils_cpp.cpp (which kernel), torch/_meta_registrations.py (its layout),
aten/src/ATen/native/RNN.cpp (torch 2.13.0).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from dynamo_lite.capture.operator_rules.layouts import like_strides
from dynamo_lite.capture.operator_rules.operands import Operand, Outs, alike, new, new_strided
from dynamo_lite.capture.operator_rules.sizes import has, same
from dynamo_lite.torch_internals._torch_dispatch import _C

aten = torch.ops.aten


def attention(
    query: Operand, key: Operand, value: Operand, attn_mask: Operand | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False,
) -> Outs:  # fmt: skip
    """On (batch, heads, length, width): laid out as the query where the flash kernel for CPUs does it.

    With dropout, or a mask that requires grad, two products of matrices do it, the last of which is contiguous.
    """
    given = (query, key, value)
    if enable_gqa or any(t.dim != 4 or t.stride[3] != 1 or has(t.shape, 0) for t in given):
        return None
    if not alike(given) or query.device.type != "cpu" or not _C._get_flash_sdp_enabled():
        return None
    batch, heads, length, width = query.shape
    if key.shape != value.shape or key.shape != (batch, heads, key.shape[2], width):
        return None
    if attn_mask is not None and (is_causal or not _is_mask(attn_mask, query, (batch, heads, length, key.shape[2]))):
        return None
    if dropout_p == 0.0 and (attn_mask is None or not attn_mask.requires_grad):
        stride = like_strides(query)
        return None if stride is None else new_strided(query.shape, stride, query.dtype)
    if not 0 <= dropout_p < 1 or not _C._get_math_sdp_enabled() or not _has_numbers(*given):
        return None
    return new(query.shape, query.dtype)


def _has_numbers(*operands: Operand) -> bool:
    return all(type(size) is int for operand in operands for size in operand.shape)


def _is_mask(mask: Operand, query: Operand, sizes: tuple[int, ...]) -> bool:
    if mask.dtype not in (torch.bool, query.dtype) or mask.dim not in (2, 4):
        return False
    fits = all(has((a,), 1) or same((a,), (b,)) for a, b in zip(mask.shape, sizes[-mask.dim :]))
    return fits and same(mask.shape[-2:], sizes[-2:])


def recurrent(
    input: Operand, hx: Any, params: Sequence[Operand], has_biases: bool, num_layers: int, dropout: float,
    train: bool, bidirectional: bool, batch_first: bool,
) -> Outs:  # fmt: skip
    """aten.lstm.input, gru.input, rnn_tanh.input and rnn_relu.input on a batch: (output, last states ...)."""
    states = [hx] if isinstance(hx, Operand) else [*hx]
    if not alike((input, *states, *params)) or input.dim != 3 or any(s.dim != 3 or 0 in s.shape for s in states):
        return None
    if 0 in input.shape or len(params) != num_layers * (1 + bidirectional) * (2 + 2 * has_biases):
        return None
    batch, time = input.shape[:2] if batch_first else (input.shape[1], input.shape[0])
    features = _features(input, params, has_biases, bidirectional, len(states))
    expected = (num_layers * (1 + bidirectional), batch, features)
    if features is None or any(state.shape != expected for state in states):
        return None
    width = features * (1 + bidirectional)
    output = new((time, batch, width), input.dtype)
    if batch_first:
        output = output._replace(shape=(batch, time, width), stride=(width, batch * width, 1))
    return (output, *(new(state.shape, state.dtype) for state in states))


def _features(
    input: Operand, params: Sequence[Operand], has_biases: bool, bidirectional: bool, states: int
) -> int | None:
    """The width of a state; None where the weights do not fit to it (or project it)."""
    if params[0].dim != 2 or params[1].dim != 2:
        return None
    rows, features = params[1].shape
    expects, each = input.shape[2], 2 + 2 * has_biases
    if rows not in (features, 3 * features, 4 * features) or (states == 2) != (rows == 4 * features):
        return None
    for index in range(0, len(params), each):
        layer, _ = divmod(index // each, 1 + bidirectional)
        inputs = expects if layer == 0 else features * (1 + bidirectional)
        wanted = [(rows, inputs), (rows, features), (rows,), (rows,)][:each]
        if [p.shape for p in params[index : index + each]] != wanted:
            return None
    return features


RULES: dict[Any, Callable[..., Outs]] = {
    aten.scaled_dot_product_attention.default: attention,
    aten.lstm.input: recurrent,
    aten.gru.input: recurrent,
    aten.rnn_tanh.input: recurrent,
    aten.rnn_relu.input: recurrent,
}
