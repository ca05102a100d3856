"""State kept from call to call, names of arguments, constants, outputs that are inputs, gradients."""

# ruff: noqa: E741

from __future__ import annotations

import functools

import torch
from torch import nn
from torch.export import Dim

from tests.export.probe import Case, equal, refused, t


class Base(nn.Module):
    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)



def dyn(f, *args, also=(), **kw):
    return Case(
        f,
        args,
        dynamic_shapes=({0: Dim('n', min=2, max=64)},) + (None,) * (len(args) - 1),
        also=[((a, *args[1:]), {}) for a in also],
        **kw,
    )


def leaf(*s):
    return t(*s, requires_grad=True)


@equal
def autocast_cache_no_grad_first():
    class M(Base):
        def forward(self, x):
            with torch.autocast('cpu', torch.bfloat16):
                with torch.no_grad():
                    a = self.l(x)
                b = self.l(x)
            return (a, b)


    return Case(M(l=nn.Linear(3, 3)), (t(2, 3),), gradients=True)


@refused('autocast-cache')
def autocast_weight_updated_between():
    class M(Base):
        def forward(self, x):
            with torch.autocast('cpu', torch.bfloat16):
                a = self.l(x)
                with torch.no_grad():
                    self.l.weight.add_(1)
                return (a, self.l(x))


    return (M(l=nn.Linear(3, 3)), (t(2, 3),))


@equal
def kept_table_by_dtype():
    class M(Base):
        def forward(self, x):
            k = (x.dtype, x.device)
            if k not in self.c:
                self.c[k] = torch.arange(3, dtype=x.dtype, device=x.device)
            return x + self.c[k]


    return Case(M(c={}), (t(3),), also=[((t(3).double(),), {})])


@equal
def kept_none_buffer():
    class M(Base):
        def forward(self, x):
            if self.pe is None:
                self.pe = torch.sin(torch.arange(3.0))
            return x + self.pe


    m = M()
    m.register_buffer('pe', None)
    return (m, (t(3),))


@equal
def kept_grown_buffer():
    class M(Base):
        def forward(self, x):
            if self.pe.shape[0] < x.shape[0]:
                self.pe = torch.arange(x.shape[0] * 2).float()
            return x + self.pe[:x.shape[0]]


    m = M()
    m.register_buffer('pe', torch.arange(2.0), persistent=False)
    return Case(m, (t(3),), also=[((t(3),), {})])


@refused('new-state-tensor')
def kept_running_list():
    class M(Base):
        def forward(self, x):
            self.hist.append(x.detach())
            if len(self.hist) > 2:
                self.hist.pop(0)
            return sum(self.hist)


    return (M(hist=[]), (t(3),))


@refused('python-state')
def kept_first_call_flag():
    class M(Base):
        def forward(self, x):
            if self.first:
                self.first = False
                return x * 100
            return x


    return (M(first=True), (t(3),))


@equal
def kept_step_counter_buffer():
    class M(Base):
        def forward(self, x):
            self.step += 1
            return (x * self.step, x / self.step.float().sqrt())


    m = M()
    m.register_buffer('step', torch.zeros((), dtype=torch.int64))
    return (m, (t(3),))


@equal
def kept_ema_by_lerp():
    class M(Base):
        def forward(self, x):
            with torch.no_grad():
                self.ema.lerp_(x.mean(0), 0.1)
            return x - self.ema


    m = M()
    m.register_buffer('ema', torch.zeros(3))
    return (m, (t(4, 3),))


@equal
def kept_alias_buffers():
    class M(Base):
        def forward(self, x):
            self.a.add_(1)
            return (x + self.b, self.b)


    m = M()
    m.register_buffer('a', torch.zeros(3))
    m.register_buffer('b', m.a)
    return (m, (t(3),))


@equal
def kept_view_buffer():
    class M(Base):
        def forward(self, x):
            self.a.add_(1)
            return x + self.v


    m = M()
    m.register_buffer('a', torch.zeros(3))
    m.v = (m.a[1:],)[0]
    return (m, (t(2),))


@equal
def kept_param_grad_read():
    class M(Base):
        def forward(self, x):
            return x * (self.w.grad is None) + self.w


    return (M(w=nn.Parameter(t(3))), (t(3),))


@equal
def names_shadow():
    class M(Base):
        def forward(self, input, self_, lambda_, forward, getattr, print, **kw):
            return input + self_ * lambda_ - forward + getattr + print + kw['output'] + kw['def_']


    a = [t(3) for _ in range(6)]
    return Case(M(), tuple(a), {'output': t(3), 'def_': t(3)})


@refused('invalid-arguments')
def names_buffers_like_params():
    class M(Base):
        def forward(self, x):
            return x + getattr(self, 'a-b') + self.a_b + self.d['a.b'] + getattr(self, 'class') + self.x


    m = M()
    m.d = {'a.b': torch.ones(3)}
    m.register_buffer('a_b', torch.ones(3) * 3)
    m._buffers['a-b'] = torch.ones(3) * 2
    m._buffers['class'] = torch.ones(3) * 9
    m.register_buffer('x', torch.ones(3) * 5)
    return (m, (t(3),))


@equal
def nested_division():
    def f(x):
        n = functools.reduce(lambda e, i: (e * 3 + x.shape[0]) // 2 - i, range(12), x.shape[0]) % 1000
        return x * n

    return dyn(f, t(6), also=[t(5), t(9)])


@equal
def tied_then_untied():
    class M(Base):
        def forward(self, x):
            self.b.weight = self.a.weight
            return self.b(self.a(x))


    return (M(a=nn.Linear(3, 3), b=nn.Linear(3, 3)), (t(2, 3),))


@equal
def neg_base_power():
    def f(x):
        return (
            x * (-1) ** x.shape[0],
            x * (-2) ** (x.shape[0] % 3),
            x * -2 ** x.shape[0],
            (1 - x.shape[0]) ** 2 * x,
            x * (x.shape[0] - 9) // 2,
            x * (-x.shape[0] // 2),
            x * (2 - (3 - x.shape[0])),
        )

    return dyn(f, t(6), also=[t(5), t(9)])


@equal
def constant_view_written():
    class M(Base):
        def forward(self, x):
            v = self.w.view(-1)[1:]
            with torch.no_grad():
                v.mul_(2)
            return x + self.w


    return (M(w=nn.Parameter(t(3))), (t(3),))


@equal
def constant_numpy_shared():
    class M(Base):
        def forward(self, x):
            return x + torch.from_numpy(self.a)


    m = M()
    m.register_buffer('b', torch.ones(3))
    m.a = m.b.numpy()
    return (m, (t(3),))


@equal
def output_is_constant_twice():
    class M(Base):
        def forward(self, x):
            return (self.c[0], self.c[0], self.c[0][1:], x)


    return (M(c=[torch.ones(3)]), (t(3),))


@equal
def output_same_tensor_twice():
    def f(x):
        y = x * 2
        return (y, [y, y.view(-1)], {'a': x, 'b': x[1:]}, y is y)

    return (f, (t(3),))


@equal
def input_returned_after_write():
    def f(x, y):
        x.add_(1)
        y[0] = x[1]
        return (x, y, x is y)

    return (f, (t(3), t(3)))


@refused('input-container')
def input_swapped_in_list():
    def f(l):
        l[0], l[1] = (l[1], l[0])
        l.append(l[0] + 1)
        return l[0] * 2

    return (f, ([t(3), t(3)],))


@refused('input-container')
def input_dict_written():
    def f(d):
        d['new'] = d['a'] * 2
        del d['a']
        return d['new']

    return (f, ({'a': t(3), 'b': t(3)},))


@equal
def grad_mode_generator_leak():
    @torch.no_grad()
    def g(x):
        yield (x * 2)
        yield (x * 3)

    def f(x):
        it = g(x)
        a = next(it)
        b = x * 5
        c = next(it)
        return (a, b, c, torch.is_grad_enabled())

    return Case(f, (leaf(3),), gradients=True)


@equal
def grad_mode_left_in_except():
    def f(x):
        try:
            with torch.no_grad():
                raise ValueError
        except ValueError:
            y = x * 2
        return y

    return Case(f, (leaf(3),), gradients=True)


@equal
def grad_detach_inplace_mix():
    def f(x):
        y = x * 2
        z = y.detach()
        y = y * z
        y[0] = z[1]
        z2 = y[1:]
        z2.mul_(3)
        return (y, z)

    return Case(f, (leaf(3),), gradients=True)


@equal
def grad_requires_grad_of_made():
    def f(x):
        w = torch.ones(3, requires_grad=True)
        return (x * w).sum() + torch.autograd.grad((w * 3).sum(), w)[0]

    return Case(f, (leaf(3),), gradients=True)

