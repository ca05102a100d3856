"""Exceptions and modules that forward makes die when CPython's would."""

# ruff: noqa: F841

from __future__ import annotations

import weakref

from torch import nn

from tests.export.probe import equal, t


class E(Exception):
    pass


@equal
def exc_dies():
    def f(x):
        try:
            raise E()
        except E as e:
            r = weakref.ref(e)
        return x * (1 + (r() is None))

    return (f, (t(3),))


@equal
def exc_dies_nested():
    def g():
        raise E()

    def f(x):
        r = None
        try:
            try:
                raise E(1)
            except E as e:
                r = weakref.ref(e)
                raise ValueError from None
        except ValueError:
            pass
        return x * (1 + (r() is None))

    return (f, (t(3),))


@equal
def module_called_dies():
    class S(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = nn.Linear(3, 3)

        def forward(s, x):
            return s.l(x).detach()


    def f(x):
        m = S()
        r = weakref.ref(m)
        r2 = weakref.ref(m.l)
        y = m(x)
        del m
        return x * (1 + (r() is None) + 2 * (r2() is None))

    return (f, (t(2, 3),))


@equal
def module_hooked_dies():
    def f(x):
        m = nn.ReLU()
        m.register_forward_hook(lambda *a: None)
        r = weakref.ref(m)
        y = m(x)
        m = None
        return x * (1 + (r() is None))

    return (f, (t(2, 3),))

