"""Tensors that Python takes for numbers or formats: the class of the error where they are none."""

from __future__ import annotations

import math
import operator

import torch

from tests.export.probe import equal, refused, t


def raised(convert, *tensors):
    found = []
    for tensor in tensors:
        try:
            convert(tensor)
        except Exception as e:
            found.append(type(e).__name__)
        else:
            found.append('')
    return found


def several():
    return t(3), torch.ones(0), torch.ones(3, dtype=torch.int64), torch.ones(1, 2)


@equal
def numbers():
    def f(x):
        conversions = (int, float, complex, bool, math.sqrt, math.floor, torch.Tensor.item, range, math.trunc)
        return x, [raised(convert, *several()) for convert in conversions]

    return f, (t(3),)


@equal
def index():
    def f(x, i):
        return x, raised(operator.index, *several()), x[: operator.index(i)].shape[0] <= 3

    return f, (t(3), torch.ones((), dtype=torch.int64))


@equal
def only_the_number_is_wanted():
    def f(x):
        try:
            return x * float(x)
        except ValueError:
            return x + 1

    return f, (t(3),)


@equal
def formats():
    def f(x, i):
        return x, [raised(lambda v, s=spec: format(v, s), x, x.sum(), i, i > 0) for spec in ('d', '.2f', '>5', 'q', '')]

    return f, (t(3), torch.tensor(2))


@refused('tensor-repr')
def format_that_is_used():
    def f(x):
        return x, f'{x.sum():.2f}'

    return f, (t(3),)
