"""Overridden torch functions, hooks, parametrizations, lazy modules, buffers, `__getattr__`."""

# ruff: noqa: B018, E742

from __future__ import annotations

import torch
from torch import nn

from tests.export.probe import Case, equal, refused, t


class Base(nn.Module):
    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)



@equal
def torch_function_mode():
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, fn, types, args=(), kwargs=None):
            if fn is torch.add:
                return torch.mul(*args)
            return fn(*args, **kwargs or {})


    def f(x):
        with Mode():
            y = torch.add(x, x)
        return y + torch.add(x, x)

    return (f, (t(3),))


@equal
def torch_function_mode_counting():
    class Mode(torch.overrides.TorchFunctionMode):
        def __init__(s):
            super().__init__()
            s.names = []

        def __torch_function__(self, fn, types, args=(), kwargs=None):
            self.names.append(getattr(fn, '__name__', '?'))
            return fn(*args, **kwargs or {})


    def f(x):
        m = Mode()
        with m:
            y = x + 1
            y = y.sin()
            y = torch.nn.functional.relu(y)
            y.shape
            y[0]
            y.mul_(2)
        return (y, m.names)

    return (f, (t(3),))


@refused('tensor-subclass')
def tensor_subclass_local():
    class S(torch.Tensor):
        def extra(self):
            return self * 2


    def f(x):
        return x.as_subclass(S).extra().as_subclass(torch.Tensor)

    return (f, (t(3),))


@refused('tensor-subclass')
def tensor_subclass_input():
    class S(torch.Tensor):
        pass

    def f(x):
        return (type(x + 1) is S, (x + 1).as_subclass(torch.Tensor))

    return (f, (t(3).as_subclass(S),))


@equal
def hook_forward_modifies():
    m = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    m[0].register_forward_hook(lambda mod, a, o: o * 2)
    m[1].register_forward_pre_hook(lambda mod, a: (a[0] + 1,))
    m.register_forward_hook(lambda mod, a, kw, o: (o, len(kw)), with_kwargs=True)
    return (m, (t(2, 3),))


@equal
def hook_kwargs_pre():
    class M(Base):
        def forward(self, x, k=1):
            return x * k


    m = M()
    m.register_forward_pre_hook(lambda mod, a, kw: (a, {'k': kw.get('k', 1) + 5}), with_kwargs=True)
    return Case(m, (t(3),), {'k': 2})


@equal
def hook_always_call_error():
    log = []
    class I(Base):
        def forward(self, x):
            raise ValueError


    class M(Base):
        def forward(self, x):
            log.clear()
            try:
                self.i(x)
            except ValueError:
                return x * (1 + len(log))


    m = M(i=I())
    m.i.register_forward_hook(lambda *a: log.append(1), always_call=True)
    return (m, (t(3),))


@refused('gradient-hook')
def hook_full_backward():
    m = nn.Linear(3, 3)
    m.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 2,))
    return Case(m, (t(2, 3, requires_grad=True),), gradients=True)


@equal
def hook_removed_in_forward():
    class M(Base):
        def forward(self, x):
            h = self.l.register_forward_hook(lambda m, a, o: o * 3)
            y = self.l(x)
            h.remove()
            return y + self.l(x)


    return (M(l=nn.Linear(3, 3)), (t(2, 3),))


@refused('gradient-hook')
def hook_tensor_in_forward():
    def f(x):
        y = x * 2
        y.register_hook(lambda g: g * 10)
        return y.sum()

    return Case(f, (t(3, requires_grad=True),), gradients=True)


@equal
def hook_post_accumulate():
    class M(Base):
        def forward(self, x):
            return x * self.w


    m = M(w=nn.Parameter(t(3)))
    m.w.register_post_accumulate_grad_hook(lambda p: None)
    return (m, (t(3),))


@equal
def hook_state_dict():
    m = nn.Linear(3, 3)
    m._register_state_dict_hook(lambda *a: None)
    return (m, (t(2, 3),))


@equal
def parametrization():
    m = nn.Linear(3, 3)
    class P(nn.Module):
        def forward(self, w):
            return w.triu() + 1


    nn.utils.parametrize.register_parametrization(m, 'weight', P())
    return (m, (t(2, 3),))


@equal
def parametrization_cached():
    m = nn.Linear(3, 3)
    class P(nn.Module):
        def forward(self, w):
            return w.triu() + 1


    nn.utils.parametrize.register_parametrization(m, 'weight', P())
    class M(Base):
        def forward(self, x):
            with nn.utils.parametrize.cached():
                return (self.l(x) + self.l(x), self.l.weight is self.l.weight)


    return (M(l=m), (t(2, 3),))


@equal
def parametrization_in_forward():
    class P(nn.Module):
        def forward(self, w):
            return w * 2


    class M(Base):
        def forward(self, x):
            nn.utils.parametrize.register_parametrization(self.l, 'weight', P())
            y = self.l(x)
            nn.utils.parametrize.remove_parametrizations(self.l, 'weight', leave_parametrized=False)
            return y


    return (M(l=nn.Linear(3, 3)), (t(2, 3),))


@equal
def weight_norm_new():
    return (nn.utils.parametrizations.weight_norm(nn.Linear(3, 3)), (t(2, 3),))


@equal
def weight_norm_old():
    return (nn.utils.weight_norm(nn.Linear(3, 3)), (t(2, 3),))


@equal
def spectral_norm_train():
    return (nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3)), (t(2, 3),))


@equal
def spectral_norm_old_train():
    return (nn.utils.spectral_norm(nn.Linear(3, 3)), (t(2, 3),))


@equal
def orthogonal():
    return (nn.utils.parametrizations.orthogonal(nn.Linear(3, 3)), (t(2, 3),))


@refused('invalid-arguments')
def lazy_linear():
    return (nn.LazyLinear(4), (t(2, 3),))


@refused('tensor-subclass')
def lazy_made():
    def f(x):
        m = nn.LazyBatchNorm1d()
        m(x)
        return x * m.num_features

    return (f, (t(4, 3),))


@refused('python-state')
def buffer_deleted():
    class M(Base):
        def forward(self, x):
            if hasattr(self, 'b'):
                y = x + self.b
                del self.b
                return y
            return x


    m = M()
    m.register_buffer('b', t(3))
    return (m, (t(3),))


@equal
def buffer_swapped():
    class M(Base):
        def forward(self, x):
            self.a, self.b = (self.b, self.a)
            return x + self.a


    m = M()
    m.register_buffer('a', t(3))
    m.register_buffer('b', t(3))
    return (m, (t(3),))


@equal
def buffer_set_none_and_back():
    class M(Base):
        def forward(self, x):
            b = self.b
            self.b = None
            y = x * (self.b is None)
            self.b = b
            return y + self.b


    m = M()
    m.register_buffer('b', t(3))
    return (m, (t(3),))


@equal
def buffer_expanded_growing():
    class M(Base):
        def forward(self, x):
            self.b = torch.cat([self.b, x])[-4:]
            return self.b.sum()


    m = M()
    m.register_buffer('b', torch.zeros(4))
    return (m, (t(3),))


@refused('parameter-assigned')
def parameter_replaced():
    class M(Base):
        def forward(self, x):
            self.w = nn.Parameter(self.w + 1)
            return x * self.w


    return (M(w=nn.Parameter(t(3))), (t(3),))


@refused('tensor-data-assigned')
def parameter_data_swapped():
    class M(Base):
        def forward(self, x):
            old = self.w.data
            self.w.data = old * 2
            y = x * self.w
            self.w.data = old
            return y


    return (M(w=nn.Parameter(t(3))), (t(3),))


@equal
def getattr_fallback():
    class M(Base):
        def __getattr__(self, n):
            try:
                return super().__getattr__(n)
            except AttributeError:
                if n.startswith('k'):
                    return int(n[1:])
                raise

        def forward(self, x):
            return x * self.k12 + hasattr(self, 'zz') + self.w


    return (M(w=nn.Parameter(t(3))), (t(3),))

