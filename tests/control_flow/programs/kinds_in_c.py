"""Branches that make objects of classes written in C, whose fields are in no attribute dictionary."""

from __future__ import annotations

import collections
import functools
import itertools
import operator
import random
import types

import torch
from torch import nn

from tests.control_flow.programs.table import SIGNS, program


@program(*SIGNS)
class partial_of_two_functions(nn.Module):
    def forward(self, x):
        f = functools.partial(torch.add, x, alpha=2) if x.sum() > 0 else functools.partial(torch.sub, x)
        return f(torch.ones(2))


@program(*SIGNS)
class deque_of_two_lengths(nn.Module):
    def forward(self, x):
        last = collections.deque(maxlen=2) if x.sum() > 0 else collections.deque(maxlen=3)
        for i in range(4):
            last.append(x * i)
        return sum(last), len(last)


@program(*SIGNS)
class namespace(nn.Module):
    def forward(self, x):
        made = types.SimpleNamespace(a=x, n=2) if x.sum() > 0 else types.SimpleNamespace(a=-x, n=3)
        made.a = made.a * made.n
        return made.a


@program(*SIGNS)
class getter(nn.Module):
    def forward(self, x):
        get = operator.itemgetter(0) if x.sum() > 0 else operator.itemgetter(1)
        return get((x, x * 2))


@program(*SIGNS)
class count(nn.Module):
    def forward(self, x):
        numbers = itertools.count(1) if x.sum() > 0 else itertools.count(5)
        next(numbers)
        return x * next(numbers)


@program(*SIGNS)
class generator_of_numbers(nn.Module):
    def forward(self, x):
        draw = random.Random(1) if x.sum() > 0 else random.Random(2)
        return x * draw.randint(1, 100)


class Slots:
    __slots__ = ("__m", "v")

    def __init__(self, v, m):
        self.v, self.__m = v, m

    def product(self):
        return self.v * self.__m


@program(*SIGNS)
class slots_with_private_names(nn.Module):
    def forward(self, x):
        made = Slots(x, 1) if x.sum() > 0 else Slots(x + 1, 2)
        return made.product()


@program(*SIGNS, refused="branch-unsupported")
class cache_made_before_the_branch(nn.Module):
    def forward(self, x):
        calls = []

        @functools.lru_cache
        def double(n):
            calls.append(n)
            return n * 2

        y = x * double(2) if x.sum() > 0 else x
        return y + double(2), len(calls)
