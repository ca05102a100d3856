"""Coroutines, generators, exception groups, context managers, dispatch, copies of modules"""

# ruff: noqa: B012, B018

from __future__ import annotations

import contextlib
import contextvars
import copy

import torch
from torch import nn

from tests.export.probe import auto, equal, refused, t


@equal
def async_driven_by_hand():
    class Aw:
        def __init__(self, v):
            self.v = v

        def __await__(self):
            got = yield self.v
            return got * 2

    async def g(x):
        a = await Aw(x)
        b = await Aw(a + 1)

        async def inner():
            for i in range(2):
                yield b * i

        s = [v async for v in inner()]
        return s

    def f(x):
        c = g(x)
        v = c.send(None)
        try:
            while True:
                v = c.send(v + 1)
        except StopIteration as e:
            return e.value

    return f, (t(3),)


@equal
def async_for_cancel():
    async def g(x, log):
        try:
            yield x
            yield x + 1
        finally:
            log.append('closed')

    def f(x):
        log = []
        a = g(x, log)

        def drive(c):
            try:
                c.send(None)
            except StopIteration as e:
                return e.value

        v = drive(a.__anext__())
        drive(a.aclose())
        try:
            drive(a.__anext__())
        except StopAsyncIteration:
            log.append('stop')
        return v, log

    return f, (t(3),)


@equal
def exception_group_split_tensors():
    def f(x):
        eg = ExceptionGroup('g', [ValueError(x), TypeError(x + 1), ExceptionGroup('h', [ValueError(x * 2)])])
        a, b = eg.split(ValueError)
        tot = x
        try:
            raise eg
        except* ValueError as e:
            for v in e.exceptions:
                tot = tot + (v.args[0] if not isinstance(v, ExceptionGroup) else v.exceptions[0].args[0])
        except* TypeError as e:
            tot = tot * e.exceptions[0].args[0]
        return (
            tot,
            len(a.exceptions),
            b.exceptions[0].args[0],
            eg.subgroup(lambda e: isinstance(e, TypeError)).exceptions[0].args[0],
        )

    return f, (t(3),)


@equal
def finally_overrides_return():
    def g(x):
        for i in range(3):
            try:
                try:
                    if i == 1:
                        return x * 10
                    raise ValueError(i)
                finally:
                    x = x + 1
                    if i < 2:
                        continue
            except ValueError:
                x = x * 2
                break
            else:
                x = x - 100
        else:
            return x
        return x - 1

    return g, (t(3),)


@equal
def cm_swallows_and_replaces():
    class CM:
        def __init__(self, log):
            self.log = log

        def __enter__(self):
            return self

        def __exit__(self, t_, v, tb):
            self.log.append((t_.__name__ if t_ else None, v.args[0] if v else None))
            if t_ is KeyError:
                return True
            if t_ is ValueError:
                raise RuntimeError('r') from v

    def f(x):
        log = []
        with CM(log):
            {}['k']
        try:
            with CM(log), CM(log):
                raise ValueError(x)
        except RuntimeError as e:
            y = e.__cause__.args[0] * 2
            c = e.__context__ is e.__cause__
        return y, c, len(log), log[2][0]

    return f, (t(3),)


@equal
def exitstack_push_callbacks():
    def f(x):
        out = []
        with contextlib.ExitStack() as s:
            s.callback(lambda v: out.append(v + 1), x)
            s.push(lambda *e: (out.append(x * 2), e[0] is ZeroDivisionError)[1])
            s.enter_context(contextlib.suppress(KeyError))
            s.enter_context(torch.no_grad())
            moved = s.pop_all() if x.dim() > 1 else None
            1 // 0
        return out, torch.is_grad_enabled(), moved

    return f, (t(3),)


@equal
def generator_send_throw_return():
    def g(x):
        tot = x
        while True:
            try:
                v = yield tot
                if v is None:
                    return tot * 2
                tot = tot + v
            except ValueError as e:
                tot = tot * e.args[0]
                yield -1
            finally:
                tot = tot + 0.5

    def f(x):
        c = g(x)
        a = next(c)
        b = c.send(x)
        m = c.throw(ValueError(3))
        d = next(c)
        try:
            c.send(None)
        except StopIteration as e:
            return a, b, m, d, e.value, c.gi_frame is None

    return f, (t(3),)


@equal
def yield_from_delegates_subiterator():
    class It:
        def __init__(self, x):
            self.x, self.n = x, 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            if self.n > 2:
                raise StopIteration(self.x * 100)
            return self.x * self.n

        def send(self, v):
            self.x = self.x + v
            return self.x

        def throw(self, e, *a):
            return self.x - 7

        def close(self):
            self.closed = True

    def g(it):
        r = yield from it
        yield r

    def f(x):
        i = It(x)
        c = g(i)
        out = [next(c), c.send(1), c.throw(KeyError('x')), next(c), next(c)]
        j = It(x)
        c2 = g(j)
        next(c2)
        c2.close()
        return out, j.closed

    return f, (t(3),)


@refused('data-dependent-value')
def strides_offsets_in_python():
    def f(x):
        v = x[1:, ::2]
        s = v.stride()
        return (
            x * s[0],
            v.storage_offset(),
            v.as_strided((2, 2), s, v.storage_offset()),
            v.untyped_storage().nbytes() // v.element_size(),
            v.nbytes,
            v.t().stride(0),
            v.element_size() * v.numel(),
            v.is_contiguous(),
            x.reshape(-1).stride(),
            x.itemsize,
        )

    return auto(f, t(4, 6), also=[t(6, 6), t(7, 6)])


@equal
def contextvars_set_in_forward():
    cv = contextvars.ContextVar('cv', default=1)

    def f(x):
        tok = cv.set(x * 2)
        y = cv.get() + 1
        cv.reset(tok)
        ctx = contextvars.copy_context()
        z = ctx.run(lambda: (cv.set(5), cv.get())[1])
        return y, cv.get(), z, ctx[cv]

    return f, (t(3),)


@refused('parameter-assigned')
def copies_of_module_in_forward():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 3)
            self.bn = nn.BatchNorm1d(3)

        def forward(self, x):
            c = copy.copy(self.l)
            d = copy.deepcopy(self.bn)
            y = d(c(x))
            with torch.no_grad():
                d.weight.mul_(2)
                c.weight = nn.Parameter(c.weight * 2)
            return d(c(x)), y, self.l(x), self.bn.num_batches_tracked * 1

    return M(), (t(4, 3),)


@equal
def parametrization_chain_right_inverse():
    class S(nn.Module):
        def forward(self, w):
            return w.triu() + w.triu(1).t()

        def right_inverse(self, a):
            return a.triu()

    class E(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer('n', torch.zeros(()))

        def forward(self, w):
            self.n += 1
            return w * self.n

    m = nn.Linear(3, 3)
    nn.utils.parametrize.register_parametrization(m, 'weight', S())
    nn.utils.parametrize.register_parametrization(m, 'weight', E())

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = m

        def forward(self, x):
            a = self.m(x)
            with nn.utils.parametrize.cached():
                b = self.m(x) + self.m.weight.sum()
            return a, b

    return M(), (t(2, 3),)


@equal
def parametrized_weight_assigned():
    class S(nn.Module):
        def forward(self, w):
            return w * 2

        def right_inverse(self, a):
            return a / 2

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = nn.Linear(3, 3)
            nn.utils.parametrize.register_parametrization(self.m, 'weight', S())

        def forward(self, x):
            with torch.no_grad():
                self.m.weight = torch.eye(3) * x.mean()
            return self.m(x)

    return M(), (t(2, 3),)


@refused('invalid-arguments')
def lazy_conv_uninitialised_used():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = nn.LazyConv1d(4, 2)
            self.b = nn.LazyBatchNorm1d()

        def forward(self, x):
            return self.b(self.c(x)), type(self.c).__name__

    return M(), (t(2, 3, 5),)


@equal
def slots_module_mixin():
    class Mix:
        __slots__ = ()

        def helper(self, x):
            return x * self.k

    class M(Mix, nn.Module):
        k: int

        def __init__(self):
            super().__init__()
            self.k = 3
            self.__dict__['hidden'] = nn.Linear(3, 3)

        def __call__(self, *a, **k):
            return super().__call__(*a, **k) + 1

        def forward(self, x):
            return self.helper(self.hidden(x))

    return M(), (t(2, 3),)


@equal
def metaclass_intercepts_attribute():
    class Meta(type):
        def __getattr__(cls, n):
            if n.startswith('k_'):
                return int(n[2:])
            raise AttributeError(n)

        def __len__(cls):
            return 4

        def __iter__(cls):
            return iter((1, 2))

        def __contains__(cls, v):
            return v == 3

        def __getitem__(cls, i):
            return i * 2

        def __or__(cls, o):
            return 'or'

        def __instancecheck__(cls, o):
            return isinstance(o, torch.Tensor)

    class C(metaclass=Meta):
        pass

    def f(x):
        return x * C.k_7 * len(C), list(C), 3 in C, C[5], C | 3, isinstance(x, C), getattr(C, 'z', 9)

    return f, (t(3),)
