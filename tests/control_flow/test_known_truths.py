"""What a side of a branch depends on is known there, in all its forms, unless it is changed in place."""

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
def a_return(x, f):
    c = bool(f)
    if c:
        return x.sum(0, keepdim=c).sum()
    return x.sum()


@case
def both_sides(x, f):
    c = bool(f)
    if c:
        y = x.sum(0, keepdim=c) * 2
    else:
        y = x.sum(0, keepdim=True)
    return y


@case
def negated(x, f):
    c = bool(f)
    if not c:
        y = x.sum(0, keepdim=c)
    else:
        y = x.sum(0)
    return y


@case
def an_item(x, f):
    c = f.item()
    if c:
        y = x.sum(0, keepdim=c)
    else:
        y = x.sum(0, keepdim=not c)
    return y


@case
def in_itself(x, f):
    c = x.sum() > 0
    b = bool(c)
    if b:
        y = x.softmax(0) if b else x
    else:
        y = x.relu()
    return y


@case
def an_index_of_a_list(x, f):
    c = bool(f)
    if c:
        y = x * [1, 5][c]
    else:
        y = x * [1, 5][c]
    return y


@case
def a_text(x, f):
    c = bool(f)
    if c:
        y = x * len(f"{c}")
    else:
        y = x * len(f"{c}")
    return y


@case
def by_identity(x, f):
    c = bool(f)
    if c:
        y = x * (2 if c is True else 3)
    else:
        y = x * (2 if c is False else 3)
    return y


@case
def an_index(x, f):
    c = bool(f)
    if c:
        y = x[int(c)]
    else:
        y = x[int(c)]
    return y


@case
def in_a_call(x, f):
    c = bool(f)

    def go(flag):
        return x.sum(0, keepdim=flag)

    if c:
        y = go(c)
    else:
        y = go(not c)
    return y


@case
def two_flags(x, f):
    c = bool(f)
    d = bool(x.sum() > 3)
    if c and d:
        y = x.sum(0, keepdim=c).expand(2, 3) + x.sum(0, keepdim=d)
    else:
        y = x * 1
    return y


@case
def a_key(x, f):
    c = bool(f)
    t = {True: 2, False: 3}
    if c:
        y = x * t[c]
    else:
        y = x * t[c]
    return y


@case
def the_tensor(x, f):
    if f:
        y = x.sum(0, keepdim=bool(f))
    else:
        y = x.sum(0, keepdim=not f)
    return y


@case
def in_an_expression(x, f):
    c = bool(f)
    y = x.sum(0, keepdim=c).sum() if c else x.sum(0, keepdim=c).mean()
    return y


@case
def dropout(x, f):
    c = bool(f)
    if c:
        y = torch.nn.functional.dropout(x, 0.0, c)
    else:
        y = torch.nn.functional.dropout(x, 0.5, c)
    return y


@case
def a_number(x, f):
    n = f.int().item()
    if n == 1:
        y = x.sum(n) * torch.ones(n)
    else:
        y = x.sum(1)
    return y


@case
def behind_the_branch(x, f):
    c = bool(f)
    if c:
        y = x * 2
    else:
        y = x * 3
    return y, c


@case
def an_argument_of_sort(x, f):
    c = bool(f)
    if c:
        y = x.sort(descending=c)[0]
    else:
        y = x.sort(descending=c)[0]
    return y


@case
def changed_if(x, f):
    f = f.clone()
    if f:
        f.logical_not_()
        if f:
            y = x * 2
        else:
            y = x * 3
    else:
        y = x
    return y


@case
def changed_bool(x, f):
    f = f.clone()
    if f:
        f.logical_not_()
        y = x * (2 if bool(f) else 3)
    else:
        y = x
    return y


@case
def changed_not(x, f):
    f = f.clone()
    if f:
        f.logical_not_()
        y = x * (2 if not f else 3)
    else:
        y = x
    return y


@case
def changed_view(x, f):
    f = f.clone()
    g = f.view(1)
    if f:
        g.zero_()
        y = x * (2 if f else 3)
    else:
        y = x
    return y


@case
def changed_c(x, f):
    f = f.clone()
    c = bool(f)
    if c:
        f.logical_not_()
        y = x * (2 if c else 3) * (5 if bool(f) else 7)
    else:
        y = x
    return y


@case
def changed_c2(x, f):
    f = f.clone()
    c = bool(f)
    f.logical_not_()
    if c:
        y = x * (2 if c else 3) * (5 if f else 7)
    else:
        y = x * (5 if f else 7)
    return y


X = torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("name", CASES)
def test_a_known_truth(name: str) -> None:
    function = CASES[name]
    args = X.clone(), torch.tensor(True)
    program = dynamo_lite.export(function, args).module()
    for x in (X, -X, X * 0):
        for flag in (True, False):
            torch.testing.assert_close(program(x.clone(), torch.tensor(flag)), function(x.clone(), torch.tensor(flag)))
