"""Sizes in dispatch, sets, math, fractions, ranges, itertools, strings"""

# ruff: noqa: E742, F841, RUF015, UP033

from __future__ import annotations

import bisect
import decimal
import fractions
import functools
import heapq
import itertools
import math
import operator
import statistics
import struct

import torch
from torch.export import Dim

from tests.export.probe import Case, auto, equal, promised, t


@equal
def singledispatch_on_sizes():
    @functools.singledispatch
    def g(a, x):
        return x

    @g.register(int)
    def _(a, x):
        return x * 2

    @g.register(torch.Tensor)
    def _(a, x):
        return x * 3

    @g.register(float)
    def _(a, x):
        return x * 4

    @g.register(bool)
    def _(a, x):
        return x * 5

    def f(x):
        n = x.shape[0]
        return g(n, x), g(x, x), g(n / 2, x), g(n > 3, x), g('s', x), g.dispatch(int) is g.registry[int]

    return auto(f, t(4, 3), also=[t(6, 3)])


@equal
def lru_cache_on_sizes():
    @functools.lru_cache(maxsize=None)
    def sq(n):
        return n * n

    def f(x):
        loc = functools.lru_cache(lambda n: n + 1)
        return x * loc(x.shape[0]) + loc(x.shape[0]), loc.cache_info().hits

    return auto(f, t(4, 3), also=[t(6, 3)])


@equal
def total_ordering_with_sizes():
    @functools.total_ordering
    class O:
        def __init__(self, n):
            self.n = n

        def __eq__(self, o):
            return self.n == o.n

        def __lt__(self, o):
            return self.n < o.n

        def __hash__(self):
            return hash(self.n)

    def f(x, y):
        a, b = O(x.shape[0]), O(y.shape[0])
        return (
            (x.sum() if a >= b else y.sum()),
            max(a, b).n,
            sorted([a, b])[0].n,
            a > b,
            min([a, b], key=lambda o: -o.n).n,
        )

    return Case(
        f,
        (t(4), t(6)),
        dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO}),
        also=[((t(5), t(7)), {}), ((t(7), t(5)), {}), ((t(5), t(5)), {})],
    )


@equal
def sizes_in_sets_dicts():
    def f(x, y):
        n, m = x.shape[0], y.shape[0]
        d = {n: 'n', m: 'm', 3: 'three'}
        s = {n, m, n + m - m}
        return (
            x.sum() + len(s),
            len(d),
            d[n],
            n in d,
            (n + 1) in s,
            sorted(d)[0],
            frozenset([n, 2]) == frozenset([2, n]),
            list(dict.fromkeys([n, m, n])),
        )

    return Case(
        f,
        (t(4), t(6)),
        dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO}),
        also=[((t(5), t(7)), {}), ((t(7), t(5)), {}), ((t(5), t(5)), {}), ((t(3), t(5)), {})],
    )


@equal
def size_divmod_pow_bits():
    def f(x):
        n = x.shape[0]
        q, r = divmod(n, 3)
        return (
            x.sum(),
            q,
            r,
            n**2,
            pow(n, 2, 7),
            n << 1,
            n >> 1,
            n & -n,
            n | 1,
            ~n,
            -n // 3,
            -n % 3,
            n.bit_length(),
            (n - 1).bit_count(),
            divmod(-n, 4),
            round(n, -1),
            n.__floordiv__(2),
            operator.index(n),
            int(n),
            n.conjugate(),
            n.real,
            n.numerator,
        )

    return auto(f, t(4, 3), also=[t(6, 3), t(7, 3)])


@equal
def size_math_functions():
    def f(x):
        n = x.shape[0]
        return (
            x * math.sqrt(n),
            math.floor(n / 3),
            math.ceil(n / 3),
            math.trunc(n / 2),
            math.gcd(n, 6),
            math.isqrt(n),
            math.log2(n),
            math.comb(n, 2),
            math.factorial(3),
            math.prod([n, 2]),
            math.fsum([n, 0.5]),
            math.hypot(n, 3),
            math.copysign(1, -n),
            math.fmod(n, 3),
            math.lcm(n, 2),
            math.log(n, 2),
            math.exp(-n),
            math.isclose(n, 4.0),
            math.dist([n], [0]),
            math.modf(n / 4),
            math.frexp(n),
            math.ldexp(n, 2),
        )

    return auto(f, t(4, 3), also=[t(6, 3), t(7, 3)])


@equal
def size_strings():
    def f(x):
        n = x.shape[0]
        s = f"{n:>5}|{n!r}|{n:03d}|{n:x}|{n:,}|{n / 2:.2f}"
        return x * len(str(n)), s

    return auto(f, t(4, 3), also=[t(6, 3), t(12, 3)])


@equal
def fractions_and_decimal():
    def f(x):
        n = x.shape[0]
        fr = fractions.Fraction(n, 6)
        de = decimal.Decimal(n) / 4
        return x * float(fr), fr.numerator, str(de)

    return auto(f, t(4, 3), also=[t(6, 3), t(12, 3)])


@equal
def bisect_heapq_sizes():
    def f(x):
        n = x.shape[0]
        i = bisect.bisect([2, 5, 8], n)
        h = [9, n, 1]
        heapq.heapify(h)
        heapq.heappush(h, n - 1)
        return x * i, heapq.heappop(h), heapq.nsmallest(2, h), heapq.merge([n], [3]).__next__()

    return auto(f, t(4, 3), also=[t(6, 3), t(12, 3)])


@equal
def statistics_of_sizes():
    def f(x):
        n = x.shape[0]
        return x * statistics.mean([n, 2, 3]), statistics.median([n, 5, 1])

    return auto(f, t(4, 3), also=[t(6, 3), t(12, 3)])


@equal
def struct_and_bytes_of_sizes():
    def f(x):
        n = x.shape[0]
        return (
            x * struct.unpack('<i', struct.pack('<i', n))[0],
            n.to_bytes(2, 'big')[1],
            bytes([n])[0],
            bytearray(n).__len__(),
            len('a' * n),
            chr(n + 60),
            'abcdefghijklmnop'[n],
            (1, 2) * n,
        )

    return auto(f, t(4, 3), also=[t(6, 3), t(12, 3)])


@equal
def range_objects_of_sizes():
    def f(x):
        n = x.shape[0]
        r = range(1, n, 2)
        return (
            x * len(r),
            3 in r,
            r[-1],
            r.stop,
            list(reversed(range(n)))[0],
            sum(r),
            r.index(1),
            r == range(1, n, 2),
            r.count(2),
            range(n)[1:].start,
            slice(0, n).indices(5),
        )

    return auto(f, t(4, 3), also=[t(6, 3), t(7, 3)])


@equal
def itertools_of_sizes():
    def f(x):
        n = x.shape[0]
        a = list(itertools.islice(itertools.count(n), 2))
        b = list(itertools.repeat(x, n))
        c = list(itertools.accumulate([n, 1, 2]))
        d = list(itertools.batched(range(6), 4)) if hasattr(itertools, 'batched') else None
        e = list(itertools.takewhile(lambda v: v < n, range(10)))
        g = list(itertools.compress('abc', [n > 2, n > 5, 1]))
        return (
            a,
            len(b),
            c,
            len(e),
            g,
            [k for k, _ in itertools.groupby([n, n, 1])],
            next(itertools.product([n], [2])),
            list(itertools.pairwise([n, 1, 2])),
            list(itertools.starmap(operator.mul, [(n, x.sum())])),
        )

    return auto(f, t(4, 3), also=[t(6, 3), t(7, 3)])


@equal
def floor_division_of_sizes_by_floats():
    """6.0 // 0.1 is 59.0, and 6.0 / 0.1 is 60.0: the number is taken."""

    def f(x):
        n = x.shape[0]
        return n // 0.1, n * 0.1 // 0.1, n // (n * 0.1), divmod(n, 0.1), -n // 0.3, 1.5 // n, n // 2.5, n // 2.0

    return auto(f, torch.ones(6, 4), also=[torch.ones(n, 4) for n in (3, 4, 5, 7, 10)])


@equal
def floor_division_of_sizes_by_short_floats():
    def f(x):
        n = x.shape[0]
        return n // 2.5, -n // 0.75, divmod(n, 2.0), (n / 2) // 1, x.new_zeros(int(n // 2.5))

    return promised(f, torch.ones(6, 4), also=[torch.ones(n, 4) for n in (3, 4, 5, 7, 10)])


@equal
def floor_division_of_data():
    def f(x):
        v = x.sum().item()
        return v // 0.1, divmod(v, 0.1), v // -0.3, 1 // v, 1.5 // v, (v / 2) // 1, int(v // 0.1)

    return auto(f, torch.ones(6, 4), also=[torch.ones(n, 4) * s for n in (3, 4, 7, 10) for s in (1, -1)])
