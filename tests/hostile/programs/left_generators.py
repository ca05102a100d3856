"""Generators that wait in a block, and are left behind around a branch on data"""

from __future__ import annotations

import contextlib
import itertools

import torch
from torch import nn

from tests.export.probe import Case, sound, t


def both(f, x):
    """The example, and data that take the other side."""
    return Case(f, (x,), also=[((-x,), {}), ((x * 0,), {})])


@sound()
def left_by_break():
    def f(x):
        y = x * 1

        def g():
            try:
                yield x
            finally:
                y.add_(1)

        for v in g():
            if v.sum() > 0:
                break
        return y * 1

    return both(f, t(3).abs())


@sound()
def left_by_return():
    def f(x):
        log = []

        def g():
            try:
                yield x
                yield x * 2
            finally:
                log.append(1)

        def first():
            for v in g():
                if v.sum() > 0:
                    return v
            return x * 5

        return first() + len(log)

    return both(f, t(3).abs())


@sound()
def left_by_del():
    def f(x):
        log = []

        def g():
            try:
                yield x
            finally:
                log.append(1)

        h = g()
        v = next(h)
        if v.sum() > 0:
            x = x * 2
        del h
        return x + len(log)

    return both(f, t(3).abs())


@sound()
def left_by_none():
    def f(x):
        log = []

        def g():
            try:
                yield x
            except GeneratorExit:
                log.append(1)
                raise

        h = g()
        v = next(h)
        if v.sum() > 0:
            h = None
        else:
            x = x - 3
        return x + len(log) * 10

    return both(f, t(3).abs())


@sound()
def left_by_an_exception():
    def f(x):
        log = []

        def g():
            try:
                yield x
            finally:
                log.append(1)

        try:
            for v in g():
                if v.sum() > 0:
                    raise ValueError
        except ValueError:
            return x + len(log)
        return x * 2 + len(log)

    return both(f, t(3).abs())


@sound()
def left_by_any():
    def f(x):
        log = []

        def g():
            try:
                for k in range(3):
                    yield x * k
            finally:
                log.append(1)

        found = any(v.sum() > 0 for v in g())
        return x * (2 if found else 3) + len(log)

    return both(f, t(3).abs())


@sound()
def left_by_zip():
    def f(x):
        log = []

        def g():
            try:
                for k in range(3):
                    yield x * k
            finally:
                log.append(1)

        for v, k in zip(g(), range(2)):
            if v.sum() > 1:
                x = x + k
        return x + len(log)

    return both(f, t(3).abs())


@sound()
def left_by_islice():
    def f(x):
        log = []

        def g():
            try:
                for k in range(3):
                    yield x * k
            finally:
                log.append(1)

        total = x * 0
        for v in itertools.islice(g(), 2):
            total = total + (v if v.sum() > 1 else v * 2)
        return total + len(log)

    return both(f, t(3).abs())


@sound()
def left_by_a_break_that_no_data_decide():
    def f(x):
        log = []

        def g():
            try:
                for k in range(5):  # noqa: UP028
                    yield k
            finally:
                log.append(1)

        for k in g():
            if x.sum() > k:
                x = x * 2
            if k == 2:
                break
        return x + len(log)

    return both(f, t(3).abs())


@sound()
def the_branch_that_vanished():
    def f(x):
        log = []
        r = x * 0

        def g():
            try:
                for k in range(3):
                    yield x[k]
            finally:
                log.append(1)

        for v in g():
            r = r + v
            if v < 0:
                break
        return r + len(log)

    return both(f, t(3).abs())


@sound()
def yielded_from():
    def f(x):
        log = []

        def inner():
            try:
                yield x
                yield x * 3
            finally:
                log.append("inner")

        def outer():
            try:
                yield from inner()
            finally:
                log.append("outer")

        for v in outer():
            if v.sum() > 0:
                break
        return x + len(log), ",".join(log)

    return both(f, t(3).abs())


@sound()
def within_a_context():
    def f(x):
        log = []

        @contextlib.contextmanager
        def scope():
            log.append("in")
            try:
                yield x * 2
            finally:
                log.append("out")

        with scope() as v:
            if v.sum() > 0:
                x = x + 1
        return x * 1, ",".join(log)

    return both(f, t(3).abs())


@sound()
def an_older_one_waits():
    def f(x):
        log = []

        def g():
            try:
                yield x
            finally:
                log.append(1)

        old = g()
        next(old)

        def h():
            yield x * 2
            yield x * 4

        for v in h():
            if v.sum() > 0:
                x = x + v
                break
        old.close()
        return x + len(log)

    return both(f, t(3).abs())


@sound()
def within_no_grad():
    def f(x):
        def g():
            with torch.no_grad():
                yield x * 2
                yield x * 3

        for v in g():
            if v.sum() > 0:
                break
        return x * 2 + v, torch.is_grad_enabled()

    return both(f, t(3).abs())


@sound()
def state_of_a_module():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(1))

        def pieces(self, x):
            try:
                yield x
                yield x * 2
            finally:
                self.seen.add_(1)

        def forward(self, x):
            for v in self.pieces(x):
                if v.sum() > 0:
                    break
            return v + self.seen

    return both(Module(), t(3).abs())
