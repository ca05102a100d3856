"""Attributes of sizes: those of int, float and bool, and no others"""

from __future__ import annotations

import copy
import operator

import torch
from torch.export import Dim

from tests.export.probe import Case, equal, t

NAMES = (
    *('node', 'wrap_node', 'maybe_as_int', '__sym_max__', '__sym_float__', '__dict__', '__array__', '__weakref__'),
    *('__module__', '__slots__', '__iter__', 'bit_length', 'real', 'imag', 'numerator', 'is_integer', '__index__'),
)


def auto(f, *args, also):
    shapes = ({0: Dim.AUTO},) + (None,) * (len(args) - 1)
    return Case(f, args, dynamic_shapes=shapes, also=[((a, *args[1:]), {}) for a in also])


@equal
def which_there_are():
    def f(x):
        n = x.shape[0]
        found = [[hasattr(v, name) for name in NAMES] for v in (n, n / 2, n > 4)]
        return x, found, [getattr(n, name, None) is None for name in NAMES]

    return auto(f, t(4, 3), also=[t(7, 3)])


@equal
def their_names():
    def f(x):
        n = x.shape[0]
        return x, dir(n) == dir(4), dir(n / 2) == dir(0.5), dir(n > 2) == dir(True), n.__doc__ == int.__doc__

    return auto(f, t(4, 3), also=[t(7, 3)])


@equal
def parts_of_a_truth():
    def f(x):
        longer = x.shape[0] > 4
        return x * longer.real, longer.imag, longer.numerator, longer.denominator, type(longer.real).__name__

    return auto(f, t(4, 3), also=[t(7, 3)])


@equal
def error_of_a_missing_one():
    def f(x):
        try:
            operator.attrgetter('node')(x.shape[0])
        except AttributeError as e:
            return x, str(e), e.name
        return x, '', ''

    return auto(f, t(4, 3), also=[t(7, 3)])


@equal
def no_variables():
    def f(x):
        try:
            vars(x.shape[0])
        except TypeError as e:
            return x, str(e)
        return x, ''

    return auto(f, t(4, 3), also=[t(7, 3)])


@equal
def encoder_by_attributes():
    class P:
        pass

    def encode(v):
        if hasattr(v, '__dict__'):
            return {k: encode(w) for k, w in vars(v).items()}
        if hasattr(v, '__iter__'):
            return [encode(w) for w in v]
        return 'array' if hasattr(v, '__array__') else v

    def f(x):
        p = P()
        p.n, p.h, p.s = x.shape[0], x.shape[0] / 2, [x.shape[0] > 3]
        return x, encode(p), copy.deepcopy([x.shape[0], x.shape[0] / 2, x.shape[0] > 4])

    return auto(f, t(4, 3), also=[t(7, 3)])


@equal
def numpy_asks_for_array():
    import numpy as np

    def f(x):
        n = x.shape[0]
        y = x * torch.from_numpy(np.asarray([n, n > 4, n]))
        return y, float(np.sqrt(n)), int(np.add(n, 1)), bool(np.equal(n, 4))

    return auto(f, t(4, 3), also=[t(7, 3)])
