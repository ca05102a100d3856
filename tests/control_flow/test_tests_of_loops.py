"""In an iteration of a `while` its test holds, in all forms in which the program has the value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import dynamo_lite

CASES: dict[str, Callable[..., Any]] = {}


def case(function: Callable[..., Any]) -> Callable[..., Any]:
    CASES[function.__name__] = function
    return function


@case
def a_bool_that_each_round_sets(x, f):
    c, r, n = bool(f), x.sum(0), 0
    while c:
        r = r + x.sum(0, keepdim=c).sum()
        n += 1
        c = bool(r.abs().sum() < 10) and n < 20
    return r


@case
def of_a_sum(x, f):
    c = bool(x.sum() > 0)
    while c:
        x = x - x.sum(0, keepdim=c) - 1
        c = bool(x.sum() > 0)
    return x


@case
def turned(x, f):
    c = not bool(f)
    while not c:
        x = x - x.sum(0, keepdim=not c) - 1
        c = bool(x.sum() < 0)
    return x


@case
def another_name_that_stays(x, f):
    c = f.item()
    d = c
    while c:
        x = x.sum(0, keepdim=d).abs() * 0.1 + x + 1
        c = x.sum().item() < 10
    return x


@case
def a_test_that_stays(x, f):
    c = bool(f)
    while c and -1 < x.sum() < 20:
        x = x + x.sum(0, keepdim=c).abs() + 1
    return x


@case
def a_number(x, f):
    n = x.abs().sum().int().item()
    while n:
        x = x + x.sum(0, keepdim=bool(n)) * 0.1
        n -= 1
    return x


# Here the value is not the test in each round, and the sides differ.


@case
def changed_before_its_use(x, f):
    c = bool(f)
    while c:
        c = bool(x.sum() < 10)
        x = x + (1 if c else 2)
    return x


@case
def the_test_of_the_round_before(x, f):
    c, d = bool(f), bool(x.sum() > 0)
    while c:
        x = x + (1 if d else 2)
        d = c
        c = bool(x.sum() < 10)
    return x


@case
def the_test_at_first_only(x, f):
    c = bool(f)
    d = c
    while c:
        x = x + (1 if d else 2)
        d = bool(x.sum() < 3)
        c = bool(x.sum() < 10)
    return x


@case
def a_tensor_changed_in_place(x, f):
    f = f.clone()
    while f:
        x = x + (1 if f else 2)
        f.copy_(x.sum() < 10)
        x = x + (1 if f else 2)
    return x


@case
def a_tensor_that_stays_but_for_its_data(x, f):
    f = f.clone()
    g, n = f & True, 0
    while g:
        x = x + (1 if f else 2)
        f.logical_not_()
        n += 1
        g = f if n > 30 else x.sum() < 20
    return x


@case
def a_tensor(x, f):
    c = f
    while c:
        x = x + (1 if c else 2)
        c = x.sum() < 10
    return x


@pytest.mark.parametrize("name", CASES)
def test_within_a_round_the_test_holds(name):
    function = CASES[name]

    class Program(torch.nn.Module):
        def forward(self, x, f):
            return function(x, f)

    x = torch.ones(3) * 0.5
    calls = [(a, torch.tensor(f)) for a in (x, -x, x * 8, x * 2) for f in (True, False)]
    with torch.no_grad():
        program = dynamo_lite.export(Program(), calls[0]).module()
        for a, f in calls:
            assert torch.equal(program(a.clone(), f.clone()), function(a.clone(), f.clone())), (a, f)
