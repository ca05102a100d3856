"""Lists whose length is data, held by other things than variables of the function that adds to them."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import call, program

_ROWS = tuple(call(torch.randn(5, 3, generator=torch.Generator().manual_seed(seed))) for seed in range(5))
_ALL = (*_ROWS, call(torch.ones(5, 3)), call(-torch.ones(5, 3)))
_LENGTHS = tuple(call(torch.randn(n, 3, generator=torch.Generator().manual_seed(n))) for n in (4, 6, 2, 9))
_DYNAMIC = {"dynamic_shapes": ({0: torch.export.Dim("n", min=2, max=20)},)}


@program(*_ALL)
class held_by_the_caller(nn.Module):
    def collect(self, row, keep):
        if row.sum() > 0:
            keep.append(row)

    def forward(self, x):
        keep = []
        for row in x:
            self.collect(row, keep)
        return torch.stack(keep) if keep else x.new_zeros(0, 3)


@program(*_LENGTHS, kw=_DYNAMIC)
class held_by_the_caller_over_a_dynamic_length(nn.Module):
    def collect(self, row, keep, numbers, i):
        if row.sum() > 0:
            keep.append(row)
            numbers.append(i)

    def forward(self, x):
        keep, numbers = [], []
        for i, row in enumerate(x):
            self.collect(row, keep, numbers, i)
        return len(keep), x[numbers]


@program(*_ALL)
class held_by_an_attribute(nn.Module):
    def forward(self, x):
        self.keep = []
        for row in x:
            if row.sum() > 0:
                self.keep.append(row)
        return torch.stack(self.keep) if self.keep else x.new_zeros(0, 3)


class _Collector:
    def __init__(self):
        self.items = []
        self.count = 0

    def add(self, value):
        self.items.append(value)
        self.count += 1


@program(*_ALL)
class held_by_an_object(nn.Module):
    def forward(self, x):
        collector = _Collector()
        for row in x:
            if row.sum() > 0:
                collector.add(row)
        return collector.count, sum(collector.items) if collector.items else x[0]


@program(*_LENGTHS, kw=_DYNAMIC)
class held_by_an_object_over_a_dynamic_length(nn.Module):
    def forward(self, x):
        collector = _Collector()
        for row in x:
            if row.sum() > 0:
                collector.add(row)
        return collector.count, len(collector.items)


class _Slots:
    __slots__ = ("items", "other")


@program(*_ALL)
class held_by_slots(nn.Module):
    def forward(self, x):
        held = _Slots()
        held.items, held.other = [], 0
        for row in x:
            if row.max() > 1:
                held.items.append(row.max())
        return len(held.items), torch.stack(held.items + [x.sum()])  # noqa: RUF005


@program(*_ALL)
class held_by_a_cell(nn.Module):
    def forward(self, x):
        keep = []

        def add(row):
            keep.append(row * 2)

        for row in x:
            if row.sum() > 0:
                add(row)
            if row.max() > 1:
                add(-row)
        return torch.stack(keep) if keep else x[:1]


@program(*_ALL)
class held_by_a_dict(nn.Module):
    def forward(self, x):
        groups = {"positive": [], "other": []}
        for row in x:
            if row.sum() > 0:
                groups["positive"].append(row)
            else:
                groups["other"].append(row)
        counts = {name: len(rows) for name, rows in groups.items()}
        return counts, [torch.stack(rows) if rows else x.new_zeros(0, 3) for rows in groups.values()]


@program(*_ALL)
class picked_from_a_dict_by_data(nn.Module):
    def forward(self, x):
        groups = {"positive": [], "other": []}
        for row in x:
            groups["positive" if row.sum() > 0 else "other"].append(row)
        return len(groups["positive"]), len(groups["other"])


@program(*_ALL)
class held_by_a_list(nn.Module):
    def forward(self, x):
        groups = [[] for _ in range(3)]
        for i, row in enumerate(x):
            if row.sum() > 0:
                groups[i % 3].append(row)
        return [len(group) for group in groups]


@program(*_ALL)
class held_under_two_names(nn.Module):
    def forward(self, x):
        keep = other = []
        held = {"keep": keep}
        for row in x:
            if row.sum() > 0:
                held["keep"].append(row)
        return len(keep), len(other), other is held["keep"]


@program(*_ALL)
class held_in_a_recursion(nn.Module):
    def forward(self, x):
        out = {"even": [], "odd": []}

        def visit(i):
            if i >= x.shape[0]:
                return
            (out["odd"] if i % 2 else out["even"]).append(i)
            if x[i].sum() > 0:
                out["even"].append(i)
            visit(i + 1)

        visit(0)
        return torch.tensor(out["even"]), torch.tensor(out["odd"])


@program(*_ALL)
class added_to_within_handlers(nn.Module):
    """What begins the branch again is no exception of the program's."""

    def collect(self, row, keep):
        with torch.no_grad():
            try:
                if row.sum() > 0:
                    keep.append(row)
            except ValueError:
                keep.append(-row)
            finally:
                keep.append(row * 2)

    def forward(self, x):
        keep = []
        for row in x:
            self.collect(row, keep)
        return torch.stack(keep), len(keep)


@program(*_ALL, refused="branch-differs")
class held_by_a_tuple(nn.Module):
    """A tuple cannot be given another list."""

    def forward(self, x):
        keep = []
        pair = keep, 1
        for row in x:
            if row.sum() > 0:
                pair[0].append(row)
        return len(keep), pair[1]


@program(*_ALL, refused="branch-differs")
class replaced_on_one_side(nn.Module):
    def forward(self, x):
        held = {"keep": []}
        for row in x:
            if row.sum() > 0:
                held["keep"].append(row)
            if row[0] > 1:
                held["keep"] = []
        return len(held["keep"])


# -- objects that nothing can get at behind a branch need not be merged ------------------------------------------------


@program(*_ALL)
class losses_in_a_dict(nn.Module):
    def forward(self, x):
        losses = {}
        if (x > 1).any():
            losses["high"] = x[x > 1].mean()
        if (x < -1).any():
            losses["low"] = x[x < -1].pow(2).mean()
        total = x.new_zeros(())
        for loss in losses.values():
            total = total + loss
        return total


@program(*_ALL)
class a_dict_of_one_call(nn.Module):
    def loss(self, x):
        losses = {"square": (x**2).mean()}
        if (x > 1).any():
            losses["high"] = x[x > 1].mean()
        return sum(losses.values())

    def forward(self, x):
        return self.loss(x) + 1, self.loss(-x)


@program(*_ALL)
class popped_from_a_dict(nn.Module):
    def forward(self, x):
        parts = {"sine": x.sin(), "cosine": x.cos()}
        if x.sum() > 0:
            first = parts.pop("cosine")
        else:
            first = parts.pop("sine")
        return first, sum(parts.values())


@program(*_ALL)
class a_dict_that_is_still_held(nn.Module):
    def forward(self, x):
        parts = {}
        held = [parts]
        if x.sum() > 0:
            parts["sine"] = x.sin()
        y = x * 2
        return y, len(held[0])


@program(*_ALL, refused="branch-differs")
class a_dict_that_is_returned(nn.Module):
    def forward(self, x):
        parts = {"double": x * 2}
        if x.sum() > 0:
            parts["sine"] = x.sin()
        return parts
