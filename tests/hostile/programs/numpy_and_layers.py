"""numpy of tensors, methods of tensors, recurrent layers, batch norm, dropout, state dicts."""

# ruff: noqa: E741, RUF015, RUF059, UP031

from __future__ import annotations

import math

import numpy as np
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


@refused('unsupported-value')
def numpy_roundtrip():
    def f(x):
        return (
            torch.from_numpy(x.numpy() * 2),
            torch.tensor(np.arange(3)) + x,
            x.numpy().shape,
            np.sum(x.numpy()).dtype,
        )

    return (f, (t(3),))


@equal
def numpy_write_through():
    def f(x):
        y = x.clone()
        a = y.numpy()
        a += 1
        return y

    return (f, (t(3),))


@refused('unsupported-value')
def numpy_constant_mixed():
    c = np.arange(3.0)
    def f(x):
        return (x * torch.from_numpy(c), c.dtype.name, x + c.sum(), x.numpy() @ c if False else 0, np.float32(2) * 3)

    return (f, (t(3),))


@equal
def numpy_scalar_times_tensor():
    def f(x):
        return (
            np.float64(2.0) * x,
            x * np.float64(2.0),
            x + np.int32(1),
            x ** np.float32(2),
            np.sqrt(4.0) * x,
            x[np.newaxis],
        )

    return (f, (t(3),))


@equal
def tensor_iter_zip_len():
    def f(x):
        return (
            [a * i for i, a in enumerate(x)],
            len(x),
            sum(x),
            list(zip(x, x))[0][1],
            max(x.shape),
            [*x][0],
            dict(enumerate(x))[1],
            reversed(x),
            x in [x] if False else 0,
        )

    return (f, (t(3, 2),))


@refused('data-dependent-branch')
def tensor_contains():
    def f(x):
        return 1 if 3.0 in x else 2

    return (f, (t(3),))


@equal
def tensor_hash_eq():
    def f(x, y):
        return x * ({x: 1, y: 2}[x] + len({x, y, x}) + [x, y].index(x))

    return (f, (t(3), t(3)))


@refused('data-dependent-branch')
def tensor_list_index_second():
    def f(x, y):
        return x * [x, y].index(y)

    return (f, (t(1), t(1)))


@equal
def tensor_list_remove():
    def f(x, y):
        l = [x, y]
        l.remove(x)
        return l[0]

    return (f, (t(1), t(1)))


@equal
def tensor_sort_key():
    def f(x):
        return (sorted([x, x[:1], x[:2]], key=len)[0], max([x, x[:1]], key=lambda v: v.shape[0]), min(3, x.shape[0]))

    return (f, (t(3),))


@equal
def tensor_bool_of_constant():
    def f(x):
        c = torch.tensor([True, False])
        return (x if c.any() else x * 2, x if torch.equal(c, c) else 0, bool(c[0]))

    return (f, (t(3),))


@refused('data-dependent-branch')
def allclose_branch():
    def f(x):
        return x if torch.allclose(x, x) else x * 2

    return (f, (t(3),))


@equal
def tensor_shape_unpack_star():
    def f(x):
        b, *r = x.shape
        *_, l = x.size()
        return (
            x.view(b, math.prod(r)),
            x.view(*x.shape[:-1], -1),
            x.reshape(-1, l),
            x.view(torch.Size([b, -1])) if False else 0,
            x.flatten(-2).unflatten(-1, (3, -1)),
            b * l,
        )

    return dyn(f, t(4, 3, 2), also=[t(2, 3, 2), t(5, 3, 2)])


@equal
def view_dtype():
    def f(x):
        return (
            x.view(torch.int32),
            x.view(torch.uint8).shape,
            x.view(torch.float16),
            torch.view_as_complex(x.view(2, 2, 2)),
            x.bool().view(torch.uint8),
        )

    return (f, (t(2, 4),))


@equal
def as_strided_things():
    def f(x):
        y = x.clone()
        y.as_strided((2, 2), (1, 1)).add_(0) if False else None
        return (x.as_strided((2, 2), (1, 2)), x.as_strided((2,), (2,), 1), x[1:].as_strided((2,), (1,)))

    return (f, (t(6),))


@equal
def rnn_state():
    class M(Base):
        def forward(self, x):
            o, (h, c) = self.r(x)
            return (o, h, c)


    return (M(r=nn.LSTM(3, 4, 2, bidirectional=True)), (t(5, 2, 3),))


@equal
def rnn_packed():
    class M(Base):
        def forward(self, x, l):
            p = nn.utils.rnn.pack_padded_sequence(x, l, enforce_sorted=False)
            o, h = self.r(p)
            return nn.utils.rnn.pad_packed_sequence(o)


    return (M(r=nn.GRU(3, 4)), (t(5, 2, 3), torch.tensor([5, 3])))


@refused('data-dependent-value')
def batchnorm_train_momentum_none():
    return (nn.BatchNorm1d(3, momentum=None), (t(4, 3),))


@equal
def batchnorm_track_toggle():
    class M(Base):
        def forward(self, x):
            self.b.eval()
            y = self.b(x)
            self.b.train()
            return y + self.b(x)


    return (M(b=nn.BatchNorm1d(3)), (t(4, 3),))


@equal
def dropout_train_state():
    class M(Base):
        def forward(self, x):
            return self.d(x) * 0 + self.d.training


    return (M(d=nn.Dropout(0.5)), (t(4, 3),))


@refused('python-state')
def module_train_in_forward():
    class M(Base):
        def forward(self, x):
            self.train(not self.training)
            return x * (1 + self.training)


    return (M(), (t(3),))


@equal
def state_dict_in_forward():
    class M(Base):
        def forward(self, x):
            sd = self.l.state_dict()
            return (x * len(sd) + sd['weight'].sum(), list(sd), sd['weight'].requires_grad)


    return (M(l=nn.Linear(3, 3)), (t(2, 3),))


@equal
def load_state_dict_in_forward():
    class M(Base):
        def forward(self, x):
            self.l.load_state_dict({'weight': torch.ones(3, 3), 'bias': torch.zeros(3)})
            return self.l(x)


    return (M(l=nn.Linear(3, 3)), (t(2, 3),))


@equal
def functional_call():
    class M(Base):
        def forward(self, x):
            return torch.func.functional_call(self.l, {'weight': self.l.weight * 2}, (x,)) + self.l(x)


    return (M(l=nn.Linear(3, 3)), (t(2, 3),))


@equal
def stack_module_state():
    class M(Base):
        def forward(self, x):
            p, b = torch.func.stack_module_state(list(self.ls))
            return torch.vmap(lambda pp, v: torch.func.functional_call(self.ls[0], pp, (v,)), (0, None))(p, x)


    return (M(ls=nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])), (t(2, 3),))


@refused('tensor-data-assigned')
def module_apply_and_to():
    class M(Base):
        def forward(self, x):
            n = []
            self.apply(lambda m: n.append(type(m).__name__))
            self.l.double()
            y = self.l(x.double())
            self.l.float()
            return (y, n)


    return (M(l=nn.Linear(3, 3)), (t(2, 3),))


@equal
def module_named_things():
    class M(Base):
        def forward(self, x):
            return (
                x * sum(p.numel() for p in self.parameters()),
                [n for n, _ in self.named_modules()],
                len(list(self.buffers())),
                [n for n, _ in self.named_children()],
                repr(self.l),
                self.l.extra_repr(),
            )


    return (M(l=nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))), (t(2, 3),))


@equal
def modulelist_slices():
    class M(Base):
        def forward(self, x):
            for m in self.ls[1:]:
                x = m(x)
            for k, m in reversed(list(enumerate(self.ls))):
                x = m(x) + k
            return (x, len(self.ls[::2]), self.ls[-1] is self.ls[2])


    return (M(ls=nn.ModuleList([nn.Tanh(), nn.ReLU(), nn.Sigmoid()])), (t(2, 3),))


@refused('python-state')
def modulelist_appended():
    class M(Base):
        def forward(self, x):
            self.ls.append(nn.Tanh())
            return x * len(self.ls)


    return (M(ls=nn.ModuleList([nn.Tanh()])), (t(2, 3),))


@equal
def tensor_str_formats():
    def f(x):
        return (
            x,
            f'{x.shape[0]:3}',
            f'x.ndim={x.ndim!r}',
            str(x.dtype),
            '%r' % (x.device,),
            f'{type(x)}',
            str(torch.Size([1, 2])),
            f'{torch.float32!s:>20}',
        )

    return (f, (t(3),))


@refused('tensor-repr')
def tensor_format_data():
    def f(x):
        return (x, f'{x.sum():.2f}')

    return (f, (t(3),))

