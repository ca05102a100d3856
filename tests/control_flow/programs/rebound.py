"""Lists and dicts that iterations of a loop make anew, instead of changing them."""

from __future__ import annotations

import torch
from torch import nn
from torch.export import Dim

from tests.control_flow.programs.table import program

VECTORS = tuple((torch.tensor(row),) for row in ([1.0, 3.0], [-1.0, -3.0], [100.0, 200.0], [0.1, 0.2]))
ROWS = ((torch.ones(3, 2),), (torch.ones(5, 2) * 2,), (torch.ones(2, 2) * 2,))
DYNAMIC = {"dynamic_shapes": ({0: Dim.DYNAMIC},)}


@program(*VECTORS)
class list_rebound(nn.Module):
    def forward(self, x):
        c = [x, x * 2]
        while c[0].abs().sum() > 1:
            c = [c[0] * 0.5, c[0]]
        return c[0], c[1]


@program(*VECTORS)
class list_rebound_in_a_range(nn.Module):
    def forward(self, x):
        c = [x, x * 2]
        for _ in range(60):
            c = [c[0] * 0.5, c[0]]
            if c[0].abs().sum() < 1:
                break
        return c[0] + c[1]


@program(*VECTORS)
class dict_rebound(nn.Module):
    def forward(self, x):
        c = {"a": x, "b": x * 2}
        while c["a"].abs().sum() > 1:
            c = {"a": c["a"] * 0.5, "b": c["a"]}
        return c


@program(*VECTORS)
class nested_containers_rebound(nn.Module):
    def forward(self, x):
        c = {"a": [x, x + 1], "b": (x, [x])}
        while c["a"][0].abs().sum() > 1:
            c = {"a": [c["a"][0] * 0.5, c["a"][0]], "b": (c["a"][1], [c["b"][0]])}
        return c


@program(*VECTORS)
class list_rebound_by_a_comprehension(nn.Module):
    def forward(self, x):
        c = [x, x * 2, x * 3]
        while c[0].abs().sum() > 1:
            c = [v * 0.5 for v in c]
        return sum(c)


@program(*VECTORS, refused="branch-differs")
class rebound_list_has_another_name(nn.Module):
    def forward(self, x):
        c = [x, x * 2]
        d = c
        while c[0].abs().sum() > 1:
            c = [c[0] * 0.5, c[0]]
        d.append(x)
        return len(c), c[0], d[0]


@program(*VECTORS)
class rebound_list_had_another_name(nn.Module):
    def forward(self, x):
        c = [x, x * 2]
        d = c
        d.append(x)
        while c[0].abs().sum() > 1:
            c = [c[0] * 0.5, c[0], c[2]]
        return c[0]


@program(*VECTORS, refused="branch-differs")
class rebound_list_gets_another_name(nn.Module):
    def forward(self, x):
        c = [x, x * 2]
        d = c
        while c[0].abs().sum() > 1:
            c = [c[0] * 0.5, c[0]]
            d = c
        d[0] = x * 100
        return c[0]


@program(*VECTORS, refused="branch-differs")
class rebound_list_in_a_rebound_list_too(nn.Module):
    def forward(self, x):
        c = [x, x * 2]
        keep = []
        while c[0].abs().sum() > 1:
            c = [c[0] * 0.5, c[0]]
            keep = [c]
        return c[0], len(keep)


@program(*VECTORS, refused="branch-differs")
class changed_and_rebound(nn.Module):
    def forward(self, x):
        c = [x, x * 2]
        while c[0].abs().sum() > 1:
            c[0] = c[0] * 0.5
            c = [c[0], c[1] + 1]
        return c[0], c[1]


@program(*VECTORS)
class rebound_and_changed(nn.Module):
    def forward(self, x):
        c = [x, x * 2]
        while c[0].abs().sum() > 1:
            c = [c[0] * 0.5, c[1] + 1]
            c[1] = c[1] * 2
        return c[0], c[1]


@program(*VECTORS)
class changed_behind_the_loop(nn.Module):
    def forward(self, x):
        c = [x, x * 2]
        while c[0].abs().sum() > 1:
            c = [c[0] * 0.5, c[1] + 1]
        c[0] = c[0] + 5
        c.append(x)
        return c


@program(*VECTORS)
class two_lists_rebound_crosswise(nn.Module):
    def forward(self, x):
        a, b = [x], [x * 2]
        while a[0].abs().sum() > 1:
            a, b = [b[0] * 0.25], [a[0] * 0.5]
        return a[0], b[0]


@program(*VECTORS, refused="branch-differs")
class two_lists_swapped(nn.Module):
    def forward(self, x):
        a, b = [x], [x * 2]
        while x.abs().sum() > 1:
            a, b = b, a
            x = x * 0.5
        return a[0], b[0]


@program(*VECTORS)
class numbers_in_a_rebound_list(nn.Module):
    def forward(self, x):
        c = [x, 0, 1.5]
        while c[0].abs().sum() > 1:
            c = [c[0] * 0.5, c[1] + 1, c[2] * 2]
        return c


@program(*ROWS, kw=DYNAMIC)
class rebound_over_rows(nn.Module):
    def forward(self, x):
        c = [torch.zeros(2), torch.ones(2)]
        for row in x:
            c = [c[0] + row, c[0]]
        return c


@program(*ROWS, kw=DYNAMIC)
class rebound_beside_a_list_that_grows(nn.Module):
    def forward(self, x):
        c, outs = {"h": torch.zeros(2)}, []
        for row in x:
            c = {"h": torch.tanh(c["h"] + row)}
            outs.append(c["h"])
        return torch.stack(outs), c["h"]


@program(*VECTORS)
class rebound_in_an_object(nn.Module):
    def forward(self, x):
        class S:
            pass

        s = S()
        s.c = [x, x]
        while s.c[0].abs().sum() > 1:
            s.c = [s.c[0] * 0.5, s.c[0]]
        return s.c[0], s.c[1]


@program(*VECTORS)
class rebound_in_a_list(nn.Module):
    def forward(self, x):
        s = [[x, x]]
        while s[0][0].abs().sum() > 1:
            s[0] = [s[0][0] * 0.5, s[0][0]]
        return s[0]


@program(*VECTORS)
class item_changed_in_place(nn.Module):
    def forward(self, x):
        c = [x * 1, x * 2]
        while c[0].abs().sum() > 1:
            c = [c[0] * 0.5, c[1]]
            c[1].add_(1)
        return c


@program(*VECTORS)
class rebound_on_both_sides(nn.Module):
    def forward(self, x):
        c = [x, x * 2]
        while c[0].abs().sum() > 1:
            if c[1].sum() > 0:
                c = [c[0] * 0.5, c[0]]
            else:
                c = [c[0] * 0.25, -c[0]]
        return c


@program(*VECTORS)
class rebound_by_a_call(nn.Module):
    def forward(self, x):
        def step(c):
            return [c[0] * 0.5, c[0] + c[1]]

        c = [x, x * 2]
        while c[0].abs().sum() > 1:
            c = step(c)
        return c


@program(*VECTORS)
class rebound_in_a_cell(nn.Module):
    def forward(self, x):
        c = [x, x * 2]

        def f():
            return c[0]

        while f().abs().sum() > 1:
            c = [c[0] * 0.5, c[0]]
        return f(), c


@program(*VECTORS, refused="branch-differs")
class rebound_list_compared(nn.Module):
    def forward(self, x):
        c = [x, x * 2]
        first = c
        while c[0].abs().sum() > 1:
            c = [c[0] * 0.5, c[0]]
        return x * 2 if first is c else x * 3


@program(*VECTORS, refused="branch-unsupported")
class changed_in_later_iterations(nn.Module):
    def forward(self, x):
        c = [x, x * 2]
        n = 0
        while c[0].abs().sum() > 1:
            if n:
                c[1] = c[1] + 1
            c = [c[0] * 0.5, c[1]]
            n = 1
        return c


@program(*VECTORS)
class rebound_in_loops_within(nn.Module):
    def forward(self, x):
        c = [x, x * 2]
        while c[0].abs().sum() > 1:
            c = [c[0] * 0.5, c[1]]
            while c[1].abs().sum() > 50:
                c = [c[0], c[1] * 0.5]
        return c


@program(*VECTORS)
class rebound_list_returned(nn.Module):
    def forward(self, x):
        c = [x, x * 2]
        while True:
            c = [c[0] * 0.5, c[0]]
            if c[0].abs().sum() < 1:
                return c


@program(*VECTORS)
class one_item_twice(nn.Module):
    def forward(self, x):
        c = [x, x]
        while c[0].abs().sum() > 1:
            c = [c[0] * 0.5] * 2
        c[0].add_(1)
        return c


@program(*VECTORS)
class rebound_cache_that_grows(nn.Module):
    def forward(self, x):
        cache = {"k": x.unsqueeze(0), "v": x.unsqueeze(0)}
        for _ in range(20):
            new = cache["k"].sum(0, keepdim=True) * 0.1
            cache = {"k": torch.cat([cache["k"], new]), "v": torch.cat([cache["v"], new * 2])}
            if new.abs().sum() < 0.5:
                break
        return cache["k"], cache["v"]
