"""Parameters and buffers, bases of views, grad_fn and grad, negative zeros."""

# ruff: noqa: F601, UP030, UP032

from __future__ import annotations

import copy
import math

import torch
from torch import nn

from tests.export.probe import Case, equal, refused, t


class Base(nn.Module):
    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)



def leaf(*s):
    return t(*s, requires_grad=True)


@equal
def parameter_repr_class():
    def f(x):
        p = nn.Parameter(torch.zeros(3))
        return x + len(type(p).__name__) + p.is_leaf + p.requires_grad

    return (f, (t(3),))


@equal
def parameter_deepcopied():
    def f(x):
        p = copy.deepcopy(nn.Parameter(torch.ones(3)))
        return x + (type(p) is nn.Parameter) * 2 + p.is_leaf

    return (f, (t(3),))


@equal
def parameter_data_type():
    def f(x):
        p = nn.Parameter(torch.ones(3))
        return (
            x + (type(p.data) is torch.Tensor) + 2 * (type(p.detach()) is torch.Tensor)
            + 4 * isinstance(p.detach(), nn.Parameter)
        )

    return (f, (t(3),))


@refused('tensor-attribute')
def parameter_dunder_dict():
    def f(x):
        p = nn.Parameter(torch.ones(3))
        p.tag = 5
        return x + len(vars(p)) + p.tag

    return (f, (t(3),))


@refused('tensor-subclass')
def parameter_subclass():
    class P(nn.Parameter):
        pass

    def f(x):
        p = P(torch.ones(3))
        return x + (type(p) is P) + 2 * isinstance(p, nn.Parameter)

    return (f, (t(3),))


@refused('tensor-subclass')
def parameter_made_of_input_aliases():
    def f(x):
        p = nn.Parameter(x, requires_grad=False)
        with torch.no_grad():
            p.add_(1)
        return (x * 2, p)

    return (f, (t(3),))


@refused('made-leaf')
def parameter_returned():
    def f(x):
        p = nn.Parameter(torch.ones(3))
        return p

    return (f, (t(3),))


@equal
def parameter_list_made():
    def f(x):
        ps = nn.ParameterList([torch.ones(3), nn.Parameter(torch.zeros(3))])
        return x + sum(type(p) is nn.Parameter for p in ps) + ps[0]

    return (f, (t(3),))


@equal
def parameter_dict_made():
    def f(x):
        ps = nn.ParameterDict({'a': torch.ones(3), 'b': x})
        return x + sum(type(p) is nn.Parameter for p in ps.values()) + ps['b']

    return (f, (t(3),))


@equal
def buffer_persistent():
    def f(x):
        b = nn.Buffer(torch.ones(3), persistent=False)
        return x + b.persistent + 2 * (type(b) is torch.Tensor) + 4 * (type(b) is nn.Buffer)

    return (f, (t(3),))


@refused('global-rng')
def parameter_linear_made():
    def f(x):
        torch.manual_seed(0)
        m = nn.Linear(3, 3)
        return m(x) * sum(p.requires_grad and p.is_leaf for p in m.parameters())

    return (f, (t(2, 3),))


@equal
def linear_made_without_seed():
    def f(x):
        m = nn.Linear(3, 3)
        with torch.no_grad():
            for p in m.parameters():
                p.fill_(0.5)
        return m(x)

    return (f, (t(2, 3),))


@equal
def parameter_requires_grad_toggle():
    def f(x):
        p = nn.Parameter(torch.ones(3))
        p.requires_grad_(False)
        y = p * x
        return (y, y.requires_grad)

    return (f, (t(3),))


@equal
def base_of_detach():
    def f(x):
        y = x * 2
        return x + (y.detach()._base is None) + 2 * y.detach()._is_view() + 4 * y.view(-1)._is_view()

    return (f, (t(3),))


@equal
def base_of_buffer_view():
    class M(Base):
        def forward(self, x):
            v = self.b[1:]
            return x + (v._base is self.b) + 2 * (v.view(-1)._base is self.b)


    m = M()
    m.register_buffer('b', torch.ones(4))
    return (m, (t(3),))


@equal
def base_after_inplace():
    def f(x):
        y = x.clone()
        v = y[0]
        v.add_(1)
        return (v._base + y, v._base is y)

    return (f, (t(3, 2),))


@equal
def base_of_expand_and_split():
    def f(x):
        a, b = x.split(1)
        return x + (a._base is x) + 2 * (b._base is a._base) + 4 * (x.expand(2, 2, 3)._base is x)

    return (f, (t(2, 3),))


@equal
def base_of_reshape():
    def f(x):
        y = x.t().reshape(-1)
        z = x.reshape(-1)
        return x + (y._base is None) * 1 + 2 * (z._base is x)

    return (f, (t(2, 3),))


@equal
def base_of_contiguous():
    def f(x):
        return x + (x.contiguous() is x) + 2 * (x.contiguous()._base is None) + 4 * (x.t().contiguous()._base is None)

    a = t(2, 3)
    return Case(f, (a,), also=[((t(3, 2).t(),), {})])


@equal
def base_in_no_grad():
    def f(x):
        with torch.no_grad():
            v = x[0]
        return x + (v._base is x)

    return (f, (leaf(3, 2),))


@refused('autograd-graph')
def base_of_input_that_is_a_view():
    def f(x):
        return x + (x._base is None) + 2 * x._is_view()

    return Case(f, (t(4)[1:],), also=[((t(3),), {})])


@equal
def grad_fn_name_of_input():
    def f(x):
        return x + (x.grad_fn is None) * 2

    return Case(f, (leaf(3),), also=[((leaf(3) * 2,), {}), ((t(3),), {})])


@equal
def grad_fn_in_set():
    def f(x):
        y = x * 2
        return x + len({y.grad_fn, (x + 1).grad_fn, y.grad_fn})

    return (f, (leaf(3),))


@refused('autograd-graph')
def grad_fn_hash_attribute():
    def f(x):
        y = (x * 2).sum()
        return x + y.grad_fn.__class__.__name__.startswith('Sum')

    return (f, (leaf(3),))


@refused('autograd-graph')
def grad_fn_dir():
    def f(x):
        y = (x * 2).sum()
        return x + ('metadata' in dir(y.grad_fn))

    return (f, (leaf(3),))


@refused('autograd-graph')
def grad_fn_saved():
    def f(x):
        y = x.exp()
        return x + y.grad_fn._saved_result

    return (f, (leaf(3),))


@refused('autograd-graph')
def grad_fn_next_functions():
    def f(x):
        y = x.exp() * 2
        return x + len(y.grad_fn.next_functions)

    return (f, (leaf(3),))


@refused('autograd-graph')
def grad_fn_walk():
    def f(x):
        n, fn = (0, (x.exp() * 2 + 1).grad_fn)
        while fn is not None:
            n += 1
            fn = fn.next_functions[0][0] if fn.next_functions else None
        return x + n

    return (f, (leaf(3),))


@refused('autograd-graph')
def grad_fn_getattr_format():
    def f(x):
        y = x * 2
        return x + len('{0.grad_fn.__class__.__name__}'.format(y))

    return (f, (leaf(3),))


@equal
def minus_zero_const():
    class M(Base):
        def forward(self, x):
            return torch.copysign(x.abs(), torch.tensor(self.z))


    return (M(z=-0.0), (t(3),))


@equal
def minus_zero_attribute_guard():
    class M(Base):
        def forward(self, x, z):
            return x * math.copysign(1, z)


    return Case(M(), (t(3), 0.0), also=[((t(3), -0.0), {})])


@equal
def minus_zero_mul():
    def f(x, z):
        return torch.copysign(torch.ones(3), x * z)

    return Case(f, (t(3), 0.0), also=[((t(3), -0.0), {})])


@equal
def minus_zero_in_tuple():
    def f(x, z):
        return x * math.atan2(z[0], -1.0)

    return Case(f, (t(3), (0.0,)), also=[((t(3), (-0.0,)), {})])


@equal
def minus_zero_folded():
    def f(x):
        z = -0.0
        return (x * math.atan2(z, -1), x * str(0.0 * -1).startswith('-'), {0.0: 1, -0.0: 2})

    return (f, (t(3),))


@equal
def minus_zero_output():
    def f(x):
        return (x, -0.0, 0.0 * -x.shape[0], complex(-0.0, 0.0), [0.0, -0.0])

    return (f, (t(3),))


@refused('constraint-violation')
def minus_zero_size():
    def f(x):
        n = x.shape[0] * -0.0
        return (x * math.copysign(1, n), n)

    return Case(f, (t(3),), dynamic_shapes={'x': {0: torch.export.Dim('n')}}, also=[((t(5),), {})])


@equal
def minus_zero_full():
    def f(x):
        y = torch.full((3,), -0.0)
        return (1 / y, torch.copysign(x.abs(), y), 1 / torch.tensor([0.0, -0.0]))

    return (f, (t(3),))

