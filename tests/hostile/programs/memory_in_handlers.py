"""Operators that see memory beside the elements of a tensor, where the program catches their errors.

Whether eager raises rests on how large a storage is, on where a tensor begins in it, and on what the program does not
show: an input may be a part of something larger.
"""

from __future__ import annotations

import contextlib

import torch
from torch import nn

from tests.export.probe import Case, auto, equal, refused, sound, t, with_gradients


def shown(x, count, *offset):
    try:
        return x.as_strided((count,), (1,), *offset) * 1
    except RuntimeError as error:
        return x + len(str(error))


def in_double(x):
    try:
        return x.view(torch.float64)
    except RuntimeError:
        return x + 100


def in_pairs(x):
    try:
        return torch.view_as_complex(x)
    except RuntimeError:
        return x + 100


@equal
def part_of_an_input():
    return lambda x: [shown(x[:2], 4), shown(x[2:], 4), shown(x[2:], 4, 0), shown(x[:2], 5), shown(x[:0], 3)], (t(4),)


@equal
def part_of_a_result():
    return lambda x: [shown(v, n) for v in (x.sin()[:2], x.new_ones(2), x[None].expand(3, 4)) for n in (2, 4, 12)], (
        t(4),
    )


@equal
def the_same_call_of_smaller_memory():
    return lambda x: [shown(v, 4) for v in (x.new_ones(2), x[:2], x.new_ones(2), x.new_ones(4)[:2])], (t(4),)


@equal
def input_that_is_a_part():
    return Case(lambda x: shown(x, 8), (t(16)[:4],), also=[((t(4),), {}), ((t(16)[10:14],), {})])


@equal
def input_that_is_no_part():
    return Case(lambda x: shown(x, 8), (t(4),), also=[((t(16)[:4],), {}), ((t(16)[4:8],), {})])


@equal
def input_that_begins_later():
    return Case(lambda x: shown(x, 8), (t(16)[8:12],), also=[((t(16)[10:14],), {}), ((t(16)[:4],), {})])


@equal
def input_without_elements():
    return Case(lambda x: shown(x, 3), (t(3)[:0],), also=[((t(0),), {})])


@equal
def inputs_that_share():
    whole = t(8)
    return Case(lambda x, y: shown(x, 6) * y.sum(), (whole[:2], whole[4:]), also=[((t(2), t(4)), {})])


def others():
    return [*map(t, range(4, 9)), t(10)[:5], t(10)[2:5], t(10)[:8]]


@equal
def larger_size_varies():
    return auto(lambda x: shown(x, 6), t(8), also=others())


@equal
def smaller_size_varies():
    return auto(lambda x: shown(x, 6), t(4), also=others())


@equal
def size_of_a_part_varies():
    return auto(lambda x: shown(x, 6), t(8)[:4], also=others())


@equal
def size_of_a_result_varies():
    return auto(lambda x: shown(x.sin()[1:], 5, 1), t(8), also=others())


class Held(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(6))
        whole = torch.randn(8)
        self.register_buffer("a", whole[:2])
        self.register_buffer("b", whole[4:])
        self.c = torch.randn(8)[2:4]

    def forward(self, x):
        return [shown(self.w[2:4], 6, 0), shown(self.a, 6), shown(self.b, 6), shown(self.c, 6), shown(self.c, 7, 0), x]


@equal
def held_by_the_module():
    return Held(), (t(6),)


@equal
def in_place():
    def f(x):
        y, z = x.clone()[:2], x.clone()[:2]
        with contextlib.suppress(RuntimeError):
            y.as_strided_((4,), (1,))
        with contextlib.suppress(RuntimeError):
            z.as_strided_((5,), (1,))
        return y * 1, z * 1

    return f, (t(4),)


@equal
def copied():
    def f(x):
        try:
            return torch.as_strided_copy(x[:2], (4,), (1,))
        except RuntimeError:
            return x + 100

    return f, (t(4),)


@equal
def with_a_gradient():
    return with_gradients(lambda x: shown((x * 2)[:1], 3), t(3, requires_grad=True))


@equal
def handler_of_another_error():
    def f(x):
        try:
            return x[:2].as_strided((4,), (1,)) * 1
        except KeyError:
            return x + 100

    return f, (t(4),)


@equal
def another_type_of_a_part():
    return Case(in_double, (t(16)[8:12],), also=[((t(16)[9:13],), {})])


@equal
def another_type_of_an_odd_part():
    return Case(in_double, (t(16)[9:13],), also=[((t(16)[8:12],), {})])


@equal
def pairs_of_a_part():
    return Case(in_pairs, (t(17)[2:10].view(4, 2),), also=[((t(17)[1:9].view(4, 2),), {})])


@equal
def pairs_of_an_odd_part():
    return Case(in_pairs, (t(17)[1:9].view(4, 2),), also=[((t(17)[2:10].view(4, 2),), {})])


@equal
def conjugated_and_negated():
    def f(x):
        found = []
        for call in (lambda: torch.view_as_real(x.conj()), lambda: x.conj().imag.view(torch.int32)):
            try:
                found.append(call() * 1)
            except RuntimeError as error:
                found.append(x + len(str(error)))
        return found

    return f, (t(3, dtype=torch.complex64),)


@equal
def within_a_branch():
    def f(x):
        if x.sum() > 0:
            return shown(x[:2], 4)
        return shown(x[1:], 4, 0)

    return f, (t(4),)


def quantized(x, scale, zero_point):
    return torch.fake_quantize_per_channel_affine(x, scale, zero_point, 0, 3, 4)


def zero_points():
    """Neither zeros nor ones are in the range; these are."""
    return t(2, 2), torch.ones(2), torch.tensor([3, 4], dtype=torch.int32)


@sound("no-meta-kernel", "caught-operator-error")
def fails_for_zeros_and_ones():
    def f(*args):
        try:
            return quantized(*args)
        except RuntimeError:
            return args[0] + 100

    return f, zero_points()


@sound("no-meta-kernel")
def fails_for_zeros_and_ones_and_nothing_catches():
    return quantized, zero_points()


@refused("caught-operator-error")
def order_of_a_search():
    def f(x, order):
        try:
            return torch.searchsorted(x, x, sorter=order)
        except RuntimeError:
            return x + 100

    return f, (t(3), torch.tensor([0, 1, 7]))
