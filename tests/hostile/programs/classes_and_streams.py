"""Classes, weak references, functions of exec, streams, pickles, new dimensions in indices"""

# ruff: noqa: B006, B018, B028, E741, RUF015, UP031

from __future__ import annotations

import functools
import io
import json
import pickle
import random
import types
import warnings
import weakref

import torch
import torch.nn.functional as F
from torch import nn

from tests.export.probe import auto, equal, refused, t


class M(nn.Module):
    def __init__(self, h, grad=True):
        super().__init__()
        self.p = nn.Parameter(torch.arange(1.0, 4.0))
        self.register_buffer('b', torch.ones(3))
        self.l = nn.Linear(3, 3)
        self.h = h

    def forward(self, *a):
        return self.h(self, *a)


@equal
def class_forward_patched_in_forward():
    class L(nn.Linear):
        pass

    class S(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = L(3, 3)

        def forward(self, x):
            a = self.l(x)
            L.forward = lambda s, v: v * 5
            try:
                b = self.l(x)
            finally:
                del L.forward
            return a, b, self.l(x)

    return S(), (t(3),)


@equal
def class_swapped_in_forward():
    class A(nn.Module):
        def forward(self, x):
            return x + 1

    class B(nn.Module):
        def forward(self, x):
            return x * 2

    class S(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = A()

        def forward(self, x):
            y = self.a(x)
            self.a.__class__ = B
            z = self.a(x)
            self.a.__class__ = A
            return y, z, self.a(x)

    return S(), (t(3),)


@equal
def cached_property_local():
    class C:
        n = 0

        def __init__(self, x):
            self.x = x

        @functools.cached_property
        def y(self):
            type(self).n += 1
            return self.x * 2

    def f(x):
        C.n = 0
        c = C(x)
        a, b = c.y, c.y
        del c.y
        d = c.y
        return a, b is a, d, C.n

    return f, (t(3),)


@equal
def weakset_and_finalizer():
    class N:
        def __init__(self, x):
            self.x = x

    def f(x):
        s = weakref.WeakSet()
        a, b = N(x), N(x * 2)
        s.add(a)
        s.add(b)
        del b
        r = weakref.ref(a)
        out = [n.x for n in s]
        p = weakref.proxy(a)
        y = p.x + 1
        del a
        try:
            p.x
        except ReferenceError:
            return out, r() is None, y, len(s)

    return f, (t(3),)


@equal
def super_and_mro_games():
    class A:
        def go(self, x):
            return x + 1

    class B(A):
        def go(self, x):
            return super().go(x) * 2

    class C(A):
        def go(self, x):
            return super().go(x) * 3

    class D(B, C):
        def go(self, x):
            f = super(B, self).go
            return f(x) + super().go(x)

        def __getattribute__(self, n):
            if n == 'k':
                return 7
            return object.__getattribute__(self, n)

    def f(x):
        d = D()
        return d.go(x) * d.k, [c.__name__ for c in D.__mro__], B.go(d, x), super(C, d).go(x)

    return f, (t(3),)


@equal
def operators_notimplemented_fallback():
    class V:
        __array_priority__ = 1000

        def __init__(self, v):
            self.v = v

        def __add__(self, o):
            return V(self.v + o) if isinstance(o, torch.Tensor) else NotImplemented

        def __radd__(self, o):
            return V(o * 10 + self.v)

        def __iadd__(self, o):
            self.v = self.v + o
            return self

        def __matmul__(self, o):
            return o @ self.v

        def __getitem__(self, k):
            return self.v[k]

        def __len__(self):
            return self.v.shape[0]

        def __contains__(self, k):
            return k == 'v'

        def __bool__(self):
            return False

        def __eq__(self, o):
            return 'eq'

        def __hash__(self):
            return 1

        def __invert__(self):
            return -self.v

        def __call__(self, *a, **k):
            return self.v

    def f(x):
        v = V(x)
        w = v + x
        u = sum([v, x], 5)
        v += 1
        try:
            v + 'a'
        except TypeError as e:
            n = str(e)
        return w.v, u.v, v[1:], len(v), 'v' in v, bool(v), v == 3, ~v, v(), {v: 1}[v], n

    return f, (t(3),)


@equal
def format_spec_objects():
    class V:
        def __init__(self, n):
            self.n = n

        def __format__(self, s):
            return f'<{s}|{self.n}>'

        def __repr__(self):
            return 'V()'

        def __str__(self):
            return 'str'

    def f(x):
        n = x.shape[0]
        v = V(n)
        return x, f'{v:>{n}} {v!r} {v!s:>5}', '{:a{}}'.format(v, n), '%s %r' % (v, v), f'{v}', str(v), format(v, 'z')

    return auto(f, t(4, 3), also=[t(7, 3)])


@equal
def exec_created_function_with_closure():
    def f(x):
        src = 'def mk(k):\n    def g(v):\n        nonlocal k\n        k += 1\n        return v * k\n    return g\n'
        ns = {}
        exec(compile(src, '<s>', 'exec'), ns)
        g = ns['mk'](2)
        a, b = g(x), g(x)
        g2 = types.FunctionType(g.__code__, {'__builtins__': {}}, 'g2', None, g.__closure__)
        return a, b, g2(x), g.__closure__[0].cell_contents, eval('[v * 2 for v in (1, 2)]')

    return f, (t(3),)


@equal
def defaults_mutated():
    def f(x):
        def g(v, acc=[]):
            acc.append(v)
            return sum(acc)

        a = g(x)
        b = g(x)
        g.__defaults__ = ([x * 10],)
        c = g(x)
        g.__kwdefaults__ = {}
        return a, b, c

    return f, (t(3),)


@equal
def dict_views_live():
    def f(x):
        d = {'a': x, 'b': x * 2}
        k, v, it = d.keys(), d.values(), d.items()
        d['c'] = x * 3
        out = sum(v)
        try:
            for q in d:
                d[q + 'z'] = 1
        except RuntimeError as e:
            return out, list(k), len(it), str(e), sorted(k & {'a', 'q'}), sorted(k - {'a'}), list(reversed(d))[0]

    return f, (t(3),)


@equal
def star_and_slices_assign():
    def f(x):
        l = list(range(6))
        l[1:3] = [x, x + 1, x + 2]
        del l[::2]
        l[::-1], y = [9, *l[:1], 7][: len(l)], l[0]
        (a, *b), c = [1, 2, 3], x
        l *= 2
        return l, y, a, b, c

    return f, (t(3),)


@equal
def global_dict_rebinding_tensor():
    G = {'scale': torch.tensor(2.0)}

    def f(x):
        old = G['scale']
        G['scale'] = old * 3
        try:
            return x * G['scale']
        finally:
            G['scale'] = old

    return f, (t(3),)


@equal
def threading_local_and_lock():
    import threading

    def f(x):
        loc = threading.local()
        loc.v = x
        with threading.Lock():
            y = loc.v * 2
        e = threading.Event()
        e.set()
        return y, e.is_set(), threading.current_thread() is threading.main_thread()

    return f, (t(3),)


@equal
def warnings_to_error():
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            try:
                warnings.warn('w', DeprecationWarning)
            except DeprecationWarning as e:
                return x * 2, str(e)
        return x

    return f, (t(3),)


@refused('outside-object')
def torch_warnings_caught():
    def f(x):
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter('always')
            y = F.upsample(x[None, None], scale_factor=2)
            return y, len(w)

    return f, (t(3),)


@equal
def warnings_caught_without_a_name():
    def f(x):
        with warnings.catch_warnings(record=True):
            warnings.simplefilter('always')
            warnings.warn('w')
            return x * 2

    return f, (t(3),)


@equal
def io_roundtrip():
    def f(x):
        s = io.StringIO()
        s.write('ab\ncd')
        s.seek(0)
        b = io.BytesIO(b'xyz')
        return (
            x * len(s.readline()),
            b.read(2),
            s.tell(),
            json.loads(json.dumps({'a': [1, 2.5, None]})),
            list(io.StringIO('q\nw')),
        )

    return f, (t(3),)


@refused('outside-world')
def save_load_tensor():
    def f(x):
        b = io.BytesIO()
        torch.save({'w': torch.ones(3)}, b)
        b.seek(0)
        return x * torch.load(b)['w']

    return f, (t(3),)


@equal
def random_choice_dropout_structural():
    def f(x):
        return x * random.random() if x.shape[0] > 99 else x

    return f, (t(3),)


@refused('unknown-tensor')
def tensor_out_of_pickled_bytes():
    B = pickle.dumps({'w': torch.arange(3.0)})

    def f(x):
        return x * pickle.loads(B)['w']

    return f, (t(3),)


@refused('unknown-tensor')
def size_of_a_pickled_tensor():
    C = torch.arange(3.0)

    def f(x):
        return x * (len(pickle.dumps(C)) > 10), pickle.loads(pickle.dumps([1, 'torch of', (2.5,)]))

    return f, (t(3),)


@equal
def index_with_new_dimension_before_number():
    def f(x, i):
        a, b, c, d = x[None, :, i], x[::2, None, i], x[..., None, i], x[i, None, i, None]
        y = x.clone()
        y[None, None, i, None] = d.sum()
        y[None, ..., i] += torch.ones(1, 3)
        y[:, None, i] = torch.arange(3.0).view(3, 1)
        return (
            x[None, i],
            x[None, i].stride(),
            a.stride(),
            b.stride(),
            c.stride(),
            d,
            y,
            x[None, True, i],
            x[[0, 1], None, i],
            x[None, [0, 1], i],
        )

    return f, (t(3, 3), torch.tensor(1))


@equal
def index_with_new_dimension_before_size():
    def f(x):
        n = x.shape[0]
        return x[None, n - 1], x[None, n // 2].stride(), x[:, None, 0]

    return auto(f, t(4, 3), also=[t(5, 3)])
