"""Hooks, subclasses, descriptors, dataclasses, enums, match"""

# ruff: noqa: B008, B018

from __future__ import annotations

import dataclasses
import enum
import sys
import typing
import weakref

import torch
from torch import nn

from tests.export.probe import auto, equal, refused, t


@equal
def global_module_hooks():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 3)

        def forward(self, x):
            h = nn.modules.module.register_module_forward_hook(
                lambda m, a, o: o * 2 if isinstance(m, nn.Linear) else None
            )
            p = nn.modules.module.register_module_forward_pre_hook(lambda m, a: (a[0] + 1,))
            try:
                return self.l(x)
            finally:
                h.remove()
                p.remove()

    return M(), (t(2, 3),)


@equal
def global_hook_outside():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 3)
            self.seen = 0

        def forward(self, x):
            return self.l(x).relu()

    m = M()
    m.l.register_forward_hook(
        lambda m_, a, k, o: (o.add_(1), o)[1] * len(k or {'z': 1}), with_kwargs=True, prepend=True
    )
    m.l.register_forward_pre_hook(lambda m_, a, k: ((a[0] * 2,), k), with_kwargs=True)
    m.register_forward_hook(lambda m_, a, o: {'o': o, 'a': a})
    return m, (t(2, 3),)


@equal
def hook_reads_module_config():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 3)
            self.scale = 1

            def hook(m, a, o, self_ref=weakref.ref(self)):
                return o * self_ref().scale

            self.l.register_forward_hook(hook)

        def forward(self, x):
            self.scale = 3
            y = self.l(x)
            self.scale = 1
            return y

    return M(), (t(2, 3),)


@equal
def hook_order_dict_mutated_while_iterating():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 3)

        def forward(self, x):
            def once(m, a, o):
                h.remove()
                return o + 1

            h = self.l.register_forward_hook(once)
            a = self.l(x)
            b = self.l(x)
            return a, b, len(self.l._forward_hooks)

    return M(), (t(2, 3),)


@refused('tensor-subclass')
def torch_function_subclass_propagates():
    class T(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            r = super().__torch_function__(func, types, args, kwargs or {})
            if func is torch.Tensor.add:
                return r * 2
            return r

        def twice(self):
            return self * 2

    def f(x):
        y = x.as_subclass(T)
        z = y.add(1)
        w = torch.sin(z)
        return (
            type(w).__name__,
            w.as_subclass(torch.Tensor),
            z.twice().as_subclass(torch.Tensor),
            isinstance(y[0], T),
            type(y.shape).__name__,
            type(y.sum()).__name__,
        )

    return f, (t(3),)


@refused('tensor-subclass')
def torch_function_with_metadata():
    class T(torch.Tensor):
        @staticmethod
        def __new__(cls, data, unit):
            r = data.as_subclass(cls)
            r.unit = unit
            return r

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            units = [a.unit for a in args if isinstance(a, T) and hasattr(a, 'unit')]
            with torch._C.DisableTorchFunctionSubclass():
                r = func(*args, **(kwargs or {}))
            if isinstance(r, torch.Tensor) and not isinstance(r, T):
                r = T(r, '*'.join(units))
            return r

    def f(x, y):
        a, b = T(x, 'm'), T(y, 's')
        c = a * b + b
        return c.unit, c.as_subclass(torch.Tensor)

    return f, (t(3), t(3))


@equal
def torch_function_non_tensor_dispatch():
    class Wrap:
        def __init__(self, v):
            self.v = v

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is torch.cat:
                return Wrap(torch.cat([a.v if isinstance(a, Wrap) else a for a in args[0]], **(kwargs or {})))
            return NotImplemented

    def f(x):
        a = torch.cat([Wrap(x), x], dim=0)
        try:
            torch.stack([Wrap(x)])
        except TypeError as e:
            return a.v, 'no implementation found' in str(e).lower()

    return f, (t(3),)


@equal
def setattr_override_buffers():
    class M(nn.Module):
        def __setattr__(self, k, v):
            if isinstance(v, torch.Tensor) and k in self.__dict__.get('_buffers', {}):
                v = v * 2
            super().__setattr__(k, v)

        def __init__(self):
            super().__init__()
            self.register_buffer('b', torch.ones(3))

        def forward(self, x):
            self.b = self.b + x
            return self.b - 1

    return M(), (t(3),)


@equal
def delattr_override():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer('b', torch.ones(3))
            object.__setattr__(self, 'gone', [])

        def __delattr__(self, k):
            if k != 'b':
                super().__delattr__(k)

        def forward(self, x):
            del self.b
            self.tmp = x
            del self.tmp
            return x + self.b, hasattr(self, 'tmp')

    return M(), (t(3),)


@equal
def property_shadows_buffer():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer('_b', torch.ones(3))

        @property
        def b(self):
            return self._b * 2

        @b.setter
        def b(self, v):
            self._b.copy_(v)

        def forward(self, x):
            self.b = x
            self.b += 1
            return self.b

    return M(), (t(3),)


@equal
def data_descriptor_holds_tensor():
    class D:
        def __set_name__(self, owner, name):
            self.n = '_' + name

        def __get__(self, o, c=None):
            return getattr(o, self.n) if o is not None else self

        def __set__(self, o, v):
            object.__setattr__(o, self.n, v * 2)

    class C:
        __slots__ = ('_v', 'w')
        v = D()

    def f(x):
        c = C()
        c.v = x
        c.w = c.v
        c.v += 1
        return c.v, c.w, C.v.n

    return f, (t(3),)


@equal
def frozen_dataclass_replace():
    @dataclasses.dataclass(frozen=True)
    class C:
        x: torch.Tensor
        k: int = 2
        opts: dict = dataclasses.field(default_factory=dict, compare=False)
        y: torch.Tensor = dataclasses.field(init=False, repr=False, hash=False)

        def __post_init__(self):
            object.__setattr__(self, 'y', self.x * self.k)

    def f(x):
        c = C(x)
        d = dataclasses.replace(c, k=3, x=c.y)
        try:
            d.k = 5
        except dataclasses.FrozenInstanceError as e:
            n = str(e)
        d.opts['a'] = d.y
        return d.opts['a'], n, [f_.name for f_ in dataclasses.fields(d)], c.opts, dataclasses.asdict(C(x, k=4))['k']

    return f, (t(3),)


@equal
def dataclass_kwonly_default_shared():
    @dataclasses.dataclass(kw_only=True, slots=True)
    class C:
        x: torch.Tensor
        lst: list = dataclasses.field(default_factory=list)
        cls: typing.ClassVar[int] = 4

        def __iter__(self):
            yield self.x
            yield from self.lst

    def f(x):
        a, b = C(x=x), C(x=x + 1)
        a.lst.append(x * 2)
        C.__match_args__
        match a:
            case C(x=v, lst=[w]):
                return v + w, list(a), len(b.lst), C.cls

    return f, (t(3),)


@equal
def enum_with_tensor_values():
    class E(enum.Enum):
        # From Python 3.14 on Enum asks whether the value is among the earlier ones, which is no question to a tensor.
        A = torch.tensor([1.0, 2.0, 3.0]) if sys.version_info < (3, 14) else 3.0
        B = 2

        def __call__(self, x):
            return x * self.value

    class Fl(enum.Flag):
        P = enum.auto()
        Q = enum.auto()

    def f(x):
        return (
            E.A(x),
            E.B(x),
            E['B'] is E(2),
            [e.name for e in E],
            (Fl.P | Fl.Q).value,
            Fl.P in (Fl.P | Fl.Q),
            {E.B: x}[E.B],
        )

    return f, (t(3),)


@equal
def protocol_runtime_checkable():
    @typing.runtime_checkable
    class P(typing.Protocol):

        def run(self, x): ...

    class A:
        def run(self, x):
            return x * 2

    class B:
        pass

    def f(x):
        r = x
        for o in (A(), B(), x):
            r = o.run(r) if isinstance(o, P) else r + 1
        return r

    return f, (t(3),)


@equal
def match_sequences_with_tensors():
    def f(d):
        out = []
        for item in d['items']:
            match item:
                case ('add', torch.Tensor() as v):
                    out.append(v + 1)
                case ('mul', v, k) if k > 2:
                    out.append(v * k)
                case ('mul', v, int(k)):
                    out.append(v - k)
                case {'v': v, **rest} if rest:
                    out.append(v * len(rest))
                case [a, *b]:
                    out.append(a * len(b))
                case float() | int() as n:
                    out.append(torch.tensor(n))
                case _:
                    out.append(None)
        return out

    x = t(3)
    return f, ({'items': [('add', x), ('mul', x, 3), ('mul', x, 1), {'v': x, 'u': 1}, [x, 1, 2], 2.5, 'z']},)


@equal
def walrus_comprehension_scope():
    def f(x):
        if (n := x.shape[0]) > 3 and (y := x * n) is not None:
            parts = [last := p + i for i, p in enumerate(y.unbind(0))]
            return last, len(parts), [z for v in parts if (z := v * 2) is not None][-1]
        return x, n, x

    return auto(f, t(4, 3), also=[t(6, 3)])
