# ruff: noqa: B007, C417, F841  (written as people write it)
"""Branches within try, with, generators, callbacks and loops of known length."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import MIX, POS, SIGNS, call, program


# -- try, with, raise, generators
@program(call(POS), call(MIX))
class raise_in_side(nn.Module):
    def forward(self, x):
        if x.sum() < 0:
            y = x * 2
            raise ValueError("negative")
        return x + 1


@program(*SIGNS)
class try_around(nn.Module):
    def forward(self, x):
        try:
            if x.sum() > 0:
                y = x + 1
            else:
                y = x - 1
        except ValueError:
            y = x
        finally:
            z = x * 2
        return y + z


@program(*SIGNS)
class try_inside(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            try:
                y = x @ x
            except RuntimeError:
                y = x + 1
        else:
            y = x - 1
        return y


@program(*SIGNS)
class with_around(nn.Module):
    def forward(self, x):
        with torch.no_grad():
            if x.sum() > 0:
                y = x + 1
            else:
                return x * 3
        return y * 2


@program(*SIGNS)
class with_inside(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)

    def forward(self, x):
        if x.sum() > 0:
            with torch.no_grad():
                y = self.l(x)
        else:
            y = self.l(x) + 1
        return y


@program(*SIGNS)
class generator_yields_merged(nn.Module):
    def forward(self, x):
        def gen():
            for i in range(3):
                if x.sum() > i:
                    v = x + i
                else:
                    v = x - i
                yield v

        return sum(gen())


@program(*SIGNS)
class map_lambda(nn.Module):
    def forward(self, x):
        return torch.stack(list(map(lambda r: r + 1 if r.sum() > 0 else r * 2, x)))


@program(*SIGNS)
class match_guard(nn.Module):
    def forward(self, x):
        match x.shape:
            case (3, n) if x.sum() > 0:
                return x + n
            case _:
                return x - 1


# -- for loops with a known length
@program(*SIGNS)
class for_break(nn.Module):
    def forward(self, x):
        for i in range(5):
            if x.sum() > 10:
                break
            x = x + 1
        return x


@program(*SIGNS)
class for_continue(nn.Module):
    def forward(self, x):
        total = x.sum()
        for r in x:
            if r.sum() < 0:
                continue
            total = total + r.max()
        return total


@program(*SIGNS)
class for_return(nn.Module):
    def forward(self, x):
        for i, r in enumerate(x):
            if r[0] < 0:
                return r * i
        return x[0] * 100


@program(*SIGNS)
class for_else(nn.Module):
    def forward(self, x):
        for r in x:
            if r[0] < 0:
                y = r
                break
        else:
            y = x[0] * 100
        return y
