"""Rules of torch's FakeTensorMode for operators on packed sequences, for where torch runs a graph of the program again.

That is so in `run_decompositions()`, and for the functions of control-flow operators. FakeTensorMode has a rule for
`_pack_padded_sequence` that returns the padded number of steps, and batch sizes in floats (torch 2.13, fake_impls.py);
the others it decomposes, which reads the batch sizes: data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import fx

from dynamo_lite.torch_internals._torch_operators import fake_rules

aten = torch.ops.aten
PAD = aten._pad_packed_sequence.default
PACK = aten._pack_padded_sequence.default
RECURRENT = frozenset({aten.lstm.data, aten.gru.data, aten.rnn_tanh.data, aten.rnn_relu.data})
_BATCH = "_dynamo_lite_packed_batch"
"""The attribute of a fake tensor of batch sizes that has the size of the padded batch."""


def among(graph: fx.Graph) -> Any:
    """The first of these operators in a graph; None if it has none."""
    return next((node.target for node in graph.nodes if node.target in _RULES), None)


def known_sizes() -> AbstractContextManager[None]:
    """A context in which FakeTensorMode knows what the operators return."""
    return fake_rules(_RULES)


def _pack(mode: Any, op: Any, sequences: Any, lengths: Any, batch_first: bool) -> Any:
    rows, longest = mode.shape_env.create_unbacked_symint(), mode.shape_env.create_unbacked_symint()
    for size in (rows, longest):
        torch._check(size >= 1)
    with mode:
        batch_sizes = torch.empty((longest,), dtype=torch.int64)
        vars(batch_sizes)[_BATCH] = sequences.shape[0 if batch_first else 1]
        return sequences.new_empty((rows, *sequences.shape[2:])), batch_sizes


def _pad(mode: Any, op: Any, data: Any, batch_sizes: Any, batch_first: bool, value: float, total_length: int) -> Any:
    batch = vars(batch_sizes).get(_BATCH)
    if batch is None:
        batch = mode.shape_env.create_unbacked_symint()
        torch._check(batch >= 1)
    length = total_length if total_length > 0 else batch_sizes.shape[0]
    with mode:
        padded = data.new_empty((length, batch, *data.shape[1:]))
        lengths = torch.empty((batch,), dtype=torch.int64)
        return (padded.transpose(0, 1) if batch_first else padded), lengths


def _recurrent(
    mode: Any, op: Any, data: Any, batch_sizes: Any, hx: Any, params: Sequence[Any], has_biases: bool,
    num_layers: int, dropout: float, train: bool, bidirectional: bool,
) -> Any:  # fmt: skip
    states = [hx] if isinstance(hx, torch.Tensor) else [*hx]
    features = states[0].shape[2] * (2 if bidirectional else 1)
    with mode:
        return (data.new_empty((data.shape[0], features)), *(state.new_empty(state.shape) for state in states))


_RULES: dict[Any, Callable[..., Any]] = {
    PACK: _pack,
    PAD: _pad,
    **dict.fromkeys(RECURRENT, _recurrent),
}
