"""Recurrent layers on packed sequences whose lengths are inputs: values, states and gradients are eager's."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import dynamo_lite

LENGTHS = ([5, 3, 1], [5, 5, 5, 5], [2], [1], [7, 1], [4, 4, 1, 1, 1])
"""Sorted, as enforce_sorted=True demands it."""


class Encoder(nn.Module):
    """(padded output, lengths, last states) of a layer on a packed sequence."""

    def __init__(self, layer: type[nn.Module], *, batch_first: bool, is_sorted: bool, **options: Any) -> None:
        super().__init__()
        self.layer = layer(3, 4, batch_first=batch_first, **options)
        self.batch_first, self.is_sorted = batch_first, is_sorted

    def forward(self, x: Tensor, lengths: Tensor) -> Any:
        packed = pack_padded_sequence(x, lengths, batch_first=self.batch_first, enforce_sorted=self.is_sorted)
        output, state = self.layer(packed)
        padded, sizes = pad_packed_sequence(output, batch_first=self.batch_first, padding_value=-1.0)
        return padded, sizes, state


def sample(lengths: Sequence[int], batch_first: bool, more: int = 2) -> tuple[Tensor, Tensor]:
    """A padded batch that is `more` steps longer than its longest sequence, and the lengths."""
    time = max(lengths) + more
    size = (len(lengths), time, 3) if batch_first else (time, len(lengths), 3)
    return torch.randn(size), torch.tensor(lengths)


def shapes(batch_first: bool) -> dict[str, Any]:
    batch, time = Dim("batch"), Dim("time")
    return {"x": {0: batch, 1: time} if batch_first else {0: time, 1: batch}, "lengths": {0: batch}}


def outcome(run: Any, module: nn.Module, args: Sequence[Tensor]) -> Any:
    """Results, and the gradients of the first input and of each parameter."""
    module.zero_grad()
    x = args[0].clone().requires_grad_()
    results = run(x, *args[1:])
    leaves = [leaf for leaf in torch.utils._pytree.tree_leaves(results) if leaf.is_floating_point()]
    sum((leaf * leaf).sum() for leaf in leaves).backward()
    return results, x.grad, {name: p.grad.clone() for name, p in module.named_parameters()}


OPTIONS: dict[str, tuple[type[nn.Module], dict[str, Any]]] = {
    "lstm": (nn.LSTM, {}),
    "lstm of two layers in both directions": (nn.LSTM, {"num_layers": 2, "bidirectional": True}),
    "lstm with projections": (nn.LSTM, {"proj_size": 2, "num_layers": 2}),
    "lstm with projections in both directions": (nn.LSTM, {"proj_size": 2, "bidirectional": True}),
    "lstm without biases": (nn.LSTM, {"bias": False}),
    "gru": (nn.GRU, {}),
    "gru of two layers in both directions": (nn.GRU, {"num_layers": 2, "bidirectional": True}),
    "rnn": (nn.RNN, {}),
    "rnn of two layers with relu": (nn.RNN, {"num_layers": 2, "nonlinearity": "relu", "bidirectional": True}),
}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("batch_first", [True, False], ids=["batch first", "time first"])
@pytest.mark.parametrize("is_sorted", [True, False], ids=["sorted", "unsorted"])
def test_a_layer_equals_eager_at_all_lengths(option: str, batch_first: bool, is_sorted: bool) -> None:
    layer, options = OPTIONS[option]
    module = Encoder(layer, batch_first=batch_first, is_sorted=is_sorted, **options)
    program = dynamo_lite.export(module, sample([4, 2, 1], batch_first), dynamic_shapes=shapes(batch_first))
    runs = program.module()
    for lengths in LENGTHS if is_sorted else (*LENGTHS, [1, 4, 2], [3, 5], [1, 1, 6, 1, 6]):
        args = sample(lengths, batch_first)
        expected = outcome(module, module, args)
        results, grad, grads = outcome(runs, runs, args)
        torch.testing.assert_close(results, expected[0])
        torch.testing.assert_close(grad, expected[1])
        torch.testing.assert_close({name.removeprefix("_"): g for name, g in grads.items()}, expected[2])
        for one, other in zip(torch.utils._pytree.tree_leaves(results), torch.utils._pytree.tree_leaves(expected[0])):
            assert (one.stride(), one.requires_grad) == (other.stride(), other.requires_grad)


@pytest.mark.parametrize("option", OPTIONS)
def test_a_saved_and_a_decomposed_program_equal_eager(option: str) -> None:
    layer, options = OPTIONS[option]
    module = Encoder(layer, batch_first=True, is_sorted=False, **options)
    program = dynamo_lite.export(module, sample([2, 4, 1], True), dynamic_shapes=shapes(True))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    for runs in (torch.export.load(file).module(), program.run_decompositions().module()):
        for lengths in LENGTHS:
            args = sample(lengths, True)
            torch.testing.assert_close(runs(*args), module(*args))
