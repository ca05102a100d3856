"""Sorts whose order data decide: tensors, numbers, pairs, in place, with a key and in reverse."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import MIX, NEG, POS, call, program

_ROWS = torch.tensor([[3.0, -2.0], [1.0, 0.5], [2.0, 2.0]])
_ALL = (call(MIX), call(_ROWS), call(POS), call(NEG))


@program(*_ALL)
class sorted_by_a_key(nn.Module):
    def forward(self, x):
        a, b, c = sorted([x[0], x[1], x[2]], key=lambda row: row.sum())
        return a - b * 2 + c * 3


@program(*_ALL)
class sorted_is_stable_in_reverse(nn.Module):
    """In POS all keys are equal: the order is the first one."""

    def forward(self, x):
        rows = sorted(zip(x.unbind(0), (1, 2, 3)), key=lambda pair: pair[0].sum(), reverse=True)
        return torch.stack([row * number for row, number in rows])


@program(*_ALL)
class sorted_numbers_of_data(nn.Module):
    def forward(self, x):
        low, *_, high = sorted([x[0, 0].item(), x[1, 0].item(), 0.5, x[2, 1].item()])
        return x * low + high


@program(*_ALL)
class pairs_sorted_in_place(nn.Module):
    def forward(self, x):
        scored = [(row.sum().item(), index) for index, row in enumerate(x)]
        scored.sort(reverse=True)
        best, second = scored[0][1], scored[1][1]
        return x[best] - x[second]


@program(*_ALL)
class positions_sorted_by_their_scores(nn.Module):
    def forward(self, x):
        scores = [row.sum().item() for row in x]
        order = sorted(range(3), key=lambda index: scores[index])
        return torch.stack([x[index] for index in order])


@program(*_ALL)
class sorted_of_constants_and_of_data_at_one_call(nn.Module):
    """The first sort compares no data."""

    def forward(self, x):
        total = x * 0
        for values in ([3.0, 1.0, 2.0], [x.max().item(), x.min().item(), 0.0]):
            low, middle, _ = sorted(values)
            total = total + low * 2 + middle
        return total


@program(*_ALL)
class beams_by_score(nn.Module):
    def forward(self, x):
        beams = [(x[0], x[0].sum())]
        for _ in range(2):
            grown = []
            for state, score in beams:
                for row in (x[1], x[2]):
                    new = torch.tanh(state + row)
                    grown.append((new, score + new.sum()))
            beams = sorted(grown, key=lambda beam: beam[1], reverse=True)[:2]
        return beams[0][0], beams[0][1]
