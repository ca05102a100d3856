"""Lists whose length is data: branches and iterations of loops add to them."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import call, program

_ROWS = tuple(call(torch.randn(5, 3, generator=torch.Generator().manual_seed(seed))) for seed in range(6))
_SOME = (*_ROWS, call(torch.ones(5, 3)))
_ALL = (*_SOME, call(-torch.ones(5, 3)))
_LENGTHS = tuple(call(torch.randn(n, 3, generator=torch.Generator().manual_seed(n))) for n in (4, 6, 2, 9, 1))
_DYNAMIC = {"dynamic_shapes": ({0: torch.export.Dim("n", min=1, max=20)},)}


@program(*_ALL)
class filtered_by_a_comprehension(nn.Module):
    def forward(self, x):
        rows = [r for r in x if r.sum() > 0]
        return torch.stack(rows) if rows else x[:0]


@program(*_SOME)
class stacked_without_a_test(nn.Module):
    def forward(self, x):
        return torch.stack([r for r in x if r.sum() > 0])


@program(*_ALL)
class numbers_as_an_index(nn.Module):
    def forward(self, x):
        keep = []
        for i in range(5):
            if x[i].sum() > 0:
                keep.append(i)
        return x[keep], x[keep, 1], len(keep), torch.tensor(keep, dtype=torch.int32)


@program(*_SOME)
class numbers_as_a_tensor(nn.Module):
    """An empty list would be a float tensor in eager: the program asserts that it is not empty."""

    def forward(self, x):
        keep = []
        for i in range(5):
            if x[i].sum() > 0:
                keep.append(i)
        return torch.tensor(keep), torch.as_tensor(keep)


@program(*_ALL)
class floats_as_a_tensor(nn.Module):
    def forward(self, x):
        rates = [0.25]
        for i in range(5):
            if x[i].sum() > 0:
                rates.append(i / 3)
        return torch.tensor(rates), torch.tensor(rates, dtype=torch.float64)


@program(*_ALL)
class numbers_as_the_index_of_a_write(nn.Module):
    def forward(self, x):
        keep = []
        for i in range(5):
            if x[i].sum() > 0:
                keep.append(i)
        mask = torch.zeros(5)
        mask[keep] = 1
        return mask


@program(*_ALL)
class each_side_has_a_list(nn.Module):
    def forward(self, x):
        positive, negative = [], []
        for row in x:
            if row.sum() > 0:
                positive.append(row)
            else:
                negative.append(row * 2)
        negative.append(x[0])
        positive += [x[1]]
        return torch.stack(positive), torch.cat(negative), len(positive)


@program(*_ALL)
class left_by_break(nn.Module):
    def forward(self, x):
        out = []
        for row in x:
            out.append(row * 2)
            if row.sum() < 0:
                break
        return torch.stack(out), len(out)


@program(*_ALL)
class left_by_break_in_a_long_loop(nn.Module):
    def forward(self, x):
        token, out = x[0], []
        weight = torch.linspace(-1, 1, 9).view(3, 3)
        for _ in range(64):
            token = torch.tanh(token @ weight + x[1])
            out.append(token)
            if token.sum() < -0.5:
                break
        return torch.stack(out), len(out)


@program(*_ALL)
class tokens_as_numbers(nn.Module):
    def forward(self, x):
        table, tokens, token, h = torch.linspace(-1, 1, 21).view(7, 3), [], 1, x.sum(0)
        for _ in range(40):
            h = torch.tanh(h * 0.9 + table[token])
            token = (table @ h).argmax().item()
            tokens.append(token)
            if token == 0:
                break
        return torch.tensor(tokens), len(tokens)


@program(*_ALL)
class while_with_a_bound(nn.Module):
    def forward(self, x):
        out, i = [], 0
        while i < 5 and x[i].sum() > -1:
            out.append(x[i])
            i += 1
        out.append(x[0])
        return torch.stack(out)


@program(*_ALL)
class branches_in_one_another(nn.Module):
    def forward(self, x):
        out = []
        for row in x:
            if row[0] > 0:
                if row[1] > 0:
                    out.append(row)
                    out.append(row + 1)
                else:
                    out.append(-row)
        if len(out) == 0:
            return x[:1]
        return torch.stack(out)


@program(*_ALL)
class its_own_last_item(nn.Module):
    def forward(self, x):
        out = [x[0]]
        for row in x:
            if (row - out[-1]).abs().sum() > 2:
                out.append(row)
        return torch.stack(out)


@program(*_ALL)
class gone_over(nn.Module):
    def forward(self, x):
        out, numbers = [], []
        for i, row in enumerate(x):
            if row[0] > 0:
                out.append(row)
                numbers.append(i)
        total, weight = torch.zeros(3), 0
        for row in out:
            total = total * 0.5 + row
        for number in numbers:
            weight = weight * 2 + number
        return total, weight


@program(*_ALL)
class tested_for_items(nn.Module):
    def forward(self, x):
        out = []
        for row in x:
            if row[0] > 0:
                out.append(row)
        if not out:
            return x.sum()
        return out[0].sum() + out[-1].sum() * bool(out)


@program(*_ALL)
class joined_along_each_dimension(nn.Module):
    def forward(self, x):
        out = []
        if x.sum() > 0:
            out.append(x)
        if x[0, 0] > 0:
            out.append(x + 1)
        out.append(x * 2)
        return torch.cat(out, 0), torch.cat(out, 1), torch.cat(out[::-1], -1)


@program(*_ALL)
class joined_of_unlike_sizes(nn.Module):
    def forward(self, x):
        out = [x[:1]]
        for i in range(1, 4):
            if x[i].sum() > 0:
                out.append(x[:i])
        return torch.cat(out)


@program(*_ALL)
class changed_after_it_was_added(nn.Module):
    def forward(self, x):
        x, out = x.clone(), []
        if x.sum() > 0:
            out.append(x)
        x.add_(1)
        out.append(x)
        return torch.stack(out)


@program(*_ALL)
class suppression(nn.Module):
    """Candidates that are near to one that was kept are none."""

    def forward(self, x):
        order, keep = x[:, 0].argsort(descending=True), []
        for i in range(5):
            is_far = torch.tensor(True)
            for j in keep:
                if (x[order[i]] - x[order[j]]).abs().sum() < 1:
                    is_far = torch.tensor(False)
            if is_far:
                keep.append(i)
        return x[keep]


@program(*_SOME)
class summed(nn.Module):
    """Of no tensor the sum is the number 0 in eager: the program asserts that there is one."""

    def forward(self, x):
        losses, keep = [], []
        for i, row in enumerate(x):
            if row.sum() > 0:
                losses.append(row.sum())
                keep.append(i)
        return sum(losses) / len(losses), x * sum(keep)


@program(*_LENGTHS, kw=_DYNAMIC, no_grad=True)
class summed_of_any_number(nn.Module):
    def forward(self, x):
        losses, keep = [x[0].to(torch.int32)], []
        for i, row in enumerate(x):
            if row.sum() > 0:
                losses.append(row.to(torch.int32))
                keep.append(i)
        return sum(losses), x * sum(keep)


@program(*_LENGTHS, call(-torch.ones(4, 3)), kw=_DYNAMIC, no_grad=True)
class filtered_rows_of_any_number(nn.Module):
    def forward(self, x):
        out = []
        for row in x:
            if row[0] > 0:
                out.append(row)
        return torch.stack(out) if out else x[:0]


@program(*_LENGTHS, kw=_DYNAMIC, no_grad=True)
class numbers_of_any_number_of_rows(nn.Module):
    def forward(self, x):
        keep, every = [], []
        for i in range(x.shape[0]):
            every.append(i)
            if x[i].sum() > 0:
                keep.append(i)
        return x[keep], len(keep), torch.tensor(every)


_NUMBERS = tuple(call(torch.arange(12.0).view(4, 3), torch.tensor(n)) for n in (3, 0, 1, 4))


@program(*_NUMBERS)
class iterations_that_may_be_none(nn.Module):
    """Without a gradient no scan, which needs a first iteration."""

    def forward(self, x, n):
        every, until, numbers = [], [], []
        for i in range(n.item()):
            every.append(x[i] * 2)
            numbers.append(i)
        for i in range(n.item()):
            until.append(x[i] * 3)
            if x[i].sum() > 10:
                break
        whole = torch.stack(every) if every else x[:0]
        until.append(x[0])
        return whole, until[0], len(until), torch.tensor(numbers, dtype=torch.int64), not every


@program(*_NUMBERS)
class stacked_iterations_that_may_be_none(nn.Module):
    """torch.stack of an empty list raises an error, in the program, too."""

    def forward(self, x, n):
        out = []
        for i in range(n.item()):
            out.append(x[i] * 2)
            if x[i].sum() > 10:
                break
        return torch.stack(out)


@program(*_NUMBERS[:1], *_NUMBERS[3:])
class items_behind_the_first(nn.Module):
    def forward(self, x, n):
        out, numbers = [], []
        for i in range(n.item()):
            out.append(x[i] * 2)
            numbers.append(i)
        return out[1], out[-2], out[0], x * numbers[1], x * numbers[-1]


@program(*_LENGTHS[:2], kw={"dynamic_shapes": ({0: torch.export.Dim("n", min=2, max=20)},)})
class items_behind_the_first_of_rows(nn.Module):
    def forward(self, x):
        out = []
        for row in x:
            out.append(row * 2)
        return out[1], out[-2], out[0], out[-1]


@program(*_ALL)
class gone_over_into_a_list(nn.Module):
    def forward(self, x):
        rows = [r for r in x if r.sum() > 1]
        doubled = [r * 2 for r in rows] + [x[0]]
        return torch.stack(doubled)


@program(*_LENGTHS, kw=_DYNAMIC, no_grad=True)
class one_or_two_items_of_a_round(nn.Module):
    def forward(self, x):
        out = []
        for row in x:
            out.append(row)
            if row[0] > 0:
                out.append(row * 2)
        return torch.stack(out), len(out)


@program(*_LENGTHS, kw=_DYNAMIC, no_grad=True)
class left_by_break_before_all_rows(nn.Module):
    def forward(self, x):
        out, h = [], x[0]
        for i in range(x.shape[0]):
            h = torch.tanh(h + x[i])
            if h[0] < -0.9:
                break
            out.append(h)
            if h.sum() < -1:
                break
        return torch.stack(out) if out else x[:0], len(out)


@program(*_LENGTHS, kw=_DYNAMIC)
class filtered_with_a_gradient(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x):
        out = [x[0] * self.scale]
        for row in x:
            if row.sum() > 0:
                out.append(row * self.scale)
        return torch.stack(out)


@program(*_ALL)
class sizes_that_are_data(nn.Module):
    def forward(self, x):
        out = []
        if x.sum() > 0:
            out.append(x[x[:, 0] > 0])
        return len(out)


@program(*_ALL)
class strings(nn.Module):
    def forward(self, x):
        out = []
        if x.sum() > 0:
            out.append("positive")
        return x * len(out)  # on each side, to the end


@program(*_ALL, refused="branch-differs")
class strings_that_are_returned(nn.Module):
    def forward(self, x):
        out = []
        if x.sum() > 0:
            out.append("positive")
        return x, out


@program(*_ALL, refused="branch-unsupported")
class numbers_and_tensors(nn.Module):
    def forward(self, x):
        out = [1]
        if x.sum() > 0:
            out.append(x)
        for item in out:
            x = x + item
        return x


@program(*_ALL)
class without_a_bound(nn.Module):
    def forward(self, x):
        errors, v = [], x.abs() + 1
        while v.sum() > 1:
            v = v * 0.9
            errors.append(v.sum())
        return torch.stack(errors)
