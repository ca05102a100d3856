"""Operators whose results have simple sizes, though torch's kernels decide on sizes on the way to them.

A recurrent layer is unrolled by its decomposition, which fixes the number of steps; a convolution chooses its backend by
the batch's size. Neither matters for what a program records: one node, and the metadata of its result. The rules here
say that from the sizes of the arguments, and record what eager demands of them. They are used only where a size is
a symbol (composites.py); what they do not cover is left to torch.

Sources: aten/src/ATen/native/RNN.cpp, aten/src/ATen/native/Convolution.cpp and ConvUtils.h (torch 2.13.0).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from dynamo_lite.capture import memo
from dynamo_lite.capture._torch import FakeTensor
from symbolic_shapes.relations import eq, ge
from symbolic_shapes.torch_env import TorchShapeEnv
from symbolic_shapes.view_kernel import contiguous_strides

aten = torch.ops.aten


def recurrent(
    env: TorchShapeEnv, input: torch.Tensor, hx: Any, params: Sequence[torch.Tensor], has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[torch.Tensor, ...] | None:  # fmt: skip
    """aten.lstm.input, gru.input, rnn_tanh.input, rnn_relu.input on (time, batch, features), or batch first.

    Returns (output, last state) or, for an LSTM, (output, last hidden state, last cell state).
    """
    states = [hx] if isinstance(hx, torch.Tensor) else [*hx]
    given = [input, *states, *params]
    if not _are_plain(given) or input.dim() != 3 or any(state.dim() != 3 for state in states):
        return None
    batch, time = (input.shape[0], input.shape[1]) if batch_first else (input.shape[1], input.shape[0])
    demands = [ge(env.unwrap(time), 1)]
    demands += [eq(env.unwrap(state.shape[1]), env.unwrap(batch)) for state in states]
    if not all(env.expect_true(demand) for demand in demands):
        return None
    features = states[0].shape[2] * (2 if bidirectional else 1)
    output = _new([time, batch, features], input, given)
    if batch_first:
        output = output.transpose(0, 1)
    return (output, *(_new(state.shape, state, given) for state in states))


def convolution(
    env: TorchShapeEnv, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, stride: Any = 1,
    padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> torch.Tensor | None:  # fmt: skip
    """aten.conv1d, conv2d and conv3d (default overloads) on a batch in the contiguous format."""
    given = [t for t in (input, weight, bias) if t is not None]
    space = weight.dim() - 2
    if not _are_plain(given) or input.dim() != weight.dim() or not all(_is_contiguous(env, t) for t in (input, weight)):
        return None
    if isinstance(padding, str):
        return None
    strides, pads, dilations = (_spread(value, space) for value in (stride, padding, dilation))
    if None in (strides, pads, dilations):
        return None
    sizes = [input.shape[0], weight.shape[0]]
    demands = [eq(env.unwrap(input.shape[1]), env.unwrap(weight.shape[1]) * groups)]
    for size, kernel, step, pad, spread in zip(input.shape[2:], weight.shape[2:], strides, pads, dilations):  # type: ignore[arg-type]
        room = size + 2 * pad - (spread * (kernel - 1) + 1)
        demands.append(ge(env.unwrap(room), 0))
        sizes.append(room // step + 1)
    if not all(env.expect_true(demand) for demand in demands):
        return None
    return _new(sizes, input, given)


def _spread(value: Any, count: int) -> list[int] | None:
    values = [value] if isinstance(value, int) else [*value]
    if not all(type(v) is int for v in values) or len(values) not in (1, count):
        return None
    return values * count if len(values) == 1 else values


def _are_plain(tensors: Sequence[Any]) -> bool:
    """FakeTensors of one floating-point dtype on one device, strided; no autocast, which would change the dtype."""
    first = tensors[0]
    return not (torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")) and all(
        type(t) is FakeTensor
        and t.layout is torch.strided
        and t.dtype is first.dtype
        and t.dtype.is_floating_point
        and t.device == first.device
        for t in tensors
    )


def _is_contiguous(env: TorchShapeEnv, tensor: torch.Tensor) -> bool:
    sizes = [env.node_of(size).current() for size in tensor.shape]
    return [env.node_of(stride).current() for stride in tensor.stride()] == contiguous_strides(sizes)


def _new(sizes: Sequence[Any], like: torch.Tensor, given: Sequence[torch.Tensor]) -> torch.Tensor:
    """A contiguous result that depends on `given`."""
    made = aten.empty.memory_format(sizes, dtype=like.dtype, device=like.device)
    learns = torch.is_grad_enabled() and any(t.requires_grad for t in given)
    return memo.with_history(made, learns, given, None, False)
