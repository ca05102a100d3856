"""Random numbers; truth, comparison and conversion of sizes; promotion"""

# ruff: noqa: RUF005, SIM300, UP031

from __future__ import annotations

import array
import collections
import math
import numbers
import operator
import string
import textwrap
import typing

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from tests.export.probe import Case, auto, equal, ints, t

NAN = float('nan')


@equal
def equal_of_nan_and_alias():
    def f(x):
        return (
            x,
            torch.equal(x, x),
            torch.equal(x, x.clone()),
            x.equal(x.view(-1)),
            torch.equal(x[:0], x[:0]),
            torch.equal(x, x[:2]),
        )

    return Case(f, (torch.tensor([1.0, NAN, 2.0]),), also=[((torch.ones(3),), {})])


@equal
def allclose_forms():
    def f(x, y):
        return (
            x * 2,
            torch.allclose(x, y),
            x.allclose(y[:1]),
            torch.allclose(x, y, equal_nan=True),
            torch.isclose(x, y).all().item(),
        )

    return Case(
        f,
        (torch.ones(3), torch.ones(3)),
        also=[((torch.ones(3), torch.zeros(3)), {}), ((torch.full((3,), NAN),) * 2, {})],
    )


@equal
def random_in_place_forms():
    def f(x, i):
        return (
            x.clone().random_(5),
            i.clone().random_(3, 9),
            i.clone().random_(),
            x.clone().random_(2, 7),
            i.to(torch.uint8).random_(),
            x.t().clone().random_(10),
            x.clone().random_(-3, 3),
            i.bool().random_(),
        )

    return f, (t(3, 4), ints(5))


@equal
def random_operators():
    def f(x):
        return (
            torch.bernoulli(x.sigmoid()),
            x.clone().bernoulli_(0.3),
            x.clone().uniform_(1, 2),
            x.clone().normal_(1, 2),
            x.clone().exponential_(),
            x.clone().geometric_(0.5),
            x.clone().cauchy_(),
            x.clone().log_normal_(),
            torch.multinomial(x.softmax(1), 2),
            torch.randperm(5),
            torch.rand_like(x),
            torch.randint_like(x, 4),
            torch.poisson(x.abs()),
            torch.normal(x, x.abs()),
            torch.normal(0.0, x.abs()),
            F.gumbel_softmax(x),
            F.dropout(x, 0.5),
            torch.empty(3).uniform_(),
            nn.init.kaiming_uniform_(torch.empty(3, 3)),
            nn.init.orthogonal_(torch.empty(3, 3)),
        )

    return f, (t(3, 4),)


@equal
def random_with_dynamic_sizes():
    def f(x):
        n = x.shape[0]
        return (
            torch.rand(n),
            torch.randn(n, 2),
            torch.randint(0, n, (n,)),
            torch.randperm(n),
            torch.randint(n + 1, (2,)),
            torch.empty(n).bernoulli_(1 / n),
            torch.arange(n)[torch.randperm(n)],
        )

    return auto(f, t(4, 3), also=[t(7, 3)])


@equal
def truth_of_containers_with_sizes():
    def f(x):
        n = x.shape[0]
        c = [n - 4, n > 4, range(n - 4), 'a' * (n - 4), slice(n), (n - 4,), torch.Size([n])]
        return (
            x,
            [bool(v) for v in c],
            any([n - 4, 0]),
            all([n - 4, 1]),
            not (n - 4),
            (n - 4) or 'zero',
            (n - 4) and 'non',
            len([v for v in c if v]),
        )

    return auto(f, t(4, 3), also=[t(7, 3), t(5, 3)])


@equal
def size_comparisons_chain():
    def f(x, y):
        n, m = x.shape[0], y.shape[0]
        return (
            x.sum(),
            n < m < 10,
            n == m == 4,
            n != 4,
            (n, m) < (4, 6),
            [n, 1] == [4, 1],
            n is not None,
            n in (4, 5),
            n not in range(3, 6),
            (n > 3) + (m > 3),
            (n > 3) is True,
            (n > 3) == 1,
            min(n, m, 5),
            max((n, m), default=1),
            n.__lt__(m),
            (n > 2) & (m < 3),
            (n > 2) ^ True,
            ~(n > 2),
            -(n > 2),
            (n > 2) * 1.5,
        )

    return Case(
        f,
        (t(4), t(6)),
        dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO}),
        also=[((t(5), t(7)), {}), ((t(7), t(5)), {}), ((t(5), t(5)), {}), ((t(3), t(5)), {})],
    )


@equal
def size_float_conversions():
    def f(x):
        n = x.shape[0]
        h = n / 3
        return (
            x * h,
            float(n),
            int(h),
            round(h),
            round(h, 2),
            h // 1,
            h % 1,
            divmod(h, 1),
            h.is_integer(),
            (n / 2).as_integer_ratio(),
            n**0.5,
            n**-1,
            2**n,
            0.5**n,
            complex(n, 1),
            abs(-h),
            h == n / 3,
            h.hex(),
            math.floor(h),
            n * 0.1,
            int(n * 0.1),
            int(-h),
            -h // 1,
            str(h),
            h.__trunc__(),
            math.nextafter(h, 9),
            n // 0.7,
            n % 0.7,
        )

    return auto(f, t(4, 3), also=[t(7, 3), t(6, 3)])


@equal
def size_in_numpy():
    def f(x):
        n = x.shape[0]
        a = np.arange(n) * 2
        return (
            x + torch.from_numpy(a)[:, None],
            np.zeros(n).shape,
            int(np.ceil(n / 3)),
            np.array([n, 2]).max().item(),
            float(np.sqrt(n)),
            float(np.linspace(0, 1, n)[-1]),
        )

    return auto(f, t(4, 3), also=[t(7, 3)])


@equal
def size_in_array_array():
    def f(x):
        n = x.shape[0]
        a = array.array('i', [n, 2])
        return (
            x * a[0],
            a.tolist(),
            list(memoryview(a)),
            collections.deque([1, 2, 3, 4, 5, 6], maxlen=n),
            collections.Counter([n, n, 2])[n],
        )

    return auto(f, t(4, 3), also=[t(7, 3)])


@equal
def torch_size_object():
    def f(x):
        s = x.shape
        return (
            x,
            s + (1,),
            s[1:],
            s.numel(),
            s == (4, 3),
            s.index(3),
            s.count(3),
            list(s),
            s * 2,
            hash(s) == hash((4, 3)),
            torch.Size([s[0] + 1, 2]),
            s[::-1],
            len(s),
            type(s[:1]).__name__,
            max(s),
            tuple(s),
            x.size(),
            (2,) + s,
            sorted(s),
            s < (5,),
            {s: 1}[s],
        )

    return auto(f, t(4, 3), also=[t(7, 3), t(3, 3)])


@equal
def format_of_sizes_and_tensors():
    def f(x):
        n = x.shape[0]
        return (
            x,
            '%d %s %5.1f' % (n, n, n),
            '{0:>{1}}'.format('a', n),
            f'{x.shape}',
            f'{n=}',
            str(tuple(x.shape)),
            'x'.ljust(n, '.'),
            string.Template('$n').substitute(n=n),
            textwrap.shorten('hello world foo', n + 5),
            repr([n]),
            f'{n > 4}',
            '-'.join(str(i) for i in range(n)),
            str(x.dtype),
            f'{x.ndim}',
            bin(n),
            hex(n),
            oct(n),
            ascii(n),
            format(n, '04b'),
        )

    return auto(f, t(4, 3), also=[t(7, 3)])


@equal
def dict_ordering_with_sizes():
    def f(x, y):
        d = {x.shape[0]: 1}
        d[y.shape[0]] = 2
        d.setdefault(4, 3)
        d.pop(6, None)
        return (
            x.sum(),
            d,
            sorted(d.items()),
            collections.OrderedDict(sorted({'a': x.shape[0], 'b': y.shape[0]}.items(), key=lambda kv: kv[1])),
            max({'a': x.shape[0], 'b': y.shape[0]}.items(), key=operator.itemgetter(1))[0],
        )

    return Case(
        f,
        (t(4), t(6)),
        dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO}),
        also=[((t(5), t(7)), {}), ((t(7), t(5)), {}), ((t(5), t(5)), {}), ((t(3), t(5)), {})],
    )


@equal
def isinstance_of_sizes():
    def f(x):
        n = x.shape[0]
        return (
            x,
            isinstance(n, int),
            isinstance(n, numbers.Integral),
            isinstance(n / 2, float),
            type(n) is int,
            type(n > 2) is bool,
            isinstance(n, torch.SymInt),
            isinstance(n, (str, int)),
            issubclass(type(n), int),
            n.__class__.__name__,
            type(n / 2).__name__,
            type(n)(3.7),
            callable(n),
            isinstance(x, np.ndarray),
            isinstance(n, typing.SupportsInt),
            type(n).__mro__[1] is object,
            {int: 'i'}[type(n)],
        )

    return auto(f, t(4, 3), also=[t(7, 3)])


@equal
def reflected_ops_of_constants():
    def f(x):
        return (
            2 - x,
            2 / x,
            2 // x,
            2 % x,
            2**x,
            1 < x,
            True + x,
            1j * x,
            np.float32(2) * x,
            np.float64(2) - x,
            operator.matmul(x, x),
            x.__rsub__(1),
            5 & x.int(),
            1 << x.int().abs(),
            7 ^ x.int(),
            -x,
            +x,
            ~x.int(),
            x.__rpow__(2),
        )

    return f, (t(3),)


@equal
def promotion_zero_dim_matrix():
    def f(x, z):
        outs = []
        for d in (torch.int32, torch.half, torch.bfloat16, torch.float64, torch.complex64, torch.bool, torch.uint8):
            w = z.to(d)
            outs += [
                x * w,
                (x.int() + w).dtype,
                torch.add(x, w, alpha=2).dtype if d is not torch.bool else 0,
                torch.where(x > 0, x, w).dtype,
                torch.cat([x, w[None]]).dtype,
                torch.stack([x.sum(), w]).dtype,
                torch.result_type(x.int(), w),
                (w + 1).dtype,
                (w + 1.5).dtype,
                (w * True).dtype,
                (1 - w).dtype if d is not torch.bool else 0,
            ]
        return outs

    return f, (t(3), torch.tensor(2))


@equal
def division_rounding_modes():
    def f(x, i):
        return (
            torch.div(i, 3, rounding_mode='floor'),
            torch.div(i, 3, rounding_mode='trunc'),
            torch.div(x, -0.7, rounding_mode='floor'),
            i // -3,
            i % -3,
            torch.fmod(i, -3),
            torch.remainder(i, 3),
            i.float() // 0,
            x / 0,
            torch.floor_divide(i, 2),
            i.true_divide(2),
            i / i,
            i**2,
            i.float() ** -1,
            torch.tensor(-7) // 2,
            i.bitwise_right_shift(1),
            torch.gcd(i, torch.tensor(4)),
        )

    return f, (t(3), torch.tensor([-7, 5, 2, 9]))
