"""Programs around packed sequences, with eager as the oracle: at all lengths, decomposed, and where eager raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional
from torch.nn.utils.rnn import (
    PackedSequence,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    unpack_sequence,
)

import dynamo_lite
from dynamo_lite.errors import DynamoLiteError
from tests.features.packed_sequences.test_layers import sample, shapes

Forward = Callable[["Model", Tensor, Tensor], Any]
LENGTHS = ([2, 5, 3], [1], [4], [1, 1], [3, 1, 6, 6])


class Model(nn.Module):
    def __init__(self, forward: Forward) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 4, batch_first=True)
        self.second = nn.GRU(4, 4, batch_first=True)
        self.head = nn.Linear(4, 2)
        self.first = nn.Parameter(torch.randn(1, 1, 4))
        self.program = forward

    def forward(self, x: Tensor, lengths: Tensor) -> Any:
        return self.program(self, x, lengths)


def packed(x: Tensor, lengths: Tensor) -> PackedSequence:
    return pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)


def classifier(self: Model, x: Tensor, lengths: Tensor) -> Any:
    return self.head(self.lstm(packed(x, lengths))[1][0][-1])


def as_long_as_the_input(self: Model, x: Tensor, lengths: Tensor) -> Any:
    y, _ = pad_packed_sequence(self.lstm(packed(x, lengths))[0], True, total_length=x.shape[1])
    return y + x.sum(-1, keepdim=True)


def longer_than_the_input(self: Model, x: Tensor, lengths: Tensor) -> Any:
    return pad_packed_sequence(self.lstm(packed(x, lengths))[0], False, -1e9, total_length=x.shape[1] + 2)


def masked_mean(self: Model, x: Tensor, lengths: Tensor) -> Any:
    y, sizes = pad_packed_sequence(self.lstm(packed(x, lengths))[0], batch_first=True)
    within = torch.arange(y.shape[1]) < sizes[:, None]
    return (y * within[..., None]).sum(1) / sizes[:, None]


def last_output(self: Model, x: Tensor, lengths: Tensor) -> Any:
    y, sizes = pad_packed_sequence(self.lstm(packed(x, lengths))[0], batch_first=True)
    return y[torch.arange(y.shape[0]), sizes - 1]


def attributes(self: Model, x: Tensor, lengths: Tensor) -> Any:
    y, _ = self.lstm(packed(x, lengths))
    return self.head(y.data), y.batch_sizes, y.sorted_indices, y.unsorted_indices


def changed_between_layers(self: Model, x: Tensor, lengths: Tensor) -> Any:
    y, _ = self.lstm(packed(x, lengths))
    y = PackedSequence(functional.relu(y.data), y.batch_sizes, y.sorted_indices, y.unsorted_indices)
    return pad_packed_sequence(self.second(y)[0], batch_first=True)


def first_state(self: Model, x: Tensor, lengths: Tensor) -> Any:
    h = self.first.expand(-1, x.shape[0], -1).contiguous()
    return self.lstm(packed(x, lengths), (h, torch.zeros_like(h)))[1]


def sorted_by_hand(self: Model, x: Tensor, lengths: Tensor) -> Any:
    sizes, order = lengths.sort(descending=True)
    y, (h, _) = self.lstm(pack_padded_sequence(x[order], sizes, batch_first=True))
    back = order.argsort()
    return pad_packed_sequence(y, batch_first=True)[0][back], h[:, back]


def lengths_of_a_mask(self: Model, x: Tensor, lengths: Tensor) -> Any:
    mask = torch.arange(x.shape[1]) < lengths[:, None]
    return self.lstm(packed(x, mask.sum(1).cpu()))[1]


def encoder_without_gradients(self: Model, x: Tensor, lengths: Tensor) -> Any:
    with torch.no_grad():
        y, _ = pad_packed_sequence(self.lstm(packed(x, lengths))[0], batch_first=True)
    return self.head(y)


def attention_over_the_encoder(self: Model, x: Tensor, lengths: Tensor) -> Any:
    y, (h, _) = self.lstm(packed(x, lengths))
    y, _ = pad_packed_sequence(y, batch_first=True)
    decoded, _ = self.second(x.new_zeros(x.shape[0], 3, 4), h)
    return torch.softmax(decoded @ y.transpose(1, 2), -1) @ y


def loss_of_the_rows(self: Model, x: Tensor, lengths: Tensor) -> Any:
    y, _ = self.lstm(packed(x, lengths))
    return functional.cross_entropy(self.head(y.data), packed((x[..., 0] > 0).long(), lengths).data)


def returned_packed(self: Model, x: Tensor, lengths: Tensor) -> Any:
    return self.lstm(packed(x, lengths))[0]


def branch_on_the_state(self: Model, x: Tensor, lengths: Tensor) -> Any:
    h = self.lstm(packed(x, lengths))[1][0]
    if h.sum() > 0:
        return h * 2
    return h - 1


def batch_sizes_written(self: Model, x: Tensor, lengths: Tensor) -> Any:
    p = packed(x, lengths)
    before = p.batch_sizes[0].item()
    p.batch_sizes.add_(2)
    return torch.zeros(before), torch.ones(int(p.batch_sizes[0]))


PROGRAMS: tuple[Forward, ...] = (
    *(classifier, as_long_as_the_input, longer_than_the_input, masked_mean, last_output, attributes),
    *(changed_between_layers, first_state, sorted_by_hand, lengths_of_a_mask, encoder_without_gradients),
    *(attention_over_the_encoder, loss_of_the_rows, returned_packed, branch_on_the_state, batch_sizes_written),
)


@pytest.mark.parametrize("forward", PROGRAMS, ids=lambda forward: forward.__name__)
def test_a_program_equals_eager_at_all_lengths(forward: Forward) -> None:
    model = Model(forward)
    program = dynamo_lite.export(model, sample([3, 4, 1], True), dynamic_shapes=shapes(True))
    for runs in (program.module(), program.run_decompositions().module()):
        for lengths in LENGTHS:
            args = sample(lengths, True)
            torch.testing.assert_close(runs(*args), model(*args))


@pytest.mark.parametrize("forward", [classifier, as_long_as_the_input, unpack_sequence], ids=lambda f: f.__name__)
def test_a_program_of_one_size_equals_eager(forward: Any) -> None:
    unpacked: Forward = lambda self, x, lengths: unpack_sequence(self.lstm(packed(x, lengths))[0])  # noqa: E731
    model = Model(unpacked if forward is unpack_sequence else forward)
    x = torch.randn(3, 5, 3)
    runs = dynamo_lite.export(model, (x, torch.tensor([2, 4, 1]))).module()
    for lengths in (torch.tensor([5, 1, 3]), torch.tensor([1, 1, 1])):
        torch.testing.assert_close(runs(x + 1, lengths), model(x + 1, lengths))


@pytest.mark.parametrize(
    ("forward", "lengths"),
    [
        (classifier, [2, 0, 1]),
        (classifier, [2, -1, 1]),
        (classifier, [2, 9, 1]),
        (as_long_as_the_input, [2, 9, 1]),
        (lambda self, x, n: self.lstm(pack_padded_sequence(x, n, batch_first=True))[1], [1, 3, 2]),
        (lambda self, x, n: pad_packed_sequence(packed(x, n), total_length=3)[0], [4, 3, 2]),
    ],
    ids=["empty", "negative", "too long", "too long for total_length", "not sorted", "total_length too short"],
)
def test_lengths_that_eager_rejects_are_rejected(forward: Forward, lengths: list[int]) -> None:
    model, x = Model(forward), torch.randn(3, 5, 3)
    runs = dynamo_lite.export(model, (x, torch.tensor([3, 3, 1])), dynamic_shapes=shapes(True)).module()
    for called in (model, runs):
        with pytest.raises((RuntimeError, ValueError)):
            called(x, torch.tensor(lengths))


def test_a_packed_sequence_of_a_list_of_tensors() -> None:
    class Packs(Model):
        def forward(self, *parts: Tensor) -> Any:  # type: ignore[override]
            y, h = self.lstm(pack_sequence([*parts], enforce_sorted=False))
            return pad_packed_sequence(y, batch_first=True), h

    model, lengths = Packs(classifier), [Dim("one", min=1), Dim("two", min=1), Dim("three", min=1)]
    given = tuple(torch.randn(n, 3) for n in (4, 2, 5))
    runs = dynamo_lite.export(model, given, dynamic_shapes={"parts": tuple({0: n} for n in lengths)}).module()
    for sizes in ((4, 2, 5), (1, 1, 1), (3, 7, 7)):
        args = tuple(torch.randn(n, 3) for n in sizes)
        torch.testing.assert_close(runs(*args), model(*args))


def test_a_packed_sequence_is_an_input() -> None:
    class Takes(Model):
        def forward(self, x: PackedSequence) -> Any:  # type: ignore[override]
            y, (h, _) = self.lstm(x)
            return pad_packed_sequence(y, batch_first=True)[0], h

    model, given = Takes(classifier), packed(*sample([3, 4, 1], True))
    runs = dynamo_lite.export(model, (given,), dynamic_shapes={"x": [{0: Dim.AUTO}] * len(given)}).module()
    for lengths in ([2, 5, 3], [1, 2, 2, 2]):
        args = packed(*sample(lengths, True))
        torch.testing.assert_close(runs(args), model(args))


class Branches(Model):
    def forward(self, x: Tensor, lengths: Tensor) -> Any:
        if x.sum() > 0:
            return self.second(packed(self.head.weight[0, :1] * x, lengths))[1]
        return self.second(x)[1]


def test_a_layer_in_a_branch() -> None:
    """Where a gradient flows, torch.cond runs the branch without data in each call, which no kernel can."""
    model, args = Branches(classifier), (torch.randn(3, 5, 4), torch.tensor([5, 2, 3]))
    with pytest.raises(DynamoLiteError, match=r"has aten\._pack_padded_sequence\.default of a packed sequence"):
        dynamo_lite.export(model, args)
    with torch.no_grad():
        runs = dynamo_lite.export(model, args).module()
        for x in (args[0].abs(), -args[0].abs()):
            torch.testing.assert_close(runs(x, args[1]), model(x, args[1]))
