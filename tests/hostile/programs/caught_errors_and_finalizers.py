"""Gradients, pytrees, devices, errors that the program catches, vmap, scan, weak references, `__del__`."""

# ruff: noqa: E741, E742, F841

from __future__ import annotations

import gc
import weakref

import torch
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

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


def _twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@equal
def grad_clone_of_buffer_with_grad():
    class M(Base):
        def forward(self, x):
            return self.b.clone() * x


    m = M()
    m.register_buffer('b', torch.ones(3, requires_grad=True))
    return Case(m, (t(3),), gradients=True)


@equal
def grad_frozen_param():
    class M(Base):
        def forward(self, x):
            return self.l(x) * self.l.weight.requires_grad


    m = M(l=nn.Linear(3, 3))
    m.l.weight.requires_grad_(False)
    return Case(m, (leaf(2, 3),), gradients=True)


@equal
def pytree_registered_custom():
    class P:
        def __init__(s, a, b):
            s.a, s.b = (a, b)


    named = f"hostile.P{id(P)}"
    pytree.register_pytree_node(P, lambda p: ([p.a, p.b], None), lambda c, _: P(*c), serialized_type_name=named)
    def f(p):
        return (P(p.a * 2, p.b + 1), p.a)

    return (f, (P(t(3), t(3)),))


@equal
def pytree_in_forward():
    def f(x):
        leaves, spec = pytree.tree_flatten({'a': [x, (x * 2,)], 'b': None})
        return pytree.tree_unflatten([l if l is None else l + 1 for l in leaves], spec)

    return (f, (t(3),))


@equal
def device_context():
    def f(x):
        with torch.device('cpu'):
            y = torch.ones(3)
        return x + y

    return (f, (t(3),))


@equal
def device_meta_made():
    def f(x):
        m = torch.empty(3, device='meta')
        return (x * m.numel(), m.shape)

    return (f, (t(3),))


@refused('process-state')
def default_dtype_changed_back():
    def f(x):
        torch.set_default_dtype(torch.float64)
        try:
            y = torch.ones(3)
        finally:
            torch.set_default_dtype(torch.float32)
        return x + y

    return (f, (t(3),))


@refused('process-state')
def default_dtype_left():
    def f(x):
        torch.set_default_dtype(torch.float64)
        return x + torch.ones(3)

    return (f, (t(3),))


@refused('caught-operator-error', 'branch-differs')
def caught_index_error():
    def f(x, i):
        try:
            return x[i]
        except IndexError:
            return x * 0

    return Case(f, (t(3), torch.tensor(1)), also=[((t(3), torch.tensor(7)), {})])


@refused('caught-operator-error')
def caught_max_empty():
    def f(x):
        try:
            return x[x > 5].max()
        except RuntimeError:
            return x.sum()

    return (f, (t(3),))


@refused('constraint-violation')
def caught_shape_error_dynamic():
    def f(x, y):
        try:
            return x + y
        except RuntimeError:
            return x

    return Case(
        f,
        (t(4), t(3)),
        dynamic_shapes=({0: Dim('a', min=2)}, None),
        also=[((t(5), t(3)), {}), ((t(3), t(3)), {})],
    )


@refused('constraint-violation')
def assert_size():
    def f(x):
        assert x.shape[0] % 2 == 0, 'even'
        return x.view(-1, 2)

    return dyn(f, t(4), also=[t(6), t(5)])


@refused('constraint-violation')
def torch_check_message():
    def f(x):
        torch._check(x.shape[0] < 10, lambda: f'bad {x.shape}')
        return x * 2

    return dyn(f, t(4), also=[t(6), t(12)])


@equal
def vmap_over_module_buffers():
    class M(Base):
        def forward(self, x):
            return torch.vmap(lambda v: v * self.b + self.l(v))(x)


    m = M(l=nn.Linear(3, 3))
    m.register_buffer('b', torch.ones(3) * 2)
    return (m, (t(4, 3),))


@equal
def vmap_in_place_buffer():
    class M(Base):
        def forward(self, x):
            def g(v):
                self.b.add_(1)
                return v + self.b

            return torch.vmap(g)(x)


    m = M()
    m.register_buffer('b', torch.ones(3))
    return (m, (t(4, 3),))


@equal
def custom_op_called():
    name = 'h11::twice'
    try:
        op = torch.library.custom_op(name, mutates_args=())(_twice)
        op.register_fake(lambda x: torch.empty_like(x))
    except Exception:
        op = torch.ops.h11.twice
    def f(x):
        return torch.ops.h11.twice(x) + 1

    return (f, (t(3),))


@equal
def higher_order_cond():
    def f(x):
        return torch.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, (x,))

    return (f, (t(3),))


@equal
def scan_like_python():
    def f(x):
        h = torch.zeros(3)
        outs = []
        for row in x:
            h = torch.tanh(row + h)
            outs.append(h)
        return (torch.stack(outs), h)

    return (f, (t(4, 3),))


@equal
def weakref_called_module_dies():
    def f(x):
        m = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        r = weakref.ref(m[0])
        y = m(x).detach()
        del m
        return x * (1 + (r() is None))

    return (f, (t(2, 3),))


@equal
def weakref_local_of_returning_function():
    class O:
        pass

    refs = []
    def g():
        o = O()
        refs.append(weakref.ref(o))
        p = O()
        refs.append(weakref.ref(p))
        p.o = o
        return p

    def f(x):
        refs.clear()
        p = g()
        a = [r() is None for r in refs]
        del p
        b = [r() is None for r in refs]
        refs.clear()
        return (x, a, b)

    return (f, (t(3),))


@refused('unrecordable-value')
def weakref_class_collected():
    def f(x):
        class O:
            pass

        r = weakref.ref(O)
        del O
        gc.collect()
        return x * (1 + (r() is None))

    return (f, (t(3),))


@refused('object-lifetime')
def del_order_exception():
    log = []
    class D:
        def __init__(s, n):
            s.n = n

        def __del__(s):
            log.append(s.n)


    def g():
        a = D(1)
        raise ValueError

    def f(x):
        log.clear()
        try:
            g()
        except ValueError:
            log.append('h')
        r = tuple(log)
        log.clear()
        return (x, r)

    return (f, (t(3),))


@equal
def del_order_list_and_dict():
    log = []
    class D:
        def __init__(s, n):
            s.n = n

        def __del__(s):
            log.append(s.n)


    def f(x):
        log.clear()
        l = [D(1), D(2)]
        d = {'a': D(3), 'b': D(4)}
        del l
        del d
        s = (D(5), D(6))
        s = None
        r = tuple(log)
        log.clear()
        return (x, r)

    return (f, (t(3),))


@equal
def del_generator_abandoned():
    log = []
    class D:
        def __del__(s):
            log.append(9)


    def g():
        d = D()
        try:
            yield 1
        finally:
            log.append(1)

    def f(x):
        log.clear()
        it = g()
        next(it)
        del it
        r = tuple(log)
        log.clear()
        return (x, r)

    return (f, (t(3),))


@equal
def del_comprehension_temp():
    log = []
    class D:
        def __init__(s, n):
            s.n = n

        def __del__(s):
            log.append(s.n)


    def f(x):
        log.clear()
        n = [d.n for d in (D(i) for i in range(3))]
        r = tuple(log)
        log.clear()
        return (x, n, r)

    return (f, (t(3),))

