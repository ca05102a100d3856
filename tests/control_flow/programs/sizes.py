"""Loops over sizes that stay dynamic, and lists that grow by a tensor in each iteration."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import MIX, NEG, POS, call, program

TIME = {"dynamic_shapes": {"x": {0: torch.export.Dim.DYNAMIC}}}
LENGTHS = tuple(call(torch.randn(n, 2, 3, generator=torch.Generator().manual_seed(n))) for n in (5, 1, 8, 2))
"""(time, batch, features)"""
EMPTY = call(torch.zeros(0, 2, 3))


class _Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 4)


@program(*LENGTHS, EMPTY, kw=TIME, no_grad=True)
class gru_over_range(_Cell):
    def forward(self, x):
        h = x.new_zeros(x.shape[1], 4)
        for t in range(x.shape[0]):
            h = self.cell(x[t], h)
        return h


@program(*LENGTHS, kw=TIME)
class gru_over_range_with_gradient(_Cell):
    def forward(self, x):
        h = x.new_zeros(x.shape[1], 4)
        for t in range(x.shape[0]):
            h = self.cell(x[t], h)
        return h


@program(*LENGTHS, EMPTY, kw=TIME, no_grad=True)
class gru_over_rows(_Cell):
    def forward(self, x):
        h = x.new_zeros(x.shape[1], 4)
        for row in x:
            h = self.cell(row, h)
        return h


@program(*LENGTHS, EMPTY, kw=TIME, no_grad=True)
class gru_over_unbind_enumerated(_Cell):
    def forward(self, x):
        h = x.new_zeros(x.shape[1], 4)
        for t, row in enumerate(x.unbind(0), start=1):
            h = self.cell(row, h) / t
        return h


@program(*LENGTHS, EMPTY, kw=TIME, no_grad=True)
class zip_of_rows(nn.Module):
    def forward(self, x):
        total = x.new_zeros(())
        for a, b in zip(x, x * 2):
            total = total * 0.5 + (a * b).sum()
        for i, b in zip(range(x.size(0)), x):
            total = total + i * b.sum()
        return total


@program(*LENGTHS, EMPTY, kw=TIME, no_grad=True)
class backwards_and_in_steps(_Cell):
    def forward(self, x):
        h = x.new_zeros(x.shape[1], 4)
        for t in reversed(range(x.size(0))):
            h = self.cell(x[t], h)
        for t in range(x.size(0) - 1, -1, -1):
            h = self.cell(x[t], h)
        for t in range(1, len(x), 2):
            h = self.cell(x[t] - x[t - 1], h)
        return h


@program(*LENGTHS, EMPTY, kw=TIME, no_grad=True)
class size_with_break(_Cell):
    def forward(self, x):
        h = x.new_zeros(x.shape[1], 4)
        for t in range(x.size(0)):
            h = self.cell(x[t], h)
            if h.sum() > 0.2:
                break
        return h


@program(*LENGTHS, EMPTY, kw=TIME, no_grad=True)
class size_with_branch_and_count(nn.Module):
    def forward(self, x):
        n, best = 0, x.new_full((), -1e9)
        for row in x:
            if row.sum() > best:
                best = row.sum()
                n += 1
        return n, best


@program(*LENGTHS, EMPTY, kw=TIME, no_grad=True)
class in_place_over_size(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2, 3))

    def forward(self, x):
        y = torch.zeros(2, 3)
        for row in x:
            y.mul_(0.5).add_(row)
            self.seen += row
        return y


@program(*LENGTHS, kw=TIME)
class stack_of_states(_Cell):
    def forward(self, x):
        h = x.new_zeros(x.shape[1], 4)
        outs = []
        for t in range(x.shape[0]):
            h = self.cell(x[t], h)
            outs.append(h)
        return torch.stack(outs, dim=1), h


@program(*LENGTHS, kw=TIME)
class stack_of_a_comprehension(_Cell):
    def forward(self, x):
        return torch.stack([self.cell(row) for row in x.unbind(0)])


@program(*LENGTHS, kw=TIME)
class lstm_by_hand(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(3 + 4, 16)

    def forward(self, x):
        h = c = torch.zeros(x.size(1), 4)
        hs, cs = [], []
        for xt in x:
            i, f, g, o = self.w(torch.cat([xt, h], 1)).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            hs.append(h)
            cs += [c]
        return torch.stack(hs), torch.cat([c.unsqueeze(0) for c in cs]), (h, c)


@program(*LENGTHS, kw=TIME)
class selective_scan(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(-torch.rand(3, 4))
        self.bc = nn.Linear(3, 8)

    def forward(self, x):
        b, c = self.bc(x).split(4, -1)
        decay = torch.exp(x.unsqueeze(-1) * self.a)
        h = torch.zeros(x.shape[1], 3, 4)
        ys = []
        for t in range(x.shape[0]):
            h = decay[t] * h + x[t].unsqueeze(-1) * b[t].unsqueeze(1)
            ys.append((h * c[t].unsqueeze(1)).sum(-1))
        return torch.stack(ys, 0)


@program(*LENGTHS, kw=TIME, no_grad=True)
class cat_before_and_behind(nn.Module):
    def forward(self, x):
        h = x.new_zeros(2, 3)
        outs = [h]
        for row in x:
            h = h * 0.5 + row
            outs.append(h)
            outs.append(h + 1)
        outs.append(h - 1)
        return torch.cat(outs, dim=-1), len(outs), outs[-1], outs[0], torch.stack(outs[::-1])


@program(*LENGTHS, kw=TIME, no_grad=True)
class two_layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.ModuleList([nn.GRUCell(3, 4), nn.GRUCell(4, 4)])

    def forward(self, x):
        rows = x
        for cell in self.cells:
            h, outs = torch.zeros(x.shape[1], 4), []
            for row in rows:
                h = cell(row, h)
                outs.append(h)
            rows = outs
        return torch.stack(rows)


@program(*LENGTHS, kw=TIME, no_grad=True)
class both_directions(nn.Module):
    def __init__(self):
        super().__init__()
        self.there, self.back = nn.GRUCell(3, 4), nn.GRUCell(3, 4)

    def run(self, cell, rows):
        h, outs = torch.zeros(2, 4), []
        for row in rows:
            h = cell(row, h)
            outs.append(h)
        return outs

    def forward(self, x):
        there, back = self.run(self.there, x), self.run(self.back, x.flip(0))
        back.reverse()
        return torch.cat([torch.stack(there), torch.stack(back)], -1)


@program(*LENGTHS, kw=TIME, no_grad=True, refused="branch-unsupported")
class appended_and_changed_later(nn.Module):
    """All items of the list are one tensor in eager."""

    def forward(self, x):
        h, outs = torch.zeros(2, 3), []
        for row in x:
            h.add_(row)
            outs.append(h)
        return torch.stack(outs)


@program(*LENGTHS, kw=TIME, no_grad=True, refused="branch-unsupported")
class appended_and_changed_behind(nn.Module):
    def forward(self, x):
        h, outs = torch.zeros(2, 3), []
        for row in x:
            h = h + row
            outs.append(h)
        h.add_(1)
        return torch.stack(outs)


@program(*LENGTHS, kw=TIME, no_grad=True, refused="branch-unsupported")
class list_of_unknown_length_returned(nn.Module):
    def forward(self, x):
        outs = []
        for row in x:
            outs.append(row + 1)
        return outs


@program(*LENGTHS, kw=TIME, no_grad=True, refused="branch-unsupported")
class reversed_and_changed(nn.Module):
    """The items of the reversed list are the same tensors."""

    def forward(self, x):
        b, outs = x.sum(0), []
        for _ in x:
            outs.append(b)
        outs = outs[::-1]
        outs[-1].add_(1)
        return b, torch.stack(outs)


@program(*LENGTHS, kw=TIME, no_grad=True)
class reversed_list_of_which_an_item_is_changed(nn.Module):
    """The list that was reversed is held by nothing any more."""

    def forward(self, x):
        outs = []
        for row in x:
            outs.append(row * 2)
        outs = outs[::-1]
        outs[-1].add_(1)
        return torch.stack(outs)


@program(call(POS), call(NEG), call(MIX), call(NEG[:2]), call(POS.repeat(2, 1)), kw=TIME)
class mean_of_the_rows_or_the_rows(nn.Module):
    """A size of 1 is broadcast on one side; the other has a dynamic one."""

    def forward(self, x):
        mean = x.mean(0, True) if x.sum() > 0 else x
        return x + mean
