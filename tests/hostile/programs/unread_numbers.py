"""Attributes that were not there, and that each call leaves a number of the data: right where no call reads it first"""

# ruff: noqa: B010

from __future__ import annotations

import torch
from torch import nn

from tests.export.probe import Case, equal, refused

ONES = torch.tensor([1.0, -1.0, 1.0])
FEW = torch.tensor([1.0, -1.0, -1.0])
NONE = torch.tensor([-1.0, -1.0, -1.0])


def case(program: nn.Module) -> Case:
    return Case(program, (ONES,), also=[((FEW,), {}), ((NONE,), {}), ((ONES,), {})])


@equal
def a_count() -> Case:
    class Counts(nn.Module):
        def forward(self, x):
            found = (x > 0).nonzero()
            self.found = len(found)
            return x * len(found)

    return case(Counts())


@equal
def a_count_that_is_read_after_it_is_written() -> Case:
    class Counts(nn.Module):
        def forward(self, x):
            self.found = (x > 0).nonzero().shape[0]
            return x * self.found

    return case(Counts())


@equal
def a_float() -> Case:
    class Sums(nn.Module):
        def forward(self, x):
            self.total = x.sum().item()
            return x * 2

    return case(Sums())


@equal
def a_truth() -> Case:
    class Asks(nn.Module):
        def forward(self, x):
            self.any = (x > 0).any().item()
            return x * 2

    return case(Asks())


@equal
def of_a_plain_object() -> Case:
    class Stats:
        pass

    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.stats = Stats()

        def forward(self, x):
            self.stats.found = (x > 0).nonzero().shape[0]
            return x + 1

    return case(Counts())


@equal
def two_of_them() -> Case:
    class Counts(nn.Module):
        def forward(self, x):
            self.found = (x > 0).nonzero().shape[0]
            self.rest = (x <= 0).nonzero().shape[0]
            return x * (self.found - self.rest)

    return case(Counts())


@equal
def set_to_zero_first() -> Case:
    class Counts(nn.Module):
        def forward(self, x):
            self.found = 0
            self.found = self.found + (x > 0).nonzero().shape[0]
            return x * self.found

    return case(Counts())


@refused("python-state")
def asked_whether_it_is_there() -> Case:
    class Counts(nn.Module):
        def forward(self, x):
            first = not hasattr(self, "found")
            self.found = (x > 0).nonzero().shape[0]
            return x + 1 if first else x - 1

    return case(Counts())


@refused("python-state")
def read_by_the_next_call() -> Case:
    class Counts(nn.Module):
        def forward(self, x):
            before = getattr(self, "found", 0)
            self.found = (x > 0).nonzero().shape[0]
            return x + before

    return case(Counts())


@refused("python-state")
def kept_from_the_first_call() -> Case:
    class Counts(nn.Module):
        def forward(self, x):
            if not hasattr(self, "found"):
                self.found = (x > 0).nonzero().shape[0]
            return x * self.found

    return case(Counts())


@refused("python-state")
def kept_and_not_used() -> Case:
    class Counts(nn.Module):
        def forward(self, x):
            if "found" not in self.__dict__:
                self.found = (x > 0).nonzero().shape[0]
            return x * 2

    return case(Counts())


@refused("python-state")
def read_through_the_namespace() -> Case:
    class Counts(nn.Module):
        def forward(self, x):
            before = vars(self).get("found", 0)
            self.found = (x > 0).nonzero().shape[0]
            return x + before

    return case(Counts())


@refused("python-state")
def read_by_another_name() -> Case:
    class Stats:
        pass

    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.stats = self.alias = Stats()

        def forward(self, x):
            before = self.alias.found if hasattr(self.alias, "found") else 0
            setattr(self.stats, "found", (x > 0).nonzero().shape[0])
            return x + before

    return case(Counts())


@refused("python-state")
def a_sum_of_all_calls() -> Case:
    class Sums(nn.Module):
        def forward(self, x):
            self.total = getattr(self, "total", 0.0) + x.sum().item()
            return x * 2

    return case(Sums())


@refused("python-state")
def a_dict_of_all_attributes() -> Case:
    class Counts(nn.Module):
        def forward(self, x):
            n = len(self.__dict__)
            self.found = (x > 0).nonzero().shape[0]
            return x * n

    return case(Counts())
