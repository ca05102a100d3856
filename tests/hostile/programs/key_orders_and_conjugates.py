"""Signs and nan, orders of keys of dicts, signatures, conjugate and negative views."""

# ruff: noqa: RUF015

from __future__ import annotations

import math
from collections import ChainMap, Counter, OrderedDict

import torch
from torch import nn

from tests.export.probe import Case, equal, refused, t


class Base(nn.Module):
    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)



@equal
def minus_zero_memo():
    class M(Base):
        def forward(self, x):
            out = []
            for z in (0.0, -0.0, 0, False):
                out.append(torch.copysign(x.abs(), torch.full((3,), z, dtype=torch.float32)))
            return out


    return (M(), (t(3),))


@equal
def minus_zero_operator_cache():
    def f(x):
        return (
            [torch.copysign(x.abs(), x * 0 + z) for z in (0.0, -0.0)],
            [torch.copysign(x.abs(), torch.clamp(x * 0, z, z)) for z in (0.0, -0.0)],
        )

    return (f, (t(3),))


@equal
def minus_zero_global_dict():
    d = {'z': 0.0}
    class M(Base):
        def forward(self, x):
            return torch.copysign(x.abs(), torch.tensor(d['z'] * -1))


    return (M(), (t(3),))


@equal
def nan_payload_and_inf():
    def f(x, v):
        return x + (v != v) + 2 * (v == math.inf)

    return Case(f, (t(3), float('nan')), also=[((t(3), float('nan')), {}), ((t(3), math.inf), {})])


@equal
def true_and_one_and_float_cache():
    def f(x):
        return (
            torch.full((2,), True),
            torch.full((2,), 1),
            torch.full((2,), 1.0),
            torch.tensor(True),
            torch.tensor(1),
            x + True,
            x + 1.0,
            torch.ones(2, dtype=torch.int32) + 1,
            torch.ones(2, dtype=torch.int32) + 1.0,
            torch.ones(2, dtype=torch.int32) + True,
        )

    return (f, (t(3),))


@equal
def kwargs_keys_joined():
    def f(x, **kw):
        return (x * len(','.join(kw)), list(kw)[-1])

    return Case(f, (t(3),), {'b': t(3), 'a': t(3)}, also=[((t(3),), {'a': t(3), 'b': t(3)})])


@equal
def dict_reversed():
    def f(d):
        return next(reversed(d.values())) * 2

    return Case(f, ({'a': t(3), 'b': t(3)},), also=[(({'b': t(3), 'a': t(3)},), {})])


@equal
def dict_equality():
    def f(d):
        return d['a'] + (list(d) == ['a', 'b'])

    return Case(f, ({'a': t(3), 'b': t(3)},), also=[(({'b': t(3), 'a': t(3)},), {})])


@equal
def dict_copied_then_order():
    def f(d):
        e = {**d}
        return e[min(e)] * 2 + list(e.values())[0]

    return Case(f, ({'a': t(3), 'b': t(3)},), also=[(({'b': t(3), 'a': t(3)},), {})])


@equal
def dict_chainmap():
    def f(d):
        c = ChainMap({}, d)
        return c['a'] + list(c.values())[0]

    return Case(f, ({'a': t(3), 'b': t(3)},), also=[(({'b': t(3), 'a': t(3)},), {})])


@equal
def kwargs_to_dict_to_ordered():
    def f(**kw):
        o = OrderedDict(kw)
        o.move_to_end('a')
        return list(o.values())[0] * 2 + list(o.values())[1]

    return Case(f, (), {'a': t(3), 'b': t(3), 'c': t(3)}, also=[((), {'c': t(3), 'b': t(3), 'a': t(3)})])


@equal
def ordered_dict_equality():
    def f(d):
        return d['a'] * (d.keys() == {'b': 1, 'a': 2}.keys()) + (OrderedDict(d) == d)

    return Case(f, (OrderedDict(a=t(3), b=t(3)),), also=[((OrderedDict(b=t(3), a=t(3)),), {})])


@equal
def dict_zip_items():
    def f(d, e):
        return sum((a * (i + 1) + b for i, (a, b) in enumerate(zip(d.values(), e.values()))))

    return Case(
        f,
        ({'a': t(3), 'b': t(3)}, {'a': t(3), 'b': t(3)}),
        also=[(({'b': t(3), 'a': t(3)}, {'a': t(3), 'b': t(3)}), {})],
    )


@equal
def dict_match_rest():
    def f(d):
        match d:
            case {'a': a, **rest}:
                return a + list(rest.values())[0]

    return Case(f, ({'a': t(3), 'b': t(3), 'c': t(3)},), also=[(({'c': t(3), 'b': t(3), 'a': t(3)},), {})])


@equal
def signature_bound_order():
    def f(x, *, k1, k2):
        return x + k1 - k2

    return Case(f, (t(3),), {'k2': t(3), 'k1': t(3)}, also=[((t(3),), {'k1': t(3), 'k2': t(3)})])


@equal
def dict_of_dict_flat():
    def f(d):
        return torch.cat([v for sub in d.values() for v in sub.values()])

    return Case(
        f,
        ({'p': {'a': t(3), 'b': t(3)}, 'q': {'c': t(1)}},),
        also=[(({'q': {'c': t(1)}, 'p': {'b': t(3), 'a': t(3)}},), {})],
    )


@equal
def dict_update_order():
    def f(d):
        e = {'b': 0}
        e.update(d)
        return list(e.values())[0] - list(e.values())[1]

    return Case(f, ({'a': t(3), 'b': t(3)},), also=[(({'b': t(3), 'a': t(3)},), {})])


@equal
def dict_str_keys():
    def f(d):
        return (d['a'] + len(f'{list(d)}'), f'{list(d)}')

    return Case(f, ({'a': t(3), 'b': t(3)},), also=[(({'b': t(3), 'a': t(3)},), {})])


@equal
def dict_counter_most():
    def f(d):
        return d['a'] + Counter(d.keys()).most_common(1)[0][0].__eq__('a')

    return Case(f, ({'a': t(3), 'b': t(3)},), also=[(({'b': t(3), 'a': t(3)},), {})])


@equal
def dict_map_order():
    def f(d):
        return list(map(torch.sin, d.values()))[0] + list(d.items())[0][1]

    return Case(f, ({'a': t(3), 'b': t(3)},), also=[(({'b': t(3), 'a': t(3)},), {})])


@equal
def dict_unpacked():
    def f(d):
        a, b = d.values()
        (k1, v1), *_ = d.items()
        return (a - b + v1, k1)

    return Case(f, ({'a': t(3), 'b': t(3)},), also=[(({'b': t(3), 'a': t(3)},), {})])


@equal
def module_dict_input_order():
    class M(Base):
        def forward(self, d):
            out = 0
            for k in d:
                out = self.ms[k](out + d[k])
            return out


    m = M()
    m.ms = nn.ModuleDict({'a': nn.Linear(3, 3), 'b': nn.Tanh()})
    return Case(m, ({'a': t(3), 'b': t(3)},), also=[(({'b': t(3), 'a': t(3)},), {})])


@equal
def conj_input_mul():
    def f(x):
        return (x.conj() * x, x.conj().is_conj())

    a = torch.randn(3, dtype=torch.complex64)
    return Case(f, (a,), also=[((a.conj(),), {})])


@equal
def conj_input_resolve():
    def f(x):
        return (x.resolve_conj() + 1, x.resolve_conj().is_conj())

    a = torch.randn(3, dtype=torch.complex64)
    return Case(f, (a.conj(),), also=[((a,), {})])


@equal
def conj_input_view_as_real():
    def f(x):
        return torch.view_as_real(x)

    a = torch.randn(3, dtype=torch.complex64)
    return Case(f, (a,), also=[((a.conj(),), {})])


@equal
def conj_input_imag_neg():
    def f(x):
        return (x.imag * 2, x.imag.is_neg())

    a = torch.randn(3, dtype=torch.complex64)
    return Case(f, (a.conj(),), also=[((a,), {})])


@equal
def conj_input_in_place():
    def f(x):
        x.mul_(2j)
        return x + 1

    return Case(f, (torch.randn(3, dtype=torch.complex64).conj(),))


@equal
def conj_buffer():
    class M(Base):
        def forward(self, x):
            return (x * self.b, self.b.is_conj())


    m = M()
    m.register_buffer('b', torch.randn(3, dtype=torch.complex64).conj())
    return (m, (torch.randn(3, dtype=torch.complex64),))


@equal
def conj_of_conj_is():
    def f(x):
        y = x.conj().conj()
        return (y + 1, y.is_conj(), y.data_ptr if False else 0)

    return (f, (torch.randn(3, dtype=torch.complex64),))


@equal
def conj_view_write():
    def f(x):
        y = x.clone()
        z = y.conj()
        z.add_(1j)
        return (y, z)

    return (f, (torch.randn(3, dtype=torch.complex64),))


@equal
def conj_real_noop():
    def f(x):
        return (x.conj() is x, x + 1)

    return (f, (t(3),))


@equal
def neg_view_read():
    def f(x):
        y = x.conj().imag
        return (y.is_neg(), y.resolve_neg(), y * 1, y.contiguous().is_neg())

    return (f, (torch.randn(3, dtype=torch.complex64),))


@equal
def conj_output():
    def f(x):
        return x.conj()

    return Case(f, (torch.randn(3, dtype=torch.complex64),), gradients=False)


@equal
def conj_matmul():
    def f(x, y):
        return (x.mH @ y, x.mH.is_conj())

    return (f, (torch.randn(3, 3, dtype=torch.complex64), torch.randn(3, 3, dtype=torch.complex64)))


@equal
def conj_imag_of_mH_numpyless():
    def f(x):
        return (x.mH.real, x.adjoint().imag, torch.is_conj(x.H))

    return (f, (torch.randn(3, 3, dtype=torch.complex64),))


@refused('unrecordable-value')
def subclasses_grow_in_forward():
    class R:
        pass

    def f(x):
        class Q(R):
            pass

        return x * len(R.__subclasses__())

    return (f, (t(3),))

