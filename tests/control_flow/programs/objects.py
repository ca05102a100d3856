# ruff: noqa: F841, RUF034  (written as people write it)
"""Branches that change containers, objects, variables of enclosing functions; values that differ."""

from __future__ import annotations

import dataclasses

import torch
from torch import nn

from tests.control_flow.programs.table import SIGNS, program


# -- Python objects
@program(*SIGNS)
class dict_entry(nn.Module):
    def forward(self, x):
        out = {"a": x, "b": x + 1}
        if x.sum() > 0:
            out["a"] = x * 2
        return out


@program(*SIGNS)
class dict_new_key(nn.Module):
    def forward(self, x):
        out = {"a": x}
        if x.sum() > 0:
            out["b"] = x * 2
        else:
            out["b"] = x * 3
        return out


@program(*SIGNS)
class list_append_both(nn.Module):
    def forward(self, x):
        out = []
        if x.sum() > 0:
            out.append(x * 2)
        else:
            out.append(x * 3)
            out[0] = out[0] + 1
        return torch.stack(out)


@program(*SIGNS)
class list_made_in_sides(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            r = {"v": [x, x + 1], "n": 3}
        else:
            r = {"v": [x * 2, x - 1], "n": 3}
        r["v"].append(x)
        return r


@dataclasses.dataclass
class Pair:
    a: torch.Tensor
    b: torch.Tensor
    name: str = "p"


@program(*SIGNS)
class dataclass_made(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            p = Pair(x, x + 1)
        else:
            p = Pair(x * 2, x - 1)
        p.a = p.a + 1
        return p.a, p.b


@program(*SIGNS)
class object_attribute(nn.Module):
    def forward(self, x):
        p = Pair(x, x + 1)
        q = p
        if x.sum() > 0:
            p.b = x * 5
        return q.a + q.b


@program(*SIGNS)
class closure_cell(nn.Module):
    def forward(self, x):
        total = x.sum()

        def bump(k):
            nonlocal total
            total = total + k

        if x.sum() > 0:
            bump(1)
        else:
            bump(2)
        return total


@program(*SIGNS)
class identity_kept(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            a = x + 1
            b = a
        else:
            a = x + 2
            b = a
        a += 1
        return a, b


@program(*SIGNS)
class comprehension_if(nn.Module):
    def forward(self, x):
        return torch.stack([r * 2 if r.sum() > 0 else r - 1 for r in x])


@program(*SIGNS)
class comprehension_filter(nn.Module):
    def forward(self, x):
        return torch.stack([r for r in x if r.sum() > -100] + [x[0]])


@program(*SIGNS)
class choose_module(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = nn.Linear(2, 2)

    def forward(self, x):
        return (self.a if x.sum() > 0 else self.a)(x)


@program(*SIGNS)
class choose_other_module(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = nn.Linear(2, 2)

    def forward(self, x):
        m = self.a if x.sum() > 0 else self.b
        return m(x)


@program(*SIGNS)
class choose_weight(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = nn.Linear(2, 2)

    def forward(self, x):
        if x.sum() > 0:
            w = self.a.weight
        else:
            w = self.b.weight
        return x @ w


@program(*SIGNS)
class differing_strings(nn.Module):
    def forward(self, x):
        mode = "a" if x.sum() > 0 else "b"
        return x + 1 if mode == "a" else x - 1


@program(*SIGNS)
class none_or_tensor(nn.Module):
    def forward(self, x):
        mask = None
        if x.sum() > 0:
            mask = x > 0
        if mask is not None:
            x = x * mask
        return x


@program(*SIGNS)
class dead_locals(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            tmp = "text"
            y = x + 1
        else:
            tmp = [1, 2]
            k = 3
            y = x * k
        return y


@program(*SIGNS)
class unbound_after(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            y = x + 1
        return y


@program(*SIGNS, refused="branch-differs")
class differing_dtype(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            y = x
        else:
            y = x.to(torch.float64)
        return y + 1


@program(*SIGNS, refused="python-state")
class counter_on_self(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0

    def forward(self, x):
        if x.sum() > 0:
            self.count += 1
        return x
