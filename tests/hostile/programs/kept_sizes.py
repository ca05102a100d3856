"""Sizes kept for the next call"""

from __future__ import annotations

import torch
from torch import nn
from torch.export import Dim

from tests.export.probe import Case, equal, refused, t


class Body(nn.Module):
    def __init__(self, body, **attrs):
        super().__init__()
        self.body = body
        for n, v in attrs.items():
            setattr(self, n, v)

    def forward(self, x):
        return self.body(self, x)


@refused("python-state")
def alike_identity():
    def body(s, x):
        if s.k is None:
            s.k = s.z = [1]
            return x * 2
        y = x * (2 if s.k is s.z else 1)
        s.k = list(s.k)
        return y

    return Body(body, k=None), (t(3),)


D = {0: Dim("n")}
DA = {0: Dim.AUTO}


def dyn(prog, spec=None, sizes=((7,), (2,))):
    return Case(prog, (t(5),), also=[((t(*s),), {}) for s in sizes], dynamic_shapes=(spec or D,))


def size_body(s, x):
    if s.n != x.shape[0]:
        s.n = x.shape[0]
    return x * 2


@equal
def a5():
    return dyn(Body(size_body, n=0))


@equal
def a5_none():
    return dyn(Body(size_body, n=None))


@equal
def a5_auto():
    return dyn(Body(size_body, n=0), DA)


def size_body_used(s, x):
    if s.n != x.shape[0]:
        s.n = x.shape[0]
    return x * s.n


@equal
def a5_used():
    return dyn(Body(size_body_used, n=None))


@equal
def a5_used_auto():
    return dyn(Body(size_body_used, n=None), DA)


@equal
def tuple_size_auto():
    def body(s, x):
        if s.n != (x.shape[0], 1):
            s.n = (x.shape[0], 1)
        return x * s.n[0]

    return dyn(Body(body, n=None), DA)


@equal
def shape_kept_auto():
    def body(s, x):
        if s.n != x.shape:
            s.n = x.shape
        return x * s.n[0]

    return dyn(Body(body, n=None), DA)


@equal
def list_size_auto():
    def body(s, x):
        if not s.n:
            s.n.append(x.shape[0])
        return x * s.n[0]

    return dyn(Body(body, n=[]), DA)


@equal
def dict_size_auto():
    def body(s, x):
        if "n" not in s.n:
            s.n["n"] = x.shape[0] * 2
        return x * s.n["n"]

    return dyn(Body(body, n={}), DA)


@equal
def dict_key_auto():
    def body(s, x):
        if x.shape[0] not in s.n:
            s.n[x.shape[0]] = 1
        return x * len(s.n)

    return dyn(Body(body, n={}), DA)


@equal
def closure_auto():
    n = None

    def f(x):
        nonlocal n
        if n != x.shape[0]:
            n = x.shape[0]
        return x * n

    return dyn(f, DA)


@equal
def max_auto():
    def body(s, x):
        if x.shape[0] > s.n:
            s.n = x.shape[0]
        return x * 2

    return dyn(Body(body, n=0), DA)


@equal
def max_used():
    def body(s, x):
        if x.shape[0] > s.n:
            s.n = x.shape[0]
        return x * s.n

    return dyn(Body(body, n=0), DA)


@equal
def mask_grows_auto():
    def body(s, x):
        n = x.shape[0]
        if s.k is None or s.k.shape[0] < n:
            s.k = torch.arange(n)
        return x * s.k[:n]

    return dyn(Body(body, k=None), DA)


@equal
def mask_grows():
    def body(s, x):
        n = x.shape[0]
        if s.k is None or s.k.shape[0] < n:
            s.k = torch.arange(n)
        return x * s.k[:n]

    return dyn(Body(body, k=None))


@equal
def table_by_size():
    def body(s, x):
        n = x.shape[0]
        if n not in s.k:
            s.k[n] = torch.arange(n)
        return x * s.k[n]

    return dyn(Body(body, k={}), DA)


@equal
def rot_dyn():
    class R(nn.Module):
        def __init__(s):
            super().__init__()
            s.max_seq = 0

        def forward(self, x):
            n = x.shape[0]
            if n > self.max_seq:
                self.cos = torch.arange(n).cos()
                self.max_seq = n
            return x * self.cos[:n]

    return dyn(R(), DA)


@equal
def two_inputs():
    def body(s, x, y):
        if s.n != (x.shape[0], y.shape[0]):
            s.n = (x.shape[0], y.shape[0])
        return x.sum() * s.n[0] + y.sum() * s.n[1]

    class B(Body):
        def forward(self, x, y):
            return self.body(self, x, y)

    return Case(B(body, n=None), (t(5), t(6)), also=[((t(3), t(2)), {})], dynamic_shapes=(DA, DA))


@equal
def submodule_size():
    class S(nn.Module):
        def __init__(s):
            super().__init__()
            s.n = None

        def forward(s, x):
            if s.n is None or s.n != x.shape[0]:
                s.n = x.shape[0]
            return x + s.n

    return dyn(nn.Sequential(S(), S()), DA)


@equal
def kept_scratch():
    def body(s, x):
        s.n = x.shape[0]
        return x * s.n

    return dyn(Body(body, n=0))


@equal
def kept_scratch_missing():
    def body(s, x):
        s.n = x.shape[0]
        s.m = (x.shape[0], 2)
        return x * s.n + s.m[0]

    return dyn(Body(body))


@equal
def float_size():
    def body(s, x):
        if s.n is None or s.n != x.shape[0] / 2:
            s.n = x.shape[0] / 2
        return x * 2

    return dyn(Body(body, n=None), DA)


@refused("python-state")
def last_used_before():
    def body(s, x):
        y = x * s.n
        s.n = x.shape[0]
        return y

    return dyn(Body(body, n=1))


@equal
def size_asked_by_the_second_call_only():
    def body(s, x):
        if s.k is None:
            s.k = 1
            return x * 2
        return x * 2 if x.shape[0] < 10 else x * 3

    return dyn(Body(body, k=None), DA, ((7,), (20,)))


@equal
def size_kept_of_a_derived_size():
    def body(s, x):
        if s.n != x.shape[0] * 2 + 1:
            s.n = x.shape[0] * 2 + 1
        return x * s.n

    return dyn(Body(body, n=None))


@equal
def size_on_a_branch_that_agrees():
    def body(s, x):
        grew = s.n is None or x.shape[0] > s.n
        s.n = x.shape[0]
        return x + 1 if grew else 1 + x

    return dyn(Body(body, n=None))


@refused("python-state")
def size_on_a_branch_that_differs():
    def body(s, x):
        grew = s.n is None or x.shape[0] > s.n
        s.n = x.shape[0]
        return x + 1 if grew else x + 2

    return Case(Body(body, n=None), (t(5),), dynamic_shapes=(D,))
