"""Packed sequences: `_pack_padded_sequence`, `_pad_packed_sequence`, and recurrent layers between them.

A packed sequence is (data, batch_sizes): the rows of all sequences, step by step, and how many sequences a step has.
Both are made of lengths, which are data of a tensor: only run time knows how many rows there are (the sum of lengths)
and how many steps (the longest length). torch's kernels read the batch sizes in C++, and its decompositions read them
in Python, so neither has a result without data. The metadata of the results follows from the arguments alone:

- the layer's output has a row for each row of `data`, its last states the sizes of its first ones;
- the first step has all sequences, for `_pack_padded_sequence` raises if a length is 0: `batch_sizes[0]` is the size of
  the padded batch.

Sources: PackedSequence.cpp and RNN.cpp in aten/src/ATen/native (torch 2.13.0).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture._torch import OpOverload
from dynamo_lite.capture.fakes.packed_sequences import PACK, PAD
from dynamo_lite.capture.interfaces import OperatorRecording
from dynamo_lite.capture.kernels import shape_rules
from dynamo_lite.symbolic_shapes.expressions.relations import eq
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv

aten = torch.ops.aten
_BATCH = "_dynamo_lite_padded_batch"
"""The attribute of a fake tensor of batch sizes that has the size of the padded batch, for the rule `pad`."""


def pack(
    env: TorchShapeEnv, sequences: torch.Tensor, lengths: torch.Tensor, batch_first: bool
) -> tuple[torch.Tensor, torch.Tensor] | None:
    """(the steps of all sequences one after the other, the number of sequences in each step), by the lengths.

    torch's own rule (2.13, fake_impls.py) returns the padded number of steps, and batch sizes in floats.
    """
    if sequences.dim() < 2:
        return None
    steps, longest = env.create_unbacked_symint(), env.create_unbacked_symint()
    for size in (steps, longest):
        env._constrain_range_for_size(size.node.expr, 1)
    if lengths.dim() == 1:
        batch = sequences.shape[0 if batch_first else 1]
        env.demand(eq(env.unwrap(lengths.shape[0]), env.unwrap(batch)))
    packed = shape_rules.new_result([steps, *sequences.shape[2:]], sequences, [sequences])
    return packed, torch.empty((longest,), dtype=torch.int64)


def pad(
    env: TorchShapeEnv,
    data: torch.Tensor,
    batch_sizes: torch.Tensor,
    batch_first: bool,
    padding_value: float,
    total_length: int,
) -> tuple[torch.Tensor, torch.Tensor] | None:
    """(the padded sequences, the length of each): (batch, total_length, ...) batch first, as a transposed tensor."""
    batch = vars(batch_sizes).pop(_BATCH, None)
    if batch is None or data.dim() < 1:
        return None
    length = total_length if total_length > 0 else batch_sizes.shape[0]
    padded = shape_rules.new_result([length, batch, *data.shape[1:]], data, [data])
    return (padded.transpose(0, 1) if batch_first else padded), torch.empty((batch,), dtype=torch.int64)


def recurrent(
    env: TorchShapeEnv, data: torch.Tensor, batch_sizes: torch.Tensor, hx: Any, params: Sequence[torch.Tensor],
    has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool,
) -> tuple[torch.Tensor, ...] | None:  # fmt: skip
    """aten.lstm.data, gru.data, rnn_tanh.data, rnn_relu.data on (rows, features).

    Returns (output, last state) or, for an LSTM, (output, last hidden state, last cell state).
    """
    states = [hx] if isinstance(hx, torch.Tensor) else [*hx]
    given = [data, *states, *params]
    if not shape_rules.are_plain(given) or data.dim() != 2 or any(state.dim() != 3 for state in states):
        return None
    features = states[0].shape[2] * (2 if bidirectional else 1)
    output = shape_rules.new_result([data.shape[0], features], data, given)
    return (output, *(shape_rules.new_result(state.shape, state, given) for state in states))


def pad_packed_sequence(
    recorder: OperatorRecording,
    data: torch.Tensor,
    batch_sizes: torch.Tensor,
    batch_first: bool,
    padding_value: float,
    total_length: Any,
) -> Any:
    """torch._VF._pad_packed_sequence, whose operator takes no symbol for `total_length`.

    The operator is recorded with 0, which means the longest sequence; a longer result is padded behind.
    """
    _give_batch(recorder, batch_sizes)
    args = (data, batch_sizes)
    if type(total_length) is not torch.SymInt:
        return recorder.operator(PAD, (*args, batch_first, padding_value, total_length), {})
    if _is_longest(batch_sizes, total_length):
        return recorder.operator(PAD, (*args, batch_first, padding_value, 0), {})
    longest = batch_sizes.shape[0]
    torch._check(total_length >= longest)
    padded, lengths = recorder.operator(PAD, (*args, False, padding_value, 0), {})
    behind: list[Any] = [0, 0] * (padded.dim() - 1) + [0, total_length - longest]
    padded = torch.constant_pad_nd(padded, behind, padding_value)
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def _give_batch(recorder: OperatorRecording, batch_sizes: torch.Tensor) -> None:
    """Tells the rule `pad` how many sequences there are. Where the program has not packed them itself, that is the
    first of the batch sizes."""
    batch = first_of(recorder.level.nodes.get(batch_sizes))
    vars(recorder.fake(batch_sizes))[_BATCH] = batch_sizes[0].item() if batch is None else batch


def _is_longest(batch_sizes: torch.Tensor, length: Any) -> bool:
    """Whether that many steps are the steps that the packed sequence has."""
    same = batch_sizes.shape[0] == length
    return same is True or (type(same) is torch.SymBool and same.node.shape_env.decide_node(same.node) is True)


def first_of(batch_sizes: fx.Node | None) -> Any:
    """The first of batch sizes that `_pack_padded_sequence` has made, and the program has not changed; or None."""
    if batch_sizes is None or batch_sizes.target is not operator.getitem or batch_sizes.args[1] != 1:
        return None
    pack = batch_sizes.args[0]
    if not isinstance(pack, fx.Node) or pack.target is not PACK:
        return None
    if any(_may_be_written(user) for user in batch_sizes.users):
        return None
    padded, _, batch_first = pack.args
    assert isinstance(padded, fx.Node)
    return padded.meta["val"].shape[0 if batch_first else 1]


def _may_be_written(user: fx.Node) -> bool:
    """Whether an operator may write to batch sizes, or shows them to one that may."""
    if user.target is aten.select.int:  # `batch_sizes[0]`
        return any(map(_shows, user.users))
    return _shows(user)


def _shows(user: fx.Node) -> bool:
    if not isinstance(user.target, OpOverload):
        return True
    return any(argument.alias_info is not None for argument in user.target._schema.arguments)
