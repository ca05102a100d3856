# ruff: noqa: B007  (written as people write it)
"""Loops over what the program knows, which data end: `for _ in range(50): ... break`; loops left by `return`."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import SIGNS, call, program

SCALES = tuple(
    call(torch.tensor([1.5, -0.3, 0.6, -0.2]).roll(shift) * scale)
    for shift, scale in enumerate((1.0, 0.01, 5.0, -0.5, -30.0, 30.0))
)
IDS = tuple(call(torch.tensor(row)) for row in ([1, 2, 0, 5] * 4, [1, 3, 2] * 5 + [1], [3] * 16, [0] * 15 + [3]))


@program(*SCALES)
class counted_break(nn.Module):
    def forward(self, x):
        for _ in range(50):
            y = x * 0.7
            err = (y - x).abs().max()
            x = y
            if err < 1e-2:
                break
        return x, err


@program(*SCALES)
class counted_else(nn.Module):
    def forward(self, x):
        for i in range(12):
            x = x * 0.7
            if x.abs().max() < 1e-1:
                break
        else:
            x = x + 100
        return x, i


@program(*SCALES)
class counted_return(nn.Module):
    def forward(self, x):
        for i in range(12):
            x = x * 0.7
            if x.abs().max() < 1e-1:
                return x * 2, i
        return x - 1, -1


@program(*SCALES)
class counted_exits(nn.Module):
    def forward(self, x):
        n = 0
        for i in range(30):
            x = x * 0.7
            if x.sum() > 20:
                return x - 7
            if x.abs().max() < 1e-2:
                break
            if x.min() > 0:
                continue
            n += 1
        else:
            return x + 5
        return x * n


@program(*SCALES)
class counted_nested(nn.Module):
    def forward(self, x):
        total = x * 0
        for i in range(12):
            y = x * i
            for j in range(15):
                y = y * 0.5 + 0.1
                if y.abs().max() < 0.5:
                    break
            total = total + y
            if total.sum() > 9:
                return total
        return total - 1


@program(*SCALES)
class counted_return_from_two(nn.Module):
    def forward(self, x):
        for i in range(11):
            for j in range(12):
                x = x * 0.95
                if x.abs().max() < 0.1:
                    return x, i, j
        return x, 0, 0


@program(*SCALES)
class counted_constants(nn.Module):
    def forward(self, x):
        for rate in (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05):
            y = x * rate
            if y.abs().max() < 1:
                break
        return y, rate


@program(*SCALES)
class counted_list(nn.Module):
    def __init__(self):
        super().__init__()
        self.shifts = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]

    def forward(self, x):
        for shift in self.shifts:
            x = x.abs() * 0.5 - shift
            if x.sum() < -20:
                break
        return x, shift


@program(*SCALES)
class counted_list_that_changes(nn.Module):
    def forward(self, x):
        todo = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
        for k in todo:
            x = x * 0.9 + k
            if len(todo) > 3:
                todo.pop()
            if x.sum() > 30:
                break
        return x


@program(*SCALES)
class counted_every_fifth(nn.Module):
    def forward(self, x):
        for i in range(40):
            x = x * 0.9
            if i % 5 == 0 and x.abs().max() < 0.1:
                break
        return x


@program(*SCALES)
class counted_from_the_seventh(nn.Module):
    def forward(self, x):
        for i in range(40):
            x = x * 0.9
            if i > 5 and x.abs().max() < 0.1:
                break
        return x


@program(*SCALES)
class counted_in_place(nn.Module):
    def forward(self, x):
        x = x.clone()
        seen = torch.zeros(40)
        for i in range(40):
            x.mul_(0.9)
            seen[i] = x.sum()
            if x.abs().max() < 0.1:
                break
        return x, seen


@program(*SCALES)
class counted_backwards(nn.Module):
    def forward(self, x):
        for i in range(40, 3, -3):
            x = x * 0.9 + i
            if x.sum() > 70:
                break
        return x, i


@program(*SCALES)
class counted_in_with(nn.Module):
    def forward(self, x):
        for i in range(20):
            with torch.no_grad():
                x = x * 0.8
                if x.abs().max() < 0.1:
                    break
        return x


@program(*SCALES)
class counted_finally(nn.Module):
    def forward(self, x):
        n = 0
        for i in range(20):
            try:
                x = x * 0.8
                if x.abs().max() < 0.1:
                    break
            finally:
                n = n + 1
        return x, n


@program(*SCALES)
class counted_python_list(nn.Module):
    """Python needs the number: unrolled."""

    def __init__(self):
        super().__init__()
        self.names = {i: float(i) for i in range(12)}

    def forward(self, x):
        for i in range(12):
            x = x * 0.8 + self.names[i]
            if x.sum() > 30:
                break
        return x


@program(*SCALES)
class counted_trained(nn.Module):
    """Its gradient is needed: unrolled."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.8))

    def forward(self, x):
        for i in range(12):
            x = x * self.scale
            if x.abs().max() < 0.1:
                break
        return x


@program(*IDS)
class counted_rows(nn.Module):
    def forward(self, ids):
        n = torch.zeros((), dtype=torch.int64)
        for token in ids:
            if token == 3:
                break
            n = n + token
        return n


@program(*SCALES)
class while_return_or_end(nn.Module):
    def forward(self, x):
        while x.abs().max() > 0.1:
            x = x * 0.7
            if x.sum() < -3:
                return x + 2
        return x


@program(*SCALES)
class while_else(nn.Module):
    def forward(self, x):
        n = 0
        while x.abs().max() > 0.1:
            x = x * 0.7
            n += 1
            if x.sum() < -1:
                break
        else:
            n = n + 100
        return x, n


@program(
    call(torch.ones(3), torch.tensor(3), torch.arange(8.0)),
    call(torch.ones(3) * 100, torch.tensor(3), torch.arange(8.0)),
    call(torch.ones(3), torch.tensor(0), torch.arange(8.0)),
)
class rate_of_a_round(nn.Module):
    def forward(self, x, n, rates):
        for i in range(n.item()):
            x = x * (rates[i].item() + 0.5)
            if x.max() > 30:
                break
        return x


@program(
    *[call(torch.randn(n, 3, generator=torch.Generator().manual_seed(n))) for n in (5, 2, 9, 20)],
    kw={"dynamic_shapes": ({0: torch.export.Dim("n", min=1, max=50)},)},
)
class list_left_from_some_round_on(nn.Module):
    """It was a scan of all iterations: the first iteration, at which it was decided, does not ask."""

    def forward(self, x):
        h, outs = torch.zeros(3), []
        for t in range(x.shape[0]):
            h = torch.tanh(x[t] + h)
            outs.append(h)
            if t > 2 and h.sum() > 0:
                break
        return torch.stack(outs)


@program(*SIGNS)
class elements_written_in_a_loop_of_any_length(nn.Module):
    def forward(self, x):
        k = int((x > 0).sum())
        y = torch.zeros(k)
        for i in range(k):
            y[i] = i * 2
        return y
