"""Operators that eager's kernels refuse and stand-ins do not, where the program catches the error."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.export.probe import equal, refused, t

CALLS = {
    'clamp_to_complex': lambda x: x.clamp(max=1j),
    'clamp_min_to_complex': lambda x: torch.clamp_min(x, 1j),
    'in_place': lambda x: x.clone().add_(1j),
    'fill': lambda x: x.clone().fill_(1j),
    'compared': lambda x: x < 1j,
    'scalar_of_another_kind': lambda x: torch.full((2,), 1j, dtype=torch.float32),
    'value': lambda x: torch.addcmul(x, x, x, value=1j),
    'weight': lambda x: torch.lerp(x, x, 1j),
    'remainder': lambda x: x % 1j,
    'dtype': lambda x: x.long().softmax(0),
    'variance_of_integers': lambda x: x.long().var(),
    'bits_of_floats': lambda x: x & 1,
    'complex': lambda x: torch.relu(x * 1j),
    'sorted': lambda x: (x * 1j).sort(),
    'negative_power': lambda x: x.long() ** -1,
    'dtypes': lambda x: x[None] @ x.long()[:, None],
    'limits': lambda x: x.clone().uniform_(2, 1),
    'option': lambda x: torch.div(x, 2, rounding_mode='up'),
    'approximation': lambda x: F.gelu(x, approximate='a'),
    'beta': lambda x: F.smooth_l1_loss(x, x, beta=-1),
    'empty': lambda x: x[:0].max(),
    'empty_along': lambda x: x[:0].mode(0),
}


def tried(call, x):
    try:
        call(x)
    except Exception as e:
        return x + 1, type(e).__name__, str(e)
    return x - 1, '', ''


@equal
def words_and_ways():
    def f(x):
        return {name: tried(call, x) for name, call in CALLS.items()}

    return f, (t(3),)


@equal
def what_does_not_fail():
    calls = (torch.sin, torch.relu, lambda x: x.clamp(max=1), lambda x: x @ x, lambda x: x.max(), lambda x: x[None])

    def f(x):
        return [tried(call, x) for call in calls]

    return f, (t(3),)


@equal
def within_with():
    def f(x):
        try:
            with torch.no_grad():
                return x.clamp(max=1j)
        except RuntimeError:
            return x + 1

    return f, (t(3),)


@equal
def raised_again_as_another():
    def f(x):
        def attempt():
            try:
                return x.long().softmax(0)
            except NotImplementedError as error:
                raise ValueError('no kernel') from error

        try:
            return attempt()
        except ValueError as error:
            return x + len(str(error))

    return f, (t(3),)


@refused('caught-operator-error')
def fails_for_some_data():
    def f(x):
        try:
            return x.scatter(0, torch.zeros(1, dtype=torch.long), 1j)
        except RuntimeError:
            return x

    return f, (t(3),)
