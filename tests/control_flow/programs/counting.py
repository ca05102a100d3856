"""Loops of `while` whose iterations add to lists: they are counted before they are run."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import call, program

_SCALES = tuple(call(torch.full((3,), value)) for value in (4.0, 0.5, 30.0, 9.0))
_ABOVE = tuple(call(torch.full((3,), value)) for value in (4.0, 30.0, 9.0))
_START = tuple(call(torch.tensor([value, 1.0, 2.0])) for value in (1.0, 40.0, 200.0, 7.0))


@program(*_ABOVE)
class stacked_while_it_shrinks(nn.Module):
    def forward(self, x):
        outs = []
        while x.norm() > 1:
            x = x * 0.5
            outs.append(x.sum())
        return torch.stack(outs)


@program(*_SCALES)
class kept_while_it_shrinks(nn.Module):
    def forward(self, x):
        outs = [x]
        while x.norm() > 1:
            x = x * 0.5
            outs.append(x)
        return torch.stack(outs), len(outs)


@program(*_SCALES)
class added_in_an_endless_loop(nn.Module):
    def forward(self, x):
        outs = [x * 2]
        while True:
            x = x * 0.5
            if x.max() < 1:
                break
            outs.append(x)
            outs.append(x + 1)
        return torch.cat(outs), x


@program(*_SCALES)
class added_on_one_side(nn.Module):
    def forward(self, x):
        outs = [x]
        while x.norm() > 1:
            x = x * 0.7
            if (x[0] * 10).long() % 2 == 0:
                outs.append(x)
        return torch.stack(outs), sum(outs)


@program(*_START)
class numbers_added(nn.Module):
    def forward(self, x):
        steps, n = [], x[0].item()
        while n > 1:
            n = n / 2
            steps.append(n)
        return x.sum() + len(steps)


@program(*_SCALES)
class two_lists_and_a_buffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        outs, norms = [x], [x.norm()]
        while x.norm() > 1:
            self.total += x
            x = x * 0.5 + norms[0] * 0.001
            if x.max() < 0.1:
                break
            outs.append(x)
            norms.append(x.norm())
        return torch.stack(outs), torch.stack(norms)


@program(*_SCALES)
class at_most_so_many(nn.Module):
    def forward(self, x):
        outs = [x]
        while len(outs) < 40 and x.norm() > 1:
            x = x * 0.5
            outs.append(x)
        return torch.stack(outs)


@program(*_SCALES)
class steps_held_by_an_object(nn.Module):
    class Steps:
        def __init__(self, x):
            self.trace = [x]

        def step(self, x):
            self.trace.append(x * 0.5)
            return x * 0.5

    def forward(self, x):
        steps = self.Steps(x)
        while x.norm() > 1:
            x = steps.step(x)
        return torch.stack(steps.trace)


@program(*_SCALES)
class returned_from_within(nn.Module):
    def forward(self, x):
        outs = [x]
        while x.norm() > 1:
            x = x * 0.5
            outs.append(x)
            if x[0] > 10:
                return torch.stack(outs) * 2
        return torch.stack(outs)


@program(*(call(torch.full((n, 2), value)) for n, value in ((3, 5.0), (4, 0.1), (2, 90.0))),
         kw={"dynamic_shapes": ({0: torch.export.Dim("n", min=2, max=64)},)})  # fmt: skip
class over_a_dynamic_size(nn.Module):
    def forward(self, x):
        outs = [x.sum(0)]
        while x.sum() > 1:
            x = x / 3
            outs.append(x.sum(0))
        return torch.stack(outs)


@program(*_SCALES)
class within_another_loop(nn.Module):
    def forward(self, x):
        totals = [x.sum()]
        while x.norm() > 1:
            inner, y = [x], x
            while y.norm() > 2:
                y = y * 0.5
                inner.append(y)
            totals.append(torch.stack(inner).sum())
            x = x * 0.4
        return torch.stack(totals)


@program(call(torch.full((3,), 4.0)), refused="branch-unsupported")
class of_random_numbers(nn.Module):
    def forward(self, x):
        outs = []
        while x.norm() > 1:
            x = x * torch.rand(3)
            outs.append(x)
        return torch.stack(outs)


@program(*_SCALES)
class goes_on_from_the_last_item(nn.Module):
    def forward(self, x):
        outs = [x]
        while outs[-1].norm() > 1:
            outs.append(outs[-1] * 0.5)
        return torch.stack(outs), outs[-1]


@program(*(call(torch.tensor([value, 1.0, 2.0])) for value in (1.0, 3.0, 0.2)))
class tokens_from_the_last_one(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 3)

    def forward(self, x):
        ids = [1]
        for _ in range(20):
            logits = self.table.weight @ (self.table.weight[ids[-1]] + x)
            ids.append((logits.argmax() * 3 + ids[-1] + 1).item() % 11)
            if ids[-1] == 4:
                break
        return torch.tensor(ids), len(ids)


@program(*(call(torch.tensor(n), torch.linspace(-1, 1, 3)) for n in (4, 1, 7)))
class last_item_of_a_counted_loop(nn.Module):
    def forward(self, n, x):
        states = [x]
        for _ in range(n.item()):
            states.append(torch.tanh(states[-1] + x))
        return torch.stack(states), states[-1]


@program(*_SCALES)
class last_two_items(nn.Module):
    """The item before the last is no carried value."""

    def forward(self, x):
        outs = [x, x * 0.5]
        while x.norm() > 1:
            x = x * 0.5
            outs.append(x)
            outs.append(outs[-1] + outs[-2])
        return torch.stack(outs)


@program(*_SCALES)
class two_lists_by_their_last_items(nn.Module):
    def forward(self, x):
        a, b = [0], [0]
        while x.norm() > 1 and a[-1] < 30:
            x = x * 0.5
            a.append(a[-1] + 1)
            b.append(b[-1] + 2)
        return torch.tensor(a), torch.tensor(b)


@program(*_SCALES, refused="branch-unsupported")
class last_item_changed_in_place(nn.Module):
    """The list holds a copy of what the iteration carries."""

    def forward(self, x):
        outs = [x.clone()]
        while outs[-1].norm() > 1:
            outs[-1].mul_(0.5)
            outs.append(outs[-1] + 0.0)
        return torch.stack(outs)


@program(*_SCALES, no_grad=True)
class two_counters_that_begin_alike(nn.Module):
    """Which of them the run that counted iterations gave which number is not told apart."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        state = {"a": 0, "b": 0}
        while state["a"] < 35 and x.norm() > 1:
            x = torch.tanh(self.layer(x)) * x * 0.5
            state["a"] += 1
            state["b"] += 2
        return x, state["a"], state["b"]
